"""The ledger of paid runs: an owner's balance on a network is the sum of its rows.

A payment is a purchase, keyed by the payment; what a plan takes of the balance is a row below 0.
"""

from typing import Final

from farebox.automation.credits.run_payment import RunPayment
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

ONCE: Final = "run_credits_payment_id_key"  # the constraint by which a payment is credited once


async def lock_balance(db: Connection, owner: OwnerId, network: Network) -> int:
    """The balance, which no other transaction takes from until this one ends."""
    await db.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
        f"run credits {owner} {network.value}",
    )
    return await read_balance(db, owner, network)


async def read_balance(db: Connection, owner: OwnerId, network: Network) -> int:
    """The balance as of now."""
    runs: int = await db.fetchval(
        "SELECT coalesce(sum(runs), 0) FROM run_credits WHERE owner = $1 AND network = $2",
        owner,
        network.value,
    )
    return runs


async def list_balances(db: Connection, owner: OwnerId) -> list[tuple[Network, int]]:
    """The balances of an owner that are not 0, by network."""
    rows = await db.fetch(
        """
        SELECT network, sum(runs) AS runs FROM run_credits WHERE owner = $1
        GROUP BY network HAVING sum(runs) <> 0 ORDER BY network
        """,
        owner,
    )
    return [(Network(row["network"]), row["runs"]) for row in rows]


async def add_purchase(db: Connection, terms: PlanTerms, payment: RunPayment) -> None:
    """Add the runs that a payment bought.

    Raises:
        Conflict: the payment is credited already.
    """
    await db.execute(
        """
        INSERT INTO run_credits (owner, network, kind, runs, proposal_id, payment_id)
        VALUES ($1, $2, 'purchase', $3, $4, $5)
        """,
        terms.owner,
        terms.network.value,
        payment.quote.bought,
        terms.id,
        payment.id,
    )


async def take_runs(db: Connection, terms: PlanTerms, runs: int) -> None:
    """Take runs of the balance for a plan."""
    await _add(db, terms, "consume", -runs)


async def give_back(db: Connection, terms: PlanTerms, runs: int) -> None:
    """Give the owner back what a payment took for a plan and the plan did not get."""
    await _add(db, terms, "return", runs)


async def _add(db: Connection, terms: PlanTerms, kind: str, runs: int) -> None:
    if runs == 0:
        return
    await db.execute(
        """
        INSERT INTO run_credits (owner, network, kind, runs, proposal_id)
        VALUES ($1, $2, $3, $4, $5)
        """,
        terms.owner,
        terms.network.value,
        kind,
        runs,
        terms.id,
    )
