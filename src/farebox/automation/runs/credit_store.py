"""What a plan holds and does not use, given back to its owner."""

from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.runs.event_store import add_event
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.storage.pool import Connection


async def return_credit(
    db: Connection, terms: PlanTerms, asset: Address, amount: BaseUnits
) -> None:
    """Add an amount to the owner's credit."""
    await db.execute(
        """
        INSERT INTO run_credits (owner, network, kind, asset, amount, proposal_id)
        VALUES ($1, $2, 'return', $3, $4, $5)
        """,
        terms.owner,
        terms.network.value,
        asset,
        amount,
        terms.id,
    )
    await add_event(db, terms.id, "credit.returned", {"amount": str(amount), "asset": asset})
