"""One network as the life of its plans needs it, and the refusals where it cannot be used."""

from collections.abc import Mapping
from dataclasses import dataclass

from farebox.automation.execution.build_run import RunBuilder
from farebox.automation.execution.check_condition import ConditionCheck
from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.proposing.availability import Availability
from farebox.automation.proposing.preflight import Preflight
from farebox.automation.refusal import AutomationUnavailable, NetworkUnavailable
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import ClockStale, LedgerReading, Ledgers


@dataclass(frozen=True, slots=True)
class LifecycleNetwork:
    """The steps of a run, which a dry run takes too, and whether the network can be used.

    `preflight` judges a plan before the paymaster installs anything for it. `nonce_key` makes the
    nonces of pre-signed entries.
    """

    network: Network
    availability: Availability
    preflight: Preflight
    builder: RunBuilder
    check: ConditionCheck
    ledger: EntryReader
    ledgers: Ledgers
    nonce_key: Secret[bytes]

    def reading(self) -> LedgerReading:
        """The newest ledger.

        Raises:
            NetworkUnavailable: none was seen lately.
        """
        try:
            return self.ledgers.now()
        except ClockStale:
            raise NetworkUnavailable from None


LifecycleNetworks = Mapping[Network, LifecycleNetwork]


def usable_network(networks: LifecycleNetworks, network: Network) -> LifecycleNetwork:
    """The network of a plan, for a change that needs it.

    Raises:
        NetworkUnavailable: no node answers.
        AutomationUnavailable: no funded paymaster is there.
    """
    found = networks.get(network)
    if found is None:
        raise AutomationUnavailable
    found.availability.check()
    return found
