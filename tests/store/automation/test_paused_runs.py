"""A plan that pauses while legs of several runs wait, of a budget or of a repetition."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from structlog.testing import capture_logs

from farebox.automation.lifecycle import run_history_store
from farebox.automation.lifecycle.repeat_run import RunRepeat
from farebox.automation.lifecycle.stop_plans import MOST_OUTAGES, PausedPlans, pause_plans
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import (
    PauseReason,
    ProposalFacts,
    ProposalState,
    ProposalTrigger,
)
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.refusal import AutomationRefused
from farebox.automation.runs import held_legs, run_store, unresolved_runs
from farebox.automation.runs.move_plan import move_plan
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Attempt, Run
from farebox.automation.runs.run_journal import PLAN_STOPPED, RunJournal
from farebox.automation.runs.run_state import RunTrigger
from farebox.automation.schedules.missed_runs import LatenessRule, MissedRuns
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from store.automation.test_held_legs import CONTINUE, begun, fail, journal_of, move
from store.automation.test_lifecycle_upkeep import network_of
from store.automation.test_new_quote import SOON, begin, build, once
from support.automation import activate, draft_plan, lock, read_plan, read_runs
from support.claims import signed_envelope
from support.journal_rows import party
from support.manual_clock import START, ManualClock
from support.plan_desk import owner_of
from testing.waiting import until_lock_is_waited_for

RUNS: Final = 3


async def repeated(
    database: Database, clock: ManualClock, at: datetime
) -> tuple[StoredPlan, RunJournal]:
    """A plan whose runs each have a leg that has landed and two that are repeated."""
    draft = draft_plan(legs=3).but(on_leg_error=CONTINUE, auth_limit=60, run_limit=5)
    rule = LatenessRule(MissedRuns.CATCH_UP_ALL, timedelta(seconds=30))
    plan = await begin(database, draft.but(rule=rule))
    journal = journal_of(database, clock, at)
    for number in range(RUNS):
        await land(journal, await build(journal, database, at), number)
        for _ in range(2):
            await fail(journal, await build(journal, database, at))
    for index in range(RUNS):
        async with database.transaction() as db:
            legs = await run_store.list_legs(db, plan.terms.id, index)
            again = [leg.id for leg in legs if not leg.has_happened]
            await run_history_store.repeat_legs(db, plan.terms.id, again, at=at, is_charged=True)
    return plan, journal


async def land(journal: RunJournal, run: Run, number: int) -> None:
    """Land a leg of another run than those of `succeed`."""
    attempt = attempt_of(run, number)
    recorded = await journal.record_attempt(run, attempt, b"sealed")
    assert isinstance(recorded, Run)
    assert await journal.move(recorded, RunTrigger.SUCCEED, recorded) is not None


def attempt_of(run: Run, number: int) -> Attempt:
    """An envelope for a run."""
    number += 4_000
    sent = signed_envelope(number, source=party(number), fee=900, inner_hash=number.to_bytes(32))
    return Attempt(run.id, run.attempts + 1, sent, None, 1, START.date())


@pytest.fixture
def at() -> datetime:
    """When runs are due that a plan of the tests has missed."""
    return datetime.now(UTC) + timedelta(minutes=5)


async def due(database: Database, plan: StoredPlan) -> list[tuple[int, int]]:
    """The places of the legs that are due."""
    rows = await read_runs(database, plan)
    return [(row["run_index"], row["leg_index"]) for row in rows if row["due_at"] is not None]


async def test_plan_whose_repeated_runs_wait_is_paused_and_resumed(
    database: Database, clock: ManualClock, at: datetime
) -> None:
    plan, journal = await repeated(database, clock, at)
    await move(database, plan, ProposalTrigger.PAUSE, at)
    assert await due(database, plan) == [(0, 1)], "one leg of a plan is due"
    await move(database, plan, ProposalTrigger.RESUME, at)
    for number in range(2 * RUNS):
        await land(journal, await build(journal, database, at), RUNS + number)
    done = await read_plan(database, plan)
    assert (done.counters.runs_consumed, done.counters.runs_succeeded) == (RUNS, RUNS)


async def test_each_repeated_run_of_a_paused_plan_is_missed_at_its_deadline(
    database: Database, clock: ManualClock, at: datetime
) -> None:
    plan, _ = await repeated(database, clock, at)
    await move(database, plan, ProposalTrigger.PAUSE, at)
    later = max(row["deadline_at"] for row in await read_runs(database, plan))
    later += timedelta(minutes=1)
    journal = journal_of(database, clock, later)
    for _ in range(2 * RUNS):
        missed = await build(journal, database, later)
        assert await journal.move(missed, RunTrigger.MISS, missed) is not None
    assert all(row["finished_at"] for row in await read_runs(database, plan))


async def test_leg_in_progress_pauses_its_plan_whatever_waits_besides(
    database: Database, clock: ManualClock, at: datetime
) -> None:
    plan, journal = await repeated(database, clock, at)
    run = await build(journal, database, at)
    upgraded = PauseReason.TARGET_UPGRADED
    assert await journal.stop(run, upgraded.value, upgraded) is not None
    assert (await read_plan(database, plan)).reason == upgraded.value
    assert len(await due(database, plan)) == 1


async def test_search_ends_for_a_leg_beside_which_other_runs_wait(
    database: Database, clock: ManualClock, at: datetime
) -> None:
    plan, journal = await repeated(database, clock, at)
    run = await build(journal, database, at)
    recorded = await journal.record_attempt(run, attempt_of(run, 90), b"sealed")
    assert isinstance(recorded, Run)
    assert await journal.advance(recorded, RunTrigger.LOSE_TRACK) is not None
    async with database.transaction() as db:
        ended = await unresolved_runs.end_search(db, run.id, now=at + timedelta(days=9))
    assert isinstance(ended, Run)
    assert (await read_plan(database, plan)).state is ProposalState.PAUSED


@pytest.mark.parametrize("is_busy", [True, False])
async def test_run_is_not_repeated_while_another_one_is_in_progress(
    database: Database, clock: ManualClock, at: datetime, is_busy: bool
) -> None:
    """Two runs of a plan would be in progress at once."""
    draft = draft_plan(legs=3).but(on_leg_error=CONTINUE, auth_limit=60, run_limit=5)
    rule = LatenessRule(MissedRuns.CATCH_UP_ALL, timedelta(seconds=30))
    plan = await begin(database, draft.but(rule=rule))
    journal = journal_of(database, clock, at)
    await land(journal, await build(journal, database, at), 0)
    for _ in range(2):
        await fail(journal, await build(journal, database, at))
    if is_busy:
        await build(journal, database, at)
    repeat = RunRepeat(database, clock, {Network.TESTNET: network_of()})
    repeating = repeat.repeat(owner_of(plan), "request", plan.terms.id, 0)
    if is_busy:
        with pytest.raises(AutomationRefused, match="A run of the plan is in progress"):
            await repeating
    else:
        assert (await repeating).leg_index == 1
    assert len(await due(database, plan)) == 1


async def test_plan_that_cannot_be_paused_stops_no_other_one_and_is_named(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = sorted([await activate(database) for _ in range(3)], key=_id_of)
    hold = held_legs.hold_waiting

    async def hold_others(db: Connection, proposal_id: str) -> None:
        if proposal_id == first.terms.id:
            await db.execute("SELECT 1 / 0")
        await hold(db, proposal_id)

    monkeypatch.setattr(held_legs, "hold_waiting", hold_others)
    paused = await pause_plans(database, clock, Network.TESTNET, reason=PauseReason.OPERATOR)
    assert paused == PausedPlans(len(others), (first.terms.id,))
    states = [(await read_plan(database, each)).state for each in (first, *others)]
    assert states == [ProposalState.ACTIVE, *[ProposalState.PAUSED] * len(others)]


async def test_plan_that_is_being_moved_is_paused_too(
    database: Database, clock: ManualClock
) -> None:
    """The operator is told that every active plan is paused."""
    plans = [await activate(database) for _ in range(3)]
    async with database.transaction() as db:
        await proposal_store.lock_plan(db, plans[0].terms.id)
        pausing = asyncio.create_task(
            pause_plans(database, clock, Network.TESTNET, reason=PauseReason.OPERATOR)
        )
        await until_lock_is_waited_for(database)
    assert await pausing == PausedPlans(len(plans), ())


async def test_plan_that_is_cancelled_meanwhile_is_not_paused(
    database: Database, clock: ManualClock
) -> None:
    """Else nothing cancels it when the run that is under way has ended."""
    plan = await activate(database)
    async with database.transaction() as db:
        locked = await lock(db, plan.terms.id)
        pausing = asyncio.create_task(
            pause_plans(database, clock, Network.TESTNET, reason=PauseReason.OPERATOR)
        )
        await until_lock_is_waited_for(database)
        facts = ProposalFacts(has_unresolved_run=True)
        await move_plan(db, locked, ProposalTrigger.CANCEL, facts, now=clock.now())
    assert await pausing == PausedPlans(0, ())
    assert (await read_plan(database, plan)).is_cancelling


@pytest.mark.parametrize("held", [1, 2, MOST_OUTAGES])
async def test_plans_that_are_held_for_long_stop_no_other_one_unless_they_are_many(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    """So many in a row are an outage, which is no fault of plans."""
    ids = sorted([_id_of(await activate(database)) for _ in range(held + 2)])
    lock = proposal_store.lock_plan

    async def lock_others(db: Connection, proposal_id: str) -> StoredPlan | None:
        if proposal_id in ids[1 : held + 1]:
            raise TimeoutError
        return await lock(db, proposal_id)

    monkeypatch.setattr(proposal_store, "lock_plan", lock_others)
    pausing = pause_plans(database, clock, Network.TESTNET, reason=PauseReason.OPERATOR)
    if held < MOST_OUTAGES:
        assert await pausing == PausedPlans(2, tuple(ids[1 : held + 1]))
        return
    with capture_logs() as logs, pytest.raises(DatabaseUnavailable):
        await pausing
    assert (logs[-1]["event"], logs[-1]["paused"]) == ("automation.pause_broken_off", 1)


@pytest.mark.parametrize("trigger", [RunTrigger.WITHDRAW, RunTrigger.REFUSE])
async def test_legs_of_a_run_of_which_nothing_landed_do_not_wait_for_the_resume(
    database: Database, clock: ManualClock, trigger: RunTrigger
) -> None:
    """Its first leg was sent when the plan paused, and did not land: the run is over."""
    plan = await begin(database, once(legs=3, on_leg_error=CONTINUE).but(auth_limit=30))
    journal = journal_of(database, clock, SOON)
    run = await build(journal, database, SOON)
    sent = await journal.record_attempt(run, attempt_of(run, 50), b"sealed")
    assert isinstance(sent, Run)
    await move(database, plan, ProposalTrigger.PAUSE, SOON)
    assert len(await due(database, plan)) == 1, "the others wait for its end"
    if trigger is RunTrigger.WITHDRAW:
        late = replace(sent.without_channel(), due_at=SOON)
        assert await journal.move(sent, RunTrigger.RETRY, late) is not None
        sent = await build(journal, database, SOON)
    assert await journal.move(sent, trigger, sent) is not None
    rows = await read_runs(database, plan)
    assert [row["state"] for row in rows[1:]] == ["skipped", "skipped"]
    assert (await read_plan(database, plan)).counters.runs_consumed == 0


def _id_of(plan: StoredPlan) -> str:
    return plan.terms.id


async def test_budget_that_was_given_back_wakes_no_leg_of_a_paused_plan(
    database: Database, clock: ManualClock
) -> None:
    plan, journal = await begun(database, clock)
    run = await build(journal, database, SOON)
    waits = replace(run.without_channel(), error_class=ErrorClass.BUDGET, error_code="budget_owner")
    await journal.move(run, RunTrigger.DEFER, replace(waits, due_at=SOON + timedelta(minutes=5)))
    await move(database, plan, ProposalTrigger.PAUSE, SOON)
    async with database.connection() as db:
        await run_store.wake_deferred(db, Network.TESTNET, plan.terms.owner, now=SOON)
    (_, second, _) = await read_runs(database, plan)
    assert second["due_at"] > SOON + timedelta(minutes=50), "after its deadline"
    await move(database, plan, ProposalTrigger.RESUME, SOON)
    again = await build(journal, database, SOON)
    await move(database, plan, ProposalTrigger.PAUSE, SOON)
    dear = replace(again, error_class=ErrorClass.BUDGET, error_code="budget_owner")
    held = await journal.stop(dear, PLAN_STOPPED)
    assert held is not None
    assert (held.error_class, held.error_code) == (None, None)


async def test_pause_by_a_clock_that_is_behind_keeps_the_legs_of_a_begun_run(
    database: Database, clock: ManualClock
) -> None:
    """Else the run that has begun is not charged: no leg of it waits."""
    plan, _ = await begun(database, clock)
    await move(database, plan, ProposalTrigger.PAUSE, SOON - timedelta(seconds=1))
    ended = await move(database, plan, ProposalTrigger.CANCEL, SOON + timedelta(seconds=1))
    assert ended.counters.runs_consumed == 1
