"""What a plan was charged for its setup, and what installing and closing take of it."""

from dataclasses import replace

from farebox.automation.paymaster import budget_store
from farebox.automation.paymaster.sponsored_store import (
    RowLost,
    SponsoredOutcome,
    SponsoredPurpose,
    SponsoredRow,
)
from farebox.automation.plans import proposal_store
from farebox.automation.plans.plan_credit import PlanCredit
from farebox.automation.plans.proposal_state import TERMINAL_STATES
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs.credit_store import return_credit
from farebox.kernel.amounts import NO_STROOPS, Stroops
from farebox.storage.pool import Connection


async def reserve(db: Connection, row: SponsoredRow) -> SponsoredRow:
    """Reserve the fee of a signed envelope from what its plan was charged; locks the plan.

    Returned is the row with what pays for it: the setup, else the owner's losses; a plan that is
    free has neither.

    Raises:
        RowLost: the plan has ended, and gets no installation any more.
    """
    plan = await proposal_store.lock_plan(db, row.proposal_id)
    is_install = row.purpose is SponsoredPurpose.INSTALL
    if plan is None or (is_install and plan.state in TERMINAL_STATES):
        raise RowLost
    credit = plan.counters.credit
    if credit.setup_left is None:
        return row
    reserved = credit.reserve_setup(row.charge().stroops)
    if reserved is None:
        is_new = await budget_store.is_new_owner(db, row.owner, row.network)
        return replace(row, is_new_owner=is_new)
    await _write(db, plan, reserved)
    return replace(row, is_prepaid=True)


async def end(
    db: Connection,
    plan: StoredPlan,
    row: SponsoredRow,
    outcome: SponsoredOutcome,
    fee: Stroops,
) -> None:
    """Give a locked plan back what a resolved envelope did not cost of its reservation.

    What an ended plan still holds for an installation that cost nothing is credit of its owner.
    """
    if not row.is_prepaid:
        return
    is_unknown = outcome is SponsoredOutcome.UNKNOWN
    unspent = NO_STROOPS if is_unknown else Stroops(row.charge().stroops - fee)
    is_spent = is_unknown or outcome is not SponsoredOutcome.DEAD
    credit = plan.counters.credit.end_setup(unspent, is_spent=is_spent)
    if plan.state in TERMINAL_STATES and credit.setup_held and credit.asset is not None:
        await return_credit(db, plan.terms, credit.asset, credit.setup_held)
        credit = credit.release_setup()
    await _write(db, plan, credit)


async def _write(db: Connection, plan: StoredPlan, credit: PlanCredit) -> None:
    counters = replace(plan.counters, credit=credit)
    await proposal_store.write_counters(db, plan.terms.id, counters)
