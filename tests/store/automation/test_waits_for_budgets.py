"""Runs that wait for a budget, and what is given back between the refusal and the wait."""

from datetime import timedelta

import pytest

from farebox.automation.execution.fail_run import RunFailures
from farebox.automation.paymaster import budget_store
from farebox.automation.paymaster.budget_store import AutomationBudgets, RunCharge
from farebox.automation.runs.run import Attempt
from farebox.automation.runs.run_journal import AttemptRecording, RunJournal
from farebox.kernel.amounts import Stroops
from farebox.storage.pool import Database
from store.automation.test_new_quote import begin, build
from support.automation import DELEGATES, draft_plan, read_runs
from support.claims import signed_envelope
from support.journal_rows import party
from support.manual_clock import START, ManualClock

FEE = Stroops(900)
BUDGETS = AutomationBudgets(total=Stroops(1_000), owner=Stroops(1_000))


@pytest.mark.parametrize("is_given_back", [True, False])
async def test_run_is_due_at_once_where_its_budget_was_given_back_before_it_waits(
    database: Database, clock: ManualClock, is_given_back: bool
) -> None:
    """Nothing wakes it: it did not wait when the budget was given back."""
    plan = await begin(database, draft_plan())
    journal = RunJournal(database, clock, DELEGATES, BUDGETS)
    run = await build(journal, database, START)
    day = START.date()
    other = RunCharge(run.network, run.owner, day, Stroops(200))
    async with database.transaction() as db:
        assert await budget_store.reserve(db, other, BUDGETS) is None
    sent = signed_envelope(1, source=party(1), fee=FEE, inner_hash=bytes(32))
    attempt = Attempt(run.id, 1, sent, None, 1, day)
    assert await journal.record_attempt(run, attempt, b"sealed") is AttemptRecording.BUDGET_OWNER
    if is_given_back:
        async with database.transaction() as db:
            await budget_store.give_back(db, other, cost=0, loss=0)
    code = AttemptRecording.BUDGET_OWNER.value
    waiting = await RunFailures(journal, clock).defer_for_budget(run, code, attempt)
    assert waiting is not None
    (due_at,) = [row["due_at"] for row in await read_runs(database, plan) if row["due_at"]]
    now = clock.now()
    assert due_at == now if is_given_back else due_at > now + timedelta(seconds=20)
