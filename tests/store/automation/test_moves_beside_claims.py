"""Changes of plans beside schedulers, which claim and give back runs without the plan's lock."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import pytest

from farebox.automation.execution.plan_upkeep import PlanUpkeep
from farebox.automation.lifecycle.change_plan import check_may_resume
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import (
    PauseReason,
    ProposalFacts,
    ProposalState,
    ProposalTrigger,
)
from farebox.automation.plans.proposal_store import OverduePlan
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.refusal import AutomationRefused
from farebox.automation.runs import claim_store, run_store
from farebox.automation.runs.move_plan import move_plan
from farebox.automation.runs.run import AttemptOutcome, Run
from farebox.automation.runs.run_end import EndedAttempt, RunEnd
from farebox.automation.runs.run_journal import PLAN_STOPPED, AttemptRecording, RunJournal
from farebox.automation.runs.run_state import RunTrigger
from farebox.automation.schedules.missed_runs import LatenessRule, MissedRuns
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database
from store.automation.test_held_legs import CONTINUE, begun, journal_of, move, states
from store.automation.test_new_quote import SOON, begin, build, once, refuse, succeed
from store.automation.test_paused_runs import attempt_of
from support.automation import draft_plan, lock, read_plan, read_runs
from support.manual_clock import START, ManualClock
from support.run_payments import PER_RUN, balance, propose
from testing.waiting import until_lock_is_waited_for

Meanwhile = Callable[[], Awaitable[None]]
LOST: Final = SOON + timedelta(minutes=2)  # the leases of a dead process have passed


async def cancel(
    database: Database, plan: StoredPlan, meanwhile: Meanwhile, at: datetime = SOON
) -> None:
    """Cancel a plan as its owner does, with something between the facts and the move."""
    async with database.transaction() as db:
        locked = await lock(db, plan.terms.id)
        is_busy = await run_store.lock_due_run(db, plan.terms.id)
        await meanwhile()
        runs = locked.counters.runs_left
        facts = ProposalFacts(has_unresolved_run=is_busy, runs_left=runs)
        await move_plan(db, locked, ProposalTrigger.CANCEL, facts, now=at, reason="owner")


async def claim(database: Database, at: datetime) -> int:
    """How many runs a scheduler claims."""
    until = at + timedelta(minutes=1)
    async with database.connection() as db:
        return len(
            await claim_store.claim_due(
                db, Network.TESTNET, count=5, holder="b", now=at, until=until
            )
        )


async def release(database: Database, at: datetime) -> int:
    """How many runs of dead processes are given back."""
    async with database.connection() as db:
        return await claim_store.release_lost(db, Network.TESTNET, now=at, limit=50)


async def three_legs(
    database: Database, clock: ManualClock, *, has_begun: bool
) -> tuple[StoredPlan, RunJournal]:
    """A plan of a single run of three legs, of which the first one may have landed."""
    if has_begun:
        return await begun(database, clock)
    plan = await begin(database, once(legs=3, on_leg_error=CONTINUE).but(auth_limit=30))
    return plan, journal_of(database, clock, SOON)


@pytest.mark.parametrize("has_begun", [False, True])
async def test_cancelled_plan_has_no_leg_claimed_meanwhile(
    database: Database, clock: ManualClock, has_begun: bool
) -> None:
    plan, _ = await three_legs(database, clock, has_begun=has_begun)
    claimed: list[int] = []

    async def claim_meanwhile() -> None:
        claimed.append(await claim(database, SOON))

    await cancel(database, plan, claim_meanwhile)
    assert claimed == [0]
    ended = await read_plan(database, plan)
    assert (ended.state, ended.counters.runs_consumed) == (ProposalState.CANCELLED, has_begun)
    assert await balance(database, plan) == (0 if has_begun else 3 * PER_RUN)


@pytest.mark.parametrize("has_begun", [False, True])
async def test_leg_of_a_dead_process_is_given_back_after_the_cancellation_and_ends_the_plan(
    database: Database, clock: ManualClock, has_begun: bool
) -> None:
    """Else the cancellation waits for a leg whose end brings it, and has ended it itself."""
    plan, journal = await three_legs(database, clock, has_begun=has_begun)
    await build(journal, database, SOON)  # its process dies here
    released: list[int] = []

    async def release_meanwhile() -> None:
        released.append(await release(database, LOST))

    await cancel(database, plan, release_meanwhile, LOST)
    assert released == [0]
    assert (await read_plan(database, plan)).is_cancelling
    assert await release(database, LOST) == 1
    again = await build(journal_of(database, clock, LOST), database, LOST)
    assert await journal.stop(again, PLAN_STOPPED) is not None
    ended = await read_plan(database, plan)
    assert (ended.state, ended.counters.runs_consumed) == (ProposalState.CANCELLED, has_begun)
    assert await balance(database, plan) == (0 if has_begun else 3 * PER_RUN)
    assert all(row["finished_at"] for row in await read_runs(database, plan))


async def test_leg_whose_plan_is_cancelled_while_it_stops_is_not_left_waiting(
    database: Database, clock: ManualClock
) -> None:
    """The journal decides by the plan that it locks."""
    plan, journal = await begun(database, clock)
    run = await build(journal, database, SOON)
    stopping: list[asyncio.Task[Run | None]] = []

    async def stop_meanwhile() -> None:
        upgraded = PauseReason.TARGET_UPGRADED
        stopping.append(asyncio.create_task(journal.stop(run, upgraded.value, upgraded)))
        await until_lock_is_waited_for(database)

    await cancel(database, plan, stop_meanwhile)
    await stopping[0]
    assert await states(database, plan) == ["succeeded", "skipped", "skipped"]
    assert (await read_plan(database, plan)).state is ProposalState.CANCELLED


@pytest.mark.parametrize("is_resumed", [False, True])
@pytest.mark.parametrize("legs", [1, 3])
async def test_run_whose_plan_is_resumed_while_it_stops_is_made_and_else_withdrawn(
    database: Database, clock: ManualClock, is_resumed: bool, legs: int
) -> None:
    """Its envelope died while the plan was paused; its other legs wait, and are charged."""
    plan = await begin(database, once(legs=legs, on_leg_error=CONTINUE).but(auth_limit=30))
    journal = journal_of(database, clock, SOON)
    run = await build(journal, database, SOON)
    attempt = attempt_of(run, 50)
    sent = await journal.record_attempt(run, attempt, b"sealed")
    assert isinstance(sent, Run)
    await move(database, plan, ProposalTrigger.PAUSE, SOON)
    dead = RunEnd(EndedAttempt(attempt, AttemptOutcome.DEAD))
    later = replace(sent.without_channel(), due_at=SOON)
    assert await journal.move(sent, RunTrigger.RETRY, later, dead) is not None
    run = await build(journal, database, SOON)
    if is_resumed:
        async with database.transaction() as db:
            locked = await lock(db, plan.terms.id)
            stopping = asyncio.create_task(journal.stop(run, PLAN_STOPPED))
            await until_lock_is_waited_for(database)
            facts = ProposalFacts(runs_left=locked.counters.runs_left)
            await move_plan(db, locked, ProposalTrigger.RESUME, facts, now=SOON)
        await stopping
        for _ in range(legs):
            await succeed(journal, await build(journal, database, SOON))
        assert await states(database, plan) == ["succeeded"] * legs
    else:
        await journal.stop(run, PLAN_STOPPED)
        assert await states(database, plan) == ["skipped"] * legs
    assert (await read_plan(database, plan)).counters.runs_consumed == is_resumed


async def test_run_that_a_pause_has_cut_short_is_not_sent_after_the_resume(
    database: Database, clock: ManualClock
) -> None:
    """Its other legs are withdrawn: the owner would pay for a run of which one leg is made."""
    plan, journal = await three_legs(database, clock, has_begun=False)
    run = await build(journal, database, SOON)
    await move(database, plan, ProposalTrigger.PAUSE, SOON)
    await move(database, plan, ProposalTrigger.RESUME, SOON)
    recorded = await journal.record_attempt(run, attempt_of(run, 1), b"sealed")
    assert recorded is AttemptRecording.PLAN_STOPPED
    await journal.stop(run, PLAN_STOPPED)
    now = await read_plan(database, plan)
    assert await balance(database, plan) + now.counters.credit.held == 3 * PER_RUN


@pytest.mark.parametrize("legs", [1, 3])
async def test_control_run_that_no_pause_has_cut_short_is_sent(
    database: Database, clock: ManualClock, legs: int
) -> None:
    draft = once(legs=legs, on_leg_error=CONTINUE).but(auth_limit=30)
    plan = await begin(database, draft)
    journal = journal_of(database, clock, SOON)
    for _ in range(legs):
        await succeed(journal, await build(journal, database, SOON))
    assert await states(database, plan) == ["succeeded"] * legs


async def test_leg_of_a_run_that_was_charged_while_it_was_built_asks_for_no_new_quote(
    database: Database, clock: ManualClock
) -> None:
    """The pause charged it; the paid runs behind it are not sold again."""
    rule = LatenessRule(MissedRuns.SKIP, timedelta(hours=1))
    draft = draft_plan(legs=3).but(on_leg_error=CONTINUE, auth_limit=60, run_limit=3, rule=rule)
    plan = await begin(database, draft, 3)
    journal = journal_of(database, clock, START)
    await succeed(journal, await build(journal, database, START))
    run = await build(journal, database, START)
    await move(database, plan, ProposalTrigger.PAUSE, START)
    await move(database, plan, ProposalTrigger.RESUME, START)
    await refuse(journal, run)
    now = await read_plan(database, plan)
    assert (now.state, now.counters.runs_left) == (ProposalState.ACTIVE, 2)
    assert await balance(database, plan) == 0


async def test_plan_that_is_paid_beside_a_pass_of_the_upkeep_does_not_expire(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of overdue plans is read before the lock."""
    plan = await propose(database)
    clock.turn(timedelta(days=2).total_seconds())

    async def list_and_pay(
        db: Connection, network: Network, *, after: OverduePlan | None, now: datetime, limit: int
    ) -> list[OverduePlan]:
        async with database.transaction() as other:
            locked = await lock(other, plan.terms.id)
            waive = ProposalTrigger.WAIVE_PAYMENT
            facts = ProposalFacts(price_is_zero=True)
            await move_plan(other, locked, waive, facts, now=now, credited=1)
        return [OverduePlan(plan.terms.id, now)]

    monkeypatch.setattr(proposal_store, "list_overdue", list_and_pay)
    await PlanUpkeep(Network.TESTNET, database, clock).run_once()
    assert (await read_plan(database, plan)).state is ProposalState.PAID


