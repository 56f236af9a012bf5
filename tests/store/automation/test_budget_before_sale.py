"""What a preflight sees of the budgets: the same as the recording of an attempt would."""

from datetime import timedelta

from farebox.automation.paymaster import budget_store
from farebox.automation.paymaster.budget_store import AutomationBudgets, RunCharge
from farebox.automation.runs.run_journal import AttemptRecording, RunJournal
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.storage.pool import Database
from support.automation import DELEGATES, activate
from support.manual_clock import START, ManualClock

BUDGETS = AutomationBudgets(total=Stroops(20_000), owner=Stroops(0))  # 1,000 of all new owners


async def test_loss_limit_of_new_owners_that_others_have_used_up_is_seen_before_the_sale(
    database: Database, clock: ManualClock
) -> None:
    plan = await activate(database)
    journal, terms, day = RunJournal(database, clock, DELEGATES, BUDGETS), plan.terms, START.date()
    fee = Stroops(600)
    assert await journal.find_used_up(terms, fee, on=day) is None
    async with database.transaction() as db:
        other = RunCharge(terms.network, OwnerId("user_other"), day, fee, is_new_owner=True)
        assert await budget_store.reserve(db, other, BUDGETS) is None
    assert await journal.find_used_up(terms, fee, on=day) is AttemptRecording.LOSS_NEW
    assert await journal.find_used_up(terms, fee, on=day + timedelta(days=1)) is None
    async with database.connection() as db:
        rows = await db.fetch("SELECT stroops FROM automation_spend WHERE scope = 'new_owners'")
    assert [row["stroops"] for row in rows] == [fee], "a look reserves nothing"
