"""One network as the life of its plans needs it, and the refusals where it cannot be used."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from farebox.automation.execution.build_run import RunBuilder
from farebox.automation.execution.check_condition import ConditionCheck
from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import ClockStale, LedgerReading, Ledgers

_REPEAT_S = 5


@dataclass(frozen=True, slots=True)
class LifecycleNetwork:
    """The steps of a run, which a dry run takes too, and whether the network can be used.

    `nonce_key` makes the nonces of pre-signed entries. `outages` are the codes of why the network
    cannot be used now; `is_available` is False without a funded paymaster.
    """

    network: Network
    builder: RunBuilder
    check: ConditionCheck
    ledger: EntryReader
    ledgers: Ledgers
    nonce_key: Secret[bytes]
    outages: Callable[[], tuple[str, ...]]
    is_available: Callable[[], bool]

    def reading(self) -> LedgerReading:
        """The newest ledger.

        Raises:
            AutomationRefused: `network_unavailable`.
        """
        try:
            return self.ledgers.now()
        except ClockStale:
            raise network_unavailable() from None


LifecycleNetworks = Mapping[Network, LifecycleNetwork]


def usable_network(networks: LifecycleNetworks, network: Network) -> LifecycleNetwork:
    """The network of a plan, for a change that needs it.

    Raises:
        AutomationRefused: `network_unavailable`, or `automation_unavailable` where no funded
            paymaster is there.
    """
    found = networks.get(network)
    if found is None:
        raise AutomationRefused(
            ErrorCode.AUTOMATION_UNAVAILABLE, ErrorCode.AUTOMATION_UNAVAILABLE.sentence
        )
    if found.outages():
        raise network_unavailable()
    if not found.is_available():
        raise AutomationRefused(
            ErrorCode.AUTOMATION_UNAVAILABLE, ErrorCode.AUTOMATION_UNAVAILABLE.sentence
        )
    return found


def network_unavailable() -> AutomationRefused:
    """The refusal while the network cannot be read; the same request may be repeated."""
    refused = AutomationRefused(
        ErrorCode.NETWORK_UNAVAILABLE, ErrorCode.NETWORK_UNAVAILABLE.sentence
    )
    refused.retry_after_s = _REPEAT_S
    return refused