async def test_lease_of_a_new_holder_does_not_end_when_the_old_one_asks(
    database: Database, clock: ManualClock
) -> None:
    await begin(database, once())
    journal = journal_of(database, clock, SOON)
    run = await build(journal, database, SOON)
    run_or_why = await journal.record_attempt(run, attempt_of(run, 1), b"sealed")
    assert isinstance(run_or_why, Run)
    until = LOST + timedelta(seconds=60)
    async with database.transaction() as db:
        await claim_store.claim_unresolved(
            db, Network.TESTNET, count=1, holder="b", now=LOST, until=until
        )
        asking = asyncio.create_task(journal.look_later(run_or_why, timedelta(hours=1)))
        await until_lock_is_waited_for(database)
    assert await asking is None
    async with database.connection() as db:
        lease = await db.fetchrow("SELECT holder, until FROM automation_leases")
    assert lease is not None
    assert tuple(lease.values()) == ("b", until)


async def test_plan_that_its_owner_paused_waits_for_the_operator_when_a_run_is_abandoned(
    database: Database, clock: ManualClock
) -> None:
    plan = await begin(database, draft_plan())
    journal = journal_of(database, clock, START)
    run = await build(journal, database, START)
    attempt = attempt_of(run, 1)
    async with database.connection() as db:
        await db.execute(
            "INSERT INTO automation_channels"
            " (network, address, derivation_index, run_id, created_at)"
            " VALUES ('stellar:testnet', $1, 7, $2, clock_timestamp())",
            attempt.sent.source,
            run.id,
        )
    sent = await journal.record_attempt(run, attempt, b"sealed")
    assert isinstance(sent, Run)
    await move(database, plan, ProposalTrigger.PAUSE, START)
    lost = await journal.advance(sent, RunTrigger.LOSE_TRACK)
    assert lost is not None
    ended = EndedAttempt(attempt, AttemptOutcome.UNKNOWN, "outcome_unknown")
    gone = replace(lost, reason="outcome_unknown")
    assert await journal.move(lost, RunTrigger.ABANDON, gone, RunEnd(ended)) is not None
    paused = await read_plan(database, plan)
    assert (paused.state, paused.reason) == (ProposalState.PAUSED, "owner")
    async with database.connection() as db:
        with pytest.raises(AutomationRefused, match="the operator looks into it"):
            await check_may_resume(db, paused, START)
