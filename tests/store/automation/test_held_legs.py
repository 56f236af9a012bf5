"""The legs of a run that has begun: they wait while the plan is paused, and may be repeated."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import pytest

from farebox.automation.execution.plan_upkeep import PlanUpkeep
from farebox.automation.lifecycle import run_history_store
from farebox.automation.lifecycle.change_plan import check_may_resume
from farebox.automation.plans.proposal_state import (
    PauseReason,
    ProposalFacts,
    ProposalState,
    ProposalTrigger,
)
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.plans.wire import OnLegError
from farebox.automation.refusal import AutomationRefused
from farebox.automation.runs import held_legs, run_store
from farebox.automation.runs.move_plan import move_plan
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_journal import PLAN_STOPPED, RunJournal
from farebox.automation.runs.run_state import RunTrigger
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database
from store.automation.test_new_quote import BUDGETS, SOON, begin, build, once, succeed
from support.automation import DELEGATES, lock, read_plan, read_runs
from support.manual_clock import ManualClock
from support.run_payments import FEE, balance

CONTINUE: Final = OnLegError.CONTINUE
LATER: Final = SOON + timedelta(minutes=30)
OVER: Final = SOON + timedelta(hours=2)


def journal_of(database: Database, clock: ManualClock, at: datetime) -> RunJournal:
    clock.turn((at - clock.now()).total_seconds())
    return RunJournal(database, clock, DELEGATES, BUDGETS)


async def begun(database: Database, clock: ManualClock) -> tuple[StoredPlan, RunJournal]:
    """A plan of a single run of three legs, of which the first has landed."""
    plan = await begin(database, once(legs=3, on_leg_error=CONTINUE).but(auth_limit=30))
    journal = journal_of(database, clock, SOON)
    await succeed(journal, await build(journal, database, SOON))
    return plan, journal


async def move(
    database: Database, plan: StoredPlan, trigger: ProposalTrigger, at: datetime
) -> StoredPlan:
    async with database.transaction() as db:
        locked = await lock(db, plan.terms.id)
        if trigger is ProposalTrigger.RESUME:
            await check_may_resume(db, locked, at)
        facts = ProposalFacts(has_paid_legs=True)
        reason = PauseReason.OWNER.value
        return await move_plan(db, locked, trigger, facts, now=at, reason=reason)


async def fail(journal: RunJournal, run: Run) -> None:
    failed = replace(run, error_class=ErrorClass.PROGRAM, error_code="trapped")
    assert await journal.move(run, RunTrigger.REFUSE, failed) is not None


async def states(database: Database, plan: StoredPlan) -> list[str]:
    return [row["state"] for row in await read_runs(database, plan)]


async def repeat(database: Database, plan: StoredPlan, at: datetime) -> None:
    async with database.transaction() as db:
        legs: Sequence[Run] = await run_store.list_legs(db, plan.terms.id, 0)
        failed = [leg.id for leg in legs if not leg.has_happened]
        await run_history_store.repeat_legs(db, plan.terms.id, failed, at=at, is_charged=True)


async def paid_end(db: Connection, plan: StoredPlan, at: datetime) -> datetime | None:
    return await held_legs.find_paid_end(db, plan.terms, now=at, has_runs=False)


async def test_legs_of_a_run_that_has_begun_wait_for_the_resume_and_are_made(
    database: Database, clock: ManualClock
) -> None:
    plan, journal = await begun(database, clock)
    paused = await move(database, plan, ProposalTrigger.PAUSE, SOON)
    assert await states(database, plan) == ["succeeded", "scheduled", "scheduled"]
    assert (paused.counters.runs_left, paused.counters.runs_consumed) == (0, 1), "it is charged"
    due = [row["due_at"] for row in await read_runs(database, plan)]
    assert due[1] > SOON + timedelta(hours=1), "none is claimed meanwhile"
    assert due[2] is None
    await move(database, plan, ProposalTrigger.RESUME, LATER)
    journal = journal_of(database, clock, LATER)
    for _ in range(2):
        await succeed(journal, await build(journal, database, LATER))
    assert await states(database, plan) == ["succeeded"] * 3
    done = await read_plan(database, plan)
    assert (done.state, done.counters.runs_succeeded) == (ProposalState.COMPLETED, 1)
    assert (done.counters.runs_consumed, await balance(database, plan)) == (1, 0), "charged once"
    fees = {row["charged_fee"] for row in await read_runs(database, plan)}
    assert fees == {FEE}, "no leg costs more than what the run was sold at"


async def test_leg_that_was_claimed_when_its_plan_paused_waits_with_the_others(
    database: Database, clock: ManualClock
) -> None:
    plan, journal = await begun(database, clock)
    building = await build(journal, database, SOON)
    await move(database, plan, ProposalTrigger.PAUSE, SOON)
    held = await journal.stop(building, PLAN_STOPPED)
    assert held is not None
    assert held.due_at is not None
    assert held.due_at > held.deadline_at
    assert await states(database, plan) == ["succeeded", "deferred", "scheduled"]
    await move(database, plan, ProposalTrigger.RESUME, LATER)
    journal = journal_of(database, clock, LATER)
    again = await build(journal, database, LATER)
    assert (again.leg_index, again.is_charged) == (1, True)


async def test_leg_whose_plan_was_resumed_meanwhile_is_due_at_once(
    database: Database, clock: ManualClock
) -> None:
    plan, journal = await begun(database, clock)
    building = await build(journal, database, SOON)
    await move(database, plan, ProposalTrigger.PAUSE, SOON)
    await move(database, plan, ProposalTrigger.RESUME, SOON)
    await journal.stop(building, PLAN_STOPPED)
    assert (await build(journal, database, SOON)).leg_index == 1


async def test_control_run_of_which_nothing_was_sent_is_skipped_and_not_charged(
    database: Database, clock: ManualClock
) -> None:
    plan = await begin(database, once(legs=3, on_leg_error=CONTINUE).but(auth_limit=30))
    journal = journal_of(database, clock, SOON)
    building = await build(journal, database, SOON)
    paused = await move(database, plan, ProposalTrigger.PAUSE, SOON)
    await journal.stop(building, PLAN_STOPPED)
    assert await states(database, plan) == ["skipped"] * 3
    assert paused.counters.runs_left == 1


async def test_held_legs_are_missed_at_their_deadline_and_the_plan_ends(
    database: Database, clock: ManualClock
) -> None:
    plan, _ = await begun(database, clock)
    await move(database, plan, ProposalTrigger.PAUSE, SOON)
    journal = journal_of(database, clock, OVER)
    for _ in range(2):
        missed = await build(journal, database, OVER)
        assert await journal.move(missed, RunTrigger.MISS, missed) is not None
    assert (await read_plan(database, plan)).state is ProposalState.COMPLETED
    assert await states(database, plan) == ["succeeded", "missed", "missed"]
    with pytest.raises(AutomationRefused):
        await move(database, plan, ProposalTrigger.RESUME, OVER)


async def test_cancelled_plan_withdraws_held_legs_and_is_not_charged_again(
    database: Database, clock: ManualClock
) -> None:
    plan, _ = await begun(database, clock)
    await move(database, plan, ProposalTrigger.PAUSE, SOON)
    ended = await move(database, plan, ProposalTrigger.CANCEL, LATER)
    assert await states(database, plan) == ["succeeded", "skipped", "skipped"]
    assert (ended.counters.runs_consumed, await balance(database, plan)) == (1, 0)


async def test_last_paid_run_is_repeated_until_its_deadline_and_then_the_plan_is_completed(
    database: Database, clock: ManualClock
) -> None:
    plan, journal = await begun(database, clock)
    await succeed(journal, await build(journal, database, SOON))
    await fail(journal, await build(journal, database, SOON))
    open_plan = await read_plan(database, plan)
    assert (open_plan.state, open_plan.counters.runs_left) == (ProposalState.ACTIVE, 0)
    assert (open_plan.may_make(is_charged=True), open_plan.may_run) == (True, False)
    await repeat(database, plan, LATER)
    journal = journal_of(database, clock, LATER)
    await fail(journal, await build(journal, database, LATER))
    assert (await read_plan(database, plan)).counters.runs_consumed == 1, "for the same credit"
    await repeat(database, plan, LATER)
    await succeed(journal, await build(journal, database, LATER))
    done = await read_plan(database, plan)
    assert (done.state, done.counters.runs_succeeded) == (ProposalState.COMPLETED, 1)


async def test_plan_with_a_failed_leg_is_completed_once_it_cannot_be_repeated(
    database: Database, clock: ManualClock
) -> None:
    plan, journal = await begun(database, clock)
    await succeed(journal, await build(journal, database, SOON))
    await fail(journal, await build(journal, database, SOON))
    async with database.connection() as db:
        assert await paid_end(db, plan, SOON) == SOON + timedelta(hours=1)
        assert await paid_end(db, plan, OVER) is None
    upkeep = PlanUpkeep(Network.TESTNET, database, clock)
    await upkeep.run_once()
    assert (await read_plan(database, plan)).state is ProposalState.ACTIVE
    journal_of(database, clock, OVER)
    await upkeep.run_once()
    assert (await read_plan(database, plan)).state is ProposalState.COMPLETED


async def test_failed_run_that_was_not_charged_keeps_its_paid_run_until_its_deadline(
    database: Database, clock: ManualClock
) -> None:
    """What is given back when the plan ends pays for no repetition."""
    plan = await begin(database, once())
    journal = journal_of(database, clock, SOON)
    await fail(journal, await build(journal, database, SOON))
    kept = await read_plan(database, plan)
    assert (kept.state, kept.counters.runs_left) == (ProposalState.ACTIVE, 1)
    async with database.connection() as db:
        assert await paid_end(db, plan, SOON) is None, "without a paid run it is not repeated"
    ended = await move(database, plan, ProposalTrigger.CANCEL, LATER)
    assert ended.counters.runs_left == 0
    assert await balance(database, plan) > 0
    assert not ended.may_make(is_charged=True)
