"""Read the networks: which are served, and how they are now; no call is made."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import ClockStale, LedgerReading, Ledgers
from farebox.stellar.rpc import FeeStats

NOT_SERVED: Final = "not_served"
STALE: Final = "ledger_clock_stale"


class NetworkFacts(Protocol):
    """Fees and protocol of one network as of the last look, read without a call."""

    @property
    def fees(self) -> FeeStats | None: ...
    @property
    def protocol_version(self) -> int | None: ...


class NetworkCondition(Protocol):
    """Whether one network can be used now."""

    @property
    def outages(self) -> tuple[str, ...]:
        """The codes of why it cannot; empty while it can."""
        ...


class PaymentFees(Protocol):
    """What the newest payments of each network cost on average, read without a call."""

    def of(self, network: Network) -> Stroops | None: ...


@dataclass(frozen=True, slots=True)
class ObservedNetwork:
    """The parts of a network that is served, as they show how it is."""

    ledgers: Ledgers
    facts: NetworkFacts
    condition: NetworkCondition


@dataclass(frozen=True, slots=True)
class NetworkReport:
    """A network as it is now; `reading` None while it cannot be used, for `reason`."""

    network: Network
    is_served: bool
    reason: str | None = None
    reading: LedgerReading | None = None
    protocol_version: int | None = None
    fees: FeeStats | None = None
    mean_fee: Stroops | None = None


class NetworksReader:
    """Reports on every network that Farebox knows."""

    def __init__(self, served: Mapping[Network, ObservedNetwork], fees: PaymentFees) -> None:
        self._served, self._fees = served, fees

    def read(self) -> tuple[NetworkReport, ...]:
        """Report on each network, in the order in which they are declared."""
        return tuple(self._report(network) for network in Network)

    def _report(self, network: Network) -> NetworkReport:
        own = self._served.get(network)
        if own is None:
            return NetworkReport(network, is_served=False, reason=NOT_SERVED)
        outages, reading = own.condition.outages, None
        if not outages:
            try:
                reading = own.ledgers.now()
            except ClockStale:
                outages = (STALE,)
        return NetworkReport(
            network,
            is_served=True,
            reason=outages[0] if outages else None,
            reading=reading,
            protocol_version=own.facts.protocol_version,
            fees=own.facts.fees,
            mean_fee=self._fees.of(network),
        )
