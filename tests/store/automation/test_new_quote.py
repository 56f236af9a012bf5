"""A plan that pauses for a new quote: what it is charged, what is for sale, what runs again."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import pytest

from farebox.automation.credits import credit_payment
from farebox.automation.execution.execute_run import paid_limit
from farebox.automation.paymaster.budget_store import AutomationBudgets
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans.proposal_state import PauseReason, ProposalFacts, ProposalTrigger
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.plans.wire import OnLegError
from farebox.automation.refusal import AutomationRefused
from farebox.automation.runs import claim_store, run_store
from farebox.automation.runs.materialise import count_free, find_next
from farebox.automation.runs.move_plan import move_plan
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Attempt, AttemptOutcome, Run
from farebox.automation.runs.run_end import EndedAttempt, RunEnd
from farebox.automation.runs.run_journal import RunJournal
from farebox.automation.runs.run_state import RunTrigger
from farebox.automation.schedules.missed_runs import LatenessRule, MissedRuns
from farebox.automation.schedules.schedule import IntervalSchedule, OnceSchedule
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.automation import DELEGATES, PlanDraft, draft_plan, lock, move, read_plan, read_runs
from support.claims import signed_envelope
from support.journal_rows import party
from support.manual_clock import START, ManualClock
from support.run_payments import FEE, PER_RUN, balance, pay, present, propose, quote_of

DEAR: Final = Stroops(60_000)
BUDGETS: Final = AutomationBudgets(total=Stroops(10**9), owner=Stroops(10**9))
SOON: Final = START + timedelta(minutes=10)


async def begin(database: Database, draft: PlanDraft, runs: int | None = None) -> StoredPlan:
    """A plan whose runs are paid at the fee of the tests, and that is active."""
    plan = await propose(database, draft)
    await pay(database, plan, runs)
    return await move(database, plan, ProposalTrigger.ACTIVATE)


async def build(journal: RunJournal, database: Database, now: datetime) -> Run:
    """Claim the run that is due, up to the step that builds it."""
    until = now + timedelta(minutes=1)
    async with database.connection() as db:
        (claimed,) = await claim_store.claim_due(
            db, Network.TESTNET, count=1, holder="a", now=now, until=until
        )
    begun = await journal.begin(claimed)
    assert begun is not None
    building = await journal.advance(begun[0], RunTrigger.CHECK_ACCEPTED)
    assert building is not None
    return building


async def succeed(journal: RunJournal, run: Run) -> None:
    inner = (1_000 + run.leg_index).to_bytes(32)
    source = party(run.leg_index + 1)
    sent = signed_envelope(run.leg_index + 1, source=source, fee=900, inner_hash=inner)
    attempt = Attempt(run.id, run.attempts + 1, sent, None, 1, START.date())
    recorded = await journal.record_attempt(run, attempt, b"sealed")
    assert isinstance(recorded, Run)
    ended = EndedAttempt(attempt, AttemptOutcome.SUCCESS, None, Stroops(900))
    await journal.move(recorded, RunTrigger.SUCCEED, recorded, RunEnd(ended))


async def refuse(journal: RunJournal, run: Run) -> None:
    """A transaction of the run costs more than its price covers."""
    code = replace(run, error_class=ErrorClass.ADMISSION, error_code="fee_above_quote")
    end = RunEnd(pause=PauseReason.NEW_QUOTE, fee_now=DEAR)
    assert await journal.move(run, RunTrigger.REFUSE, code, end) is not None


async def top_up(database: Database, plan: StoredPlan, at: datetime) -> None:
    quote = await quote_of(database, plan, runs=1, is_top_up=True, now=at)
    await present(database, quote, at=at)


def once(**changes: object) -> PlanDraft:
    draft = draft_plan().but(schedule=OnceSchedule(SOON), run_limit=1, auth_limit=1)
    return draft.but(rule=LatenessRule(MissedRuns.SKIP, timedelta(hours=1)), **changes)


def until(minutes: int, rule: MissedRuns) -> PlanDraft:
    """A plan whose runs are due every minute, for so long."""
    window = PlanWindow(START - timedelta(seconds=1), START + timedelta(minutes=minutes))
    lateness = LatenessRule(rule, timedelta(seconds=30))
    return draft_plan().but(window=window, rule=lateness, run_limit=100, auth_limit=100)


@pytest.mark.parametrize("refused_leg", [1, 2])
async def test_legs_of_a_run_keep_the_fee_it_was_sold_at_where_a_later_one_costs_more(
    database: Database, clock: ManualClock, refused_leg: int
) -> None:
    """Else one success of a cheap run lets all its other legs be repeated at the dear price."""
    draft = draft_plan(legs=3).but(on_leg_error=OnLegError.CONTINUE, auth_limit=30)
    plan = await begin(database, draft)
    journal = RunJournal(database, clock, DELEGATES, BUDGETS)
    for _ in range(refused_leg):
        await succeed(journal, await build(journal, database, START))
    await refuse(journal, await build(journal, database, START))
    legs = [row for row in await read_runs(database, plan) if row["run_index"] == 0]
    assert [row["charged_fee"] for row in legs] == [FEE] * 3
    paused = await read_plan(database, plan)
    assert paused.counters.credit.run_fee == DEAR, "what the next runs are sold at"
    assert (paused.counters.runs_left, paused.counters.runs_consumed) == (0, 1)
    async with database.connection() as db:
        await db.execute("UPDATE automation_runs SET is_charged = true")
        run = (await run_store.list_legs(db, plan.terms.id, 0))[refused_leg]
    assert paid_limit(run, paused) == 3 * FEE


async def test_single_run_that_costs_too_much_is_made_once_its_new_price_is_paid(
    database: Database, clock: ManualClock
) -> None:
    plan = await begin(database, once())
    journal = RunJournal(database, clock, DELEGATES, BUDGETS)
    await refuse(journal, await build(journal, database, SOON))
    paused = await read_plan(database, plan)
    assert (paused.reason, await read_runs(database, plan)) == ("new_quote", [])
    assert await balance(database, plan) == PER_RUN
    await top_up(database, plan, SOON)
    async with database.transaction() as db:
        locked = await lock(db, plan.terms.id)
        counters = replace(locked.counters, runs_credited=1)
        facts = ProposalFacts(runs_left=1)
        resume = ProposalTrigger.RESUME
        await move_plan(db, replace(locked, counters=counters), resume, facts, now=SOON)
    (row,) = await read_runs(database, plan)
    assert (row["run_index"], row["scheduled_for"], row["state"]) == (0, SOON, "scheduled")


async def test_control_run_that_was_sent_keeps_its_due_time(
    database: Database, clock: ManualClock
) -> None:
    plan = await begin(database, once(legs=2, on_leg_error=OnLegError.CONTINUE))
    journal = RunJournal(database, clock, DELEGATES, BUDGETS)
    await succeed(journal, await build(journal, database, SOON))
    await refuse(journal, await build(journal, database, SOON))
    states = [row["state"] for row in await read_runs(database, plan)]
    assert states == ["succeeded", "failed"]
    with pytest.raises(AutomationRefused) as refused:
        await top_up(database, plan, SOON)
    assert refused.value.code == "session_expires_too_soon"


async def test_runs_that_waited_behind_one_that_costs_too_much_are_made_again(
    database: Database, clock: ManualClock
) -> None:
    plan = await begin(database, until(60, MissedRuns.CATCH_UP_ALL))
    journal, now = RunJournal(database, clock, DELEGATES, BUDGETS), START + timedelta(minutes=5)
    clock.turn(300)
    await succeed(journal, await build(journal, database, now))
    async with database.connection() as db:  # the interval since the run before has passed
        await db.execute("UPDATE automation_runs SET due_at = $1 WHERE due_at IS NOT NULL", now)
    await refuse(journal, await build(journal, database, now))
    assert [row["run_index"] for row in await read_runs(database, plan)] == [0]
    async with database.connection() as db:
        following = await find_next(db, plan.terms, now)
    assert following is not None
    assert (following.place, following.scheduled_for) == ((1, 0), START + timedelta(minutes=1))


async def test_no_more_runs_are_sold_than_due_times_are_left(database: Database) -> None:
    """Two of the eight due times have a run, whose payment is unused."""
    for rule in MissedRuns:
        plan = await begin(database, until(8, rule), runs=3)
        async with database.transaction() as db:
            locked = await lock(db, plan.terms.id)
            free = await count_free(db, locked, START, most=100)
            assert free == 8 - 3
            await credit_payment.check_due(db, locked, runs=1, at=START)
            with pytest.raises(AutomationRefused) as refused:
                await credit_payment.check_due(db, locked, runs=6, at=START)
            assert refused.value.code == "limit_exceeded"


async def test_nothing_is_sold_once_every_due_time_has_its_run(database: Database) -> None:
    """The newest run is over, and may land late: its due time is no other run's."""
    for rule in MissedRuns:
        draft = until(5, rule).but(schedule=IntervalSchedule(every_seconds=600, start_at=START))
        lateness = LatenessRule(rule, timedelta(minutes=4))
        plan = await begin(database, draft.but(rule=lateness))
        async with database.connection() as db:
            await db.execute(
                "UPDATE automation_runs SET state = 'failed', due_at = NULL, finished_at = now()"
            )
            await db.execute("UPDATE automation_proposals SET runs_credited = 0")
            assert await find_next(db, plan.terms, START) is None
        with pytest.raises(AutomationRefused) as refused:
            await top_up(database, plan, START)
        assert refused.value.code == "session_expires_too_soon"


async def test_entry_of_the_next_due_time_is_tried_and_no_more_are_sold_than_were_signed(
    database: Database,
) -> None:
    """Entries are numbered by due times: those of the pause are passed over."""
    draft = draft_plan().but(mode=AuthorityMode.PRESIGNED)
    plan = await begin(database, draft, runs=1)
    later = START + timedelta(minutes=7)
    async with database.transaction() as db:
        await db.execute(
            "UPDATE automation_runs SET state = 'missed', due_at = NULL, finished_at = now()"
        )
        await db.execute("UPDATE automation_proposals SET runs_credited = 0")
        locked = await lock(db, plan.terms.id)
        following = await find_next(db, plan.terms, later)
        assert following is not None
        assert (following.place, following.scheduled_for) == ((7, 0), later)
        assert await count_free(db, locked, later, most=100) == 3, "of ten entries, from the eighth"
