"""Reconciliation looks at every row in its turn, and at an unproven one every hour."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from farebox.facilitator.budgets import budget_store
from farebox.facilitator.journal import reconcile
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.journal.reconcile import Reconciler, ReconcileTimes
from farebox.facilitator.settlement import (
    Claim,
    FinalStatus,
    NotSettled,
    Recording,
    SettlementState,
)
from farebox.facilitator.settling.idempotency import is_final
from farebox.kernel.addresses import account_address
from farebox.storage.pool import Database
from farebox.submission.fate import Dead, Indeterminate, ObservedFate, SentEnvelope, Unproven
from farebox.x402.reasons import Reason
from support.claims import CALL_S, NET, claim, signed_envelope
from support.manual_clock import ManualClock
from support.status_resolvers import NoLandings, status_resolver

AGE_S = 120
UNDECIDED = 40  # as many as one pass takes where a test meets that limit


@dataclass
class Observer:
    """Sees the fate that the test sets for an envelope's tag, `Indeterminate` for every other."""

    fates: dict[int, ObservedFate] = field(default_factory=dict)
    looks: list[list[int]] = field(default_factory=list)

    async def observe_all(self, sents: Sequence[SentEnvelope]) -> list[ObservedFate]:
        tags = [int.from_bytes(sent.tx_hash) for sent in sents]
        if tags:
            self.looks.append(tags)
        return [self.fates.get(tag, Indeterminate()) for tag in tags]


@dataclass
class World:
    """The journal, and a reconciler over it."""

    database: Database
    landings: NoLandings = field(default_factory=NoLandings)
    clock: ManualClock = field(default_factory=ManualClock)
    observer: Observer = field(default_factory=Observer)

    def __post_init__(self) -> None:
        self.journal = SettlementJournal(self.database, self.clock)
        statuses = status_resolver(self.landings, self.clock)
        times = ReconcileTimes(every_s=5, leave_to_callers_s=60, stale_claim_s=10_000)
        self.reconciler = Reconciler(NET, self.observer, statuses, self.journal, self.clock, times)

    async def send(self, tag: int) -> Claim:
        """Record an envelope, of its own source."""
        made = claim(tag, claimed_at=self.clock.now())
        source = account_address((tag + 1_000).to_bytes(32))
        await self.journal.claim(made)
        recorded = await self.journal.record_sending(made, signed_envelope(tag, source=source))
        assert recorded is Recording.WRITTEN
        return made

    async def one_pass(self) -> int:
        return await self.reconciler.reconcile(older_than_s=60)

    async def state_of(self, made: Claim) -> SettlementState:
        row = await self.journal.find(made.identity)
        assert row is not None
        return row.state


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


