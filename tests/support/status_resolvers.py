"""Status resolvers over ledgers that close at one pace."""

from farebox.facilitator.journal.foreign_landing import (
    ForeignLanding,
    LandingSearch,
    SpentAuthorization,
)
from farebox.facilitator.journal.status_resolver import StatusResolver
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc_nodes import SimulationTrust
from support.manual_clock import START


class NoLandings:
    """A search that finds no other use of an authorization."""

    async def find_by_nonce(
        self, spent: SpentAuthorization, *, as_of_ledger: int
    ) -> ForeignLanding | None:
        return None

    async def find_in_ledgers(
        self, spent: SpentAuthorization, *, first: int, last: int
    ) -> ForeignLanding | None:
        return None


class SteadyLedgers:
    """A ledger clock at ledger 120; without a cadence it is stale."""

    def __init__(self, cadence_s: float | None = 5.0) -> None:
        self._cadence_s = cadence_s

    def now(self) -> LedgerReading:
        if self._cadence_s is None:
            raise ClockStale(Network.TESTNET)
        return LedgerReading(120, START, self._cadence_s, 0.0)


def status_resolver(
    foreign: LandingSearch,
    clock: Clock,
    *,
    cadence_s: float | None = 5.0,
    trust: SimulationTrust | None = None,
) -> StatusResolver:
    """A status resolver that searches through `foreign`."""
    ledgers = SteadyLedgers(cadence_s)
    return StatusResolver(foreign, clock, ledgers, trust or SimulationTrust(Network.TESTNET))
