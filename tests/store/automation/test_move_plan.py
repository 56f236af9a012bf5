"""The life of a plan in rows: pause, resume, cancellation, expiry, and what becomes of its runs."""

from dataclasses import replace
from datetime import timedelta

import pytest

from farebox.automation.execution import plan_upkeep
from farebox.automation.execution.plan_upkeep import PlanUpkeep
from farebox.automation.plans import proposal_store
from farebox.automation.plans.plan_credit import PlanCredit
from farebox.automation.plans.proposal_state import (
    ProposalFacts,
    ProposalState,
    ProposalTrigger,
)
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.refusal import AutomationRefused
from farebox.automation.runs import claim_store, run_store
from farebox.automation.runs.materialise import materialise
from farebox.automation.runs.run import Run
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.automation import (
    DELEGATES,
    RUNS,
    activate,
    draft_plan,
    lock,
    move,
    put_plan,
    read_plan,
    read_runs,
)
from support.journal_rows import ASSET
from support.manual_clock import START, ManualClock


async def claim(database: Database) -> Run:
    async with database.connection() as db:
        (run,) = await claim_store.claim_due(
            db,
            Network.TESTNET,
            count=1,
            holder="one",
            now=START,
            until=START + timedelta(seconds=60),
        )
    return run


async def states(database: Database, plan: StoredPlan) -> list[str]:
    return [row["state"] for row in await read_runs(database, plan)]


async def kinds(database: Database, plan: StoredPlan) -> list[str]:
    async with database.connection() as db:
        rows = await db.fetch(
            "SELECT number, kind FROM automation_events WHERE proposal_id = $1 ORDER BY number",
            plan.terms.id,
        )
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
    return [row["kind"] for row in rows]


async def test_plan_has_two_runs_ahead_and_one_of_them_due(database: Database) -> None:
    plan = await activate(database)
    rows = await read_runs(database, plan)
    assert [row["run_index"] for row in rows] == [0, 1]
    assert [row["due_at"] for row in rows] == [START, None]
    assert await kinds(database, plan) == ["plan.waive_payment", "plan.activate"]


async def test_pause_withdraws_the_waiting_runs_and_resume_makes_others(
    database: Database,
) -> None:
    plan = await activate(database)
    paused = await move(database, plan, ProposalTrigger.PAUSE, ProposalFacts(), reason="owner")
    assert (paused.state, paused.reason) == (ProposalState.PAUSED, "owner")
    assert await states(database, plan) == ["skipped"], "only what was due"
    resumed = await move(
        database, plan, ProposalTrigger.RESUME, ProposalFacts(runs_left=RUNS), reason="owner"
    )
    assert resumed.counters.runs_left == RUNS, "what was withdrawn is not charged"
    rows = await read_runs(database, plan)
    assert [row["run_index"] for row in rows] == [0, 1, 2]
    assert [row["state"] for row in rows[1:]] == ["scheduled"] * 2
    assert rows[1]["scheduled_for"] == START + timedelta(seconds=60), "no due time is lost"


async def test_cancelled_plan_returns_its_runs_and_ends(database: Database) -> None:
    plan = await activate(database)
    ended = await move(database, plan, ProposalTrigger.CANCEL, ProposalFacts(), reason="owner")
    assert ended.state is ProposalState.CANCELLED
    assert ended.counters.runs_credited == 0
    assert await states(database, plan) == ["skipped"] * 2
    with pytest.raises(AutomationRefused):
        await move(
            database, plan, ProposalTrigger.RESUME, ProposalFacts(runs_left=RUNS), reason="owner"
        )


async def test_plan_with_a_run_in_progress_is_cancelled_after_it(database: Database) -> None:
    plan = await activate(database)
    run = await claim(database)
    facts = ProposalFacts(has_unresolved_run=True)
    marked = await move(database, plan, ProposalTrigger.CANCEL, facts, reason="owner")
    assert (marked.state, marked.is_cancelling) == (ProposalState.ACTIVE, True)
    assert not marked.may_run, "no attempt is recorded any more"
    async with database.connection() as db:
        assert await run_store.lock_due_run(db, plan.terms.id)
        assert run.proposal_id == plan.terms.id


