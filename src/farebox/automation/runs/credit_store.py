"""Unused runs of a plan that ends, given back to its owner."""

from farebox.automation.plans.stored_plan import PlanTerms
from farebox.storage.pool import Connection


async def return_runs(db: Connection, terms: PlanTerms, unused: int) -> int:
    """Give the paid ones of `unused` runs back to the owner's credit; returns their number.

    Paid runs are those that the plan took from the credit, where every payment goes through; what a
    pending payment took is not the plan's yet. Runs that cost nothing are no credit.
    """
    returned = await db.fetchval(
        """
        WITH paid AS (
            SELECT -coalesce((SELECT sum(runs) FROM run_credits
                              WHERE proposal_id = $1 AND kind IN ('consume', 'return')), 0)
                 - coalesce((SELECT sum(from_credit) FROM automation_payments
                             WHERE proposal_id = $1 AND state = 'pending'), 0) AS runs)
        INSERT INTO run_credits (owner, network, kind, runs, proposal_id)
        SELECT $2, $3, 'return', least($4::bigint, runs), $1 FROM paid
        WHERE least($4::bigint, runs) > 0
        RETURNING runs
        """,
        terms.id,
        terms.owner,
        terms.network.value,
        unused,
    )
    return int(returned or 0)
