"""The simulations of one verification, and how long it waits for an entry that a node misses."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from farebox.facilitator.verification.verdict import Rejected, SignedTransfer
from farebox.facilitator.verification.verify import VerificationNetwork, Verifier
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Caller
from farebox.kernel.slots import Requester, Share
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.rpc import FeeStats, RawSimulation
from farebox.stellar.simulation_slots import SimulationPurpose
from farebox.x402.payment import PaymentTerms
from farebox.x402.reasons import Reason
from support.accepted_payment import NET, RULES, signed_transfer
from support.manual_clock import START, ManualClock

MISSING = "HostError: Error(Storage, MissingValue)"
REFUSED = "HostError: Error(Auth, InvalidAction)"
REQUESTER = Requester(SimulationPurpose.VERIFICATION, Share("a client"))
NEWEST = 100  # the ledger seen here


def transfer() -> SignedTransfer:
    made = signed_transfer()
    return replace(made, entry=replace(made.entry, expires_at_ledger=NEWEST + 12))


@dataclass
class World:
    """The parts of a network: scripted simulations, and a ledger clock that stands still."""

    answers: Sequence[tuple[str, int]]  # the error and the ledger of each simulation
    age_s: float
    clock: ManualClock = field(default_factory=ManualClock)
    addresses: frozenset[Address] = frozenset()
    fees: FeeStats | None = None
    simulated: int = 0

    async def simulate(self, envelope: str, requester: Requester) -> RawSimulation:
        error, ledger = self.answers[self.simulated]
        self.simulated += 1
        return RawSimulation({"latestLedger": ledger, "error": error})

    def now(self) -> LedgerReading:
        return LedgerReading(NEWEST, START, 5.0, self.age_s + self.clock.monotonic())

    def judge(
        self, terms: PaymentTerms, payer: Address, *, stroops: int, caller: Caller | None
    ) -> Reason | None:
        return None

    async def verify(self) -> Reason:
        parts = VerificationNetwork(RULES, self, self, self, self, self)
        verdict = await Verifier({NET: parts}, self.clock).judge(transfer(), REQUESTER)
        assert isinstance(verdict, Rejected)
        return verdict.reason


async def test_entry_missing_as_of_a_ledger_that_nodes_serve_is_answered_at_once() -> None:
    """Control: the wait for the next ledger, in which an unfunded payer costs nothing."""
    world = World([(MISSING, NEWEST)], age_s=0.5)
    assert await world.verify() is Reason.ENTRY_MISSING
    assert (world.simulated, world.clock.slept) == (1, [])


@pytest.mark.parametrize(
    ("ledger", "age_s", "waits_s"),
    [(NEWEST, 0.125, 0.375), (NEWEST + 1, 3.0, 0.5), (NEWEST - 1, 0.25, 0.25)],
    ids=["just closed", "newer than any seen here", "of a node that is behind"],
)
async def test_entry_missing_as_of_a_ledger_that_just_closed_is_looked_for_again(
    ledger: int, age_s: float, waits_s: float
) -> None:
    """Control: judged by the first look alone, it would be missing."""
    world = World([(MISSING, ledger), (REFUSED, ledger + 1)], age_s=age_s)
    assert await world.verify() is Reason.SIMULATION_FAILED
    assert world.clock.slept == [waits_s]


async def test_entry_that_stays_missing_is_looked_for_twice() -> None:
    world = World([(MISSING, NEWEST)] * 2, age_s=0.0)
    assert await world.verify() is Reason.ENTRY_MISSING
    assert (world.simulated, world.clock.slept) == (2, [0.5])


async def test_refusal_for_another_cause_is_simulated_once() -> None:
    world = World([(REFUSED, NEWEST)], age_s=0.0)
    assert await world.verify() is Reason.SIMULATION_FAILED
    assert world.simulated == 1