async def test_upkeep_expires_each_state_at_its_own_time(
    database: Database, clock: ManualClock
) -> None:
    async with database.transaction() as db:
        unpaid = await put_plan(db, draft_plan())
    short = draft_plan()
    window = replace(short.terms.window, not_after=START + timedelta(hours=1))
    active = await activate(database, short.but(window=window))
    upkeep = PlanUpkeep(Network.TESTNET, database, clock)
    await upkeep.run_once()
    assert (await read_plan(database, active)).state is ProposalState.ACTIVE
    clock.turn(3_601)
    await upkeep.run_once()
    assert (await read_plan(database, active)).state is ProposalState.EXPIRED
    assert (await read_plan(database, unpaid)).state is ProposalState.PROPOSED
    clock.turn(24 * 3_600)
    await upkeep.run_once()
    expired = await read_plan(database, unpaid)
    assert expired.state is ProposalState.EXPIRED
    assert expired.delegate_key is None, "the key of a plan that was never paid is shredded"
    assert DELEGATES.sign(expired, bytes(32)) is None
    assert await states(database, active) == ["skipped"] * 2


async def test_upkeep_leaves_a_plan_whose_run_is_in_progress(
    database: Database, clock: ManualClock
) -> None:
    plan = await activate(database)
    await claim(database)
    clock.turn(31 * 24 * 3_600)
    await PlanUpkeep(Network.TESTNET, database, clock).run_once()
    assert (await read_plan(database, plan)).state is ProposalState.ACTIVE


async def test_what_a_plan_holds_becomes_credit_of_the_owner_once(database: Database) -> None:
    plan = await activate(database)
    held = PlanCredit(ASSET, BaseUnits(400), Stroops(1), BaseUnits(50), Stroops(9))
    async with database.transaction() as db:
        counters = replace(plan.counters, credit=held)
        await proposal_store.write_counters(db, plan.terms.id, counters)
    await move(database, plan, ProposalTrigger.CANCEL, ProposalFacts(), reason="owner")
    async with database.connection() as db:
        rows = await db.fetch("SELECT kind, asset, amount FROM run_credits ORDER BY id")
    assert [tuple(row) for row in rows] == [("return", ASSET, 450)]
    left = (await read_plan(database, plan)).counters.credit
    assert (left.held, left.setup_held, left.setup_left) == (0, 0, 0)


@pytest.mark.parametrize(
    ("mode", "expected"), [(AuthorityMode.PRESIGNED, [5, 6]), (AuthorityMode.OPEN, [2, 3])]
)
async def test_due_times_that_were_skipped_keep_the_numbers_of_their_entries(
    database: Database, mode: AuthorityMode, expected: list[int]
) -> None:
    """An entry is signed for one due time: the run after an outage has the entry of its own."""
    plan = await activate(database, draft_plan().but(mode=mode))
    async with database.transaction() as db:
        await db.execute(
            "UPDATE automation_runs SET state = 'missed', due_at = NULL, finished_at = now()"
        )
        locked = await lock(db, plan.terms.id)
        assert await materialise(db, locked, START + timedelta(seconds=5 * 60))
    open_runs = [row for row in await read_runs(database, plan) if row["finished_at"] is None]
    assert [row["run_index"] for row in open_runs] == expected
    assert open_runs[0]["scheduled_for"] == START + timedelta(seconds=5 * 60)


async def test_overdue_plan_that_cannot_expire_keeps_no_other_waiting(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One has a run in progress, one a row that cannot be read; a batch is a single plan."""
    monkeypatch.setattr(plan_upkeep, "_BATCH", 1)
    busy, broken, last = [await activate(database) for _ in range(3)]
    async with database.connection() as db:
        await db.execute(
            "UPDATE automation_proposals SET overdue_at = $1", START - timedelta(seconds=1)
        )
        await db.execute(
            "UPDATE automation_proposals SET overdue_at = $2, expires_at = $2 WHERE id = $1",
            last.terms.id,
            START,
        )
        await db.execute(
            "UPDATE automation_runs SET state = 'claimed' WHERE proposal_id = $1 AND run_index = 0",
            busy.terms.id,
        )
        await db.execute(
            "UPDATE automation_proposals SET schedule = '{}' WHERE id = $1", broken.terms.id
        )
    upkeep = PlanUpkeep(Network.TESTNET, database, ManualClock())
    for _ in range(3):
        await upkeep.run_once()
    assert (await read_plan(database, last)).state is ProposalState.EXPIRED
    assert (await read_plan(database, busy)).state is ProposalState.ACTIVE
