"""Plans that wait for what their owner installs, and the owner's signature below it."""

from dataclasses import replace

from farebox.automation.lifecycle.installations import SignedInstallation
from farebox.automation.plan_body import PlanSessionBody
from farebox.automation.plans.proposal_state import ProposalFacts, ProposalState, ProposalTrigger
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.plans.wire import PlanKind
from farebox.automation.runs.move_plan import move_plan
from farebox.stellar.auth_entries import read_entry
from support.automation import PlanDraft, put_plan, waive_price
from support.automation_world import soon
from support.session_desk import SessionDesk
from testing.owner_calls import Entry, Sign


async def paid(desk: SessionDesk, draft: PlanDraft) -> StoredPlan:
    """A plan that waits for its session."""
    async with desk.world.database.transaction() as db:
        plan = await put_plan(db, draft, now=soon())
        return await waive_price(db, plan, draft.runs, now=soon())


async def feeding(
    desk: SessionDesk, mode: AuthorityMode = AuthorityMode.MANDATE, account: str | None = None
) -> StoredPlan:
    """A plan that feeds the keeper, and waits for its session."""
    return await paid(desk, desk.draft(PlanKind.CONTRACT_CALL, desk.feed(), mode, account=account))


async def cancel(desk: SessionDesk, plan: StoredPlan) -> None:
    """Cancel a plan that is active."""
    async with desk.world.database.transaction() as db:
        await move_plan(
            db,
            replace(plan, state=ProposalState.ACTIVE),
            ProposalTrigger.CANCEL,
            ProposalFacts(),
            now=soon(),
        )


async def begin(desk: SessionDesk, plan: StoredPlan) -> None:
    """Activate a plan whose session was read back."""
    async with desk.world.database.transaction() as db:
        facts = ProposalFacts(runs_left=1)
        await move_plan(db, plan, ProposalTrigger.ACTIVATE, facts, now=soon())
        await db.execute("UPDATE automation_sessions SET state = 'installed'")


def signed(material: PlanSessionBody, sign: Sign) -> SignedInstallation:
    """The material's entry, as a wallet signs it."""
    assert material.install is not None
    (issued,) = material.install.entries
    entry = sign(Entry.from_xdr(issued.entry_xdr), issued.expiration_ledger)
    return SignedInstallation((read_entry(entry.to_xdr_bytes()),))