async def test_undecidable_rows_hold_up_no_newer_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: the oldest rows first, whenever they were looked at."""
    monkeypatch.setattr(reconcile, "_MAX_ROWS", UNDECIDED)
    for tag in range(1, UNDECIDED + 1):
        await world.send(tag)
    world.clock.turn(1)
    newer = await world.send(UNDECIDED + 1)
    world.observer.fates[UNDECIDED + 1] = Dead(200)
    world.clock.turn(AGE_S)
    assert await world.one_pass() == 0
    assert await world.one_pass() == 1
    assert await world.state_of(newer) is SettlementState.DEAD


@pytest.mark.parametrize(("age_s", "after_s"), [(AGE_S, AGE_S // 10), (100_000, 60)])
async def test_undecided_row_is_looked_at_again_after_a_tenth_of_its_age(
    world: World, age_s: int, after_s: int
) -> None:
    await world.send(1)
    world.clock.turn(age_s)
    for _ in range(2):
        await world.one_pass()
    assert world.observer.looks == [[1]]
    world.clock.turn(after_s - 1)
    await world.one_pass()
    assert len(world.observer.looks) == 1
    world.clock.turn(1)
    await world.one_pass()
    assert len(world.observer.looks) == 2


async def test_row_that_is_handed_over_is_looked_at_at_once(world: World) -> None:
    await world.send(1)
    world.clock.turn(AGE_S)
    await world.one_pass()
    await world.journal.hand_over(signed_envelope(1).tx_hash)
    await world.one_pass()
    assert world.observer.looks == [[1], [1]]


async def test_dead_envelope_ends_its_payment_once_its_call_is_over(world: World) -> None:
    """The call may replace it until then. Control: a pass that ends what it sees dead."""
    made = await world.send(1)
    world.observer.fates[1] = Dead(200)
    world.clock.turn(CALL_S - 1)
    assert await world.reconciler.reconcile(older_than_s=0) == 0
    assert await world.state_of(made) is SettlementState.SENDING
    await world.journal.hand_over(signed_envelope(1).tx_hash)
    world.clock.turn(1)
    assert await world.reconciler.reconcile(older_than_s=0) == 1
    assert await world.state_of(made) is SettlementState.DEAD


class FaultyLandings(NoLandings):
    """A bug that only one payment meets."""

    async def find_by_nonce(self, spent: object, *, as_of_ledger: int) -> None:
        if spent.identity.nonce == 1:  # type: ignore[attr-defined]
            raise LookupError("a bug")


async def test_fault_with_one_row_ends_no_pass_and_holds_up_no_other_row(
    database: Database,
) -> None:
    world = World(database, FaultyLandings())
    faulty, sound = await world.send(1), await world.send(2)
    world.observer.fates = {1: Dead(200), 2: Dead(200)}
    world.clock.turn(AGE_S)
    assert await world.one_pass() == 1
    assert await world.state_of(faulty) is SettlementState.SENDING
    assert await world.state_of(sound) is SettlementState.DEAD


async def unproven(world: World) -> Claim:
    made = await world.send(1)
    world.clock.turn(AGE_S)
    world.observer.fates[1] = Unproven(200)
    assert await world.one_pass() == 1
    assert await world.state_of(made) is SettlementState.UNPROVEN
    world.observer.looks.clear()
    return made


async def test_unproven_settlement_is_looked_at_every_hour_until_it_is_proven(
    world: World,
) -> None:
    """Its budget is right afterwards. Control: unproven is final."""
    made = await unproven(world)
    for looks in (1, 2):
        world.clock.turn(3_599)
        await world.one_pass()
        assert len(world.observer.looks) == looks - 1
        world.clock.turn(1)
        assert await world.one_pass() == 0
        assert len(world.observer.looks) == looks
    world.observer.fates[1] = Dead(200)
    world.clock.turn(3_600)
    assert await world.one_pass() == 1
    assert await world.state_of(made) is SettlementState.DEAD
    world.clock.turn(3_600)
    assert await world.one_pass() == 0
    async with world.database.connection() as db:
        assert await budget_store.find_drift(db) == []


async def test_row_with_a_reason_of_another_release_ends_no_pass(world: World) -> None:
    """It is read as an outcome that is not known. Control: a fault, which ends the process."""
    made = await unproven(world)
    async with world.database.connection() as db:
        await db.execute("UPDATE settlements SET reason = 'of_another_release'")
    world.clock.turn(3_600)
    await world.one_pass()
    row = await world.journal.find(made.identity)
    assert row is not None
    assert (row.reason, world.observer.looks) == (Reason.UNEXPECTED_SETTLE_ERROR, [[1]])


@pytest.mark.parametrize("state", ["confirmed", "failed", "dead"])
async def test_unproven_settlement_gives_way_to_a_proof_once(world: World, state: str) -> None:
    made, tx_hash = await unproven(world), signed_envelope(1).tx_hash
    proven, other = FinalStatus(SettlementState(state)), FinalStatus(SettlementState.FAILED)
    assert not await world.journal.record_final(tx_hash, FinalStatus(SettlementState.UNPROVEN))
    assert await world.journal.record_final(tx_hash, proven)
    assert not await world.journal.record_final(tx_hash, other)
    assert await world.state_of(made) is proven.state


def test_response_of_an_unproven_settlement_is_not_stored_for_its_key() -> None:
    """It may be proven later. Control: the failure of one that is dead."""
    build: Callable[[Reason], NotSettled] = lambda reason: NotSettled(reason, NET, None, "ab")  # noqa: E731
    assert not is_final(build(Reason.OUTCOME_UNPROVEN))
    assert is_final(build(Reason.TRANSACTION_FAILED))
