"""The ledger of credit: an owner's balance on a network is the sum of its rows, in each asset.

A payment is a purchase, keyed by the payment; what a plan takes of the balance is a row below 0.
Amounts are base units. Old rows also have a number of `runs`, which counts for nothing.
"""

from dataclasses import dataclass
from typing import Final

from farebox.automation.credits.run_payment import RunPayment
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.runs.credit_store import return_credit
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

ONCE: Final = "run_credits_payment_id_key"  # the constraint by which a payment is credited once


@dataclass(frozen=True, slots=True)
class CreditBalance:
    """What an owner has paid on a network in an asset, and no plan holds."""

    network: Network
    asset: Address
    amount: BaseUnits


async def lock_balance(
    db: Connection, owner: OwnerId, network: Network, asset: Address
) -> BaseUnits:
    """The balance, which no other transaction takes from until this one ends."""
    await db.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
        f"run credits {owner} {network.value}",
    )
    return await read_balance(db, owner, network, asset)


async def read_balance(
    db: Connection, owner: OwnerId, network: Network, asset: Address
) -> BaseUnits:
    """The balance as of now."""
    amount = await db.fetchval(
        """
        SELECT coalesce(sum(amount), 0) FROM run_credits
        WHERE owner = $1 AND network = $2 AND asset = $3
        """,
        owner,
        network.value,
        asset,
    )
    return BaseUnits(int(amount))


async def list_balances(db: Connection, owner: OwnerId) -> list[CreditBalance]:
    """The balances of an owner that are not 0, by network and asset."""
    rows = await db.fetch(
        """
        SELECT network, asset, sum(amount) AS amount FROM run_credits WHERE owner = $1
        GROUP BY network, asset HAVING sum(amount) <> 0 ORDER BY network, asset
        """,
        owner,
    )
    return [
        CreditBalance(Network(row["network"]), Address(row["asset"]), BaseUnits(int(row["amount"])))
        for row in rows
    ]


async def add_purchase(db: Connection, terms: PlanTerms, payment: RunPayment) -> None:
    """Add what a payment has paid.

    Raises:
        Conflict: the payment is credited already.
    """
    quote = payment.quote
    await _add(db, terms, "purchase", quote.asset, quote.total, payment_id=payment.id)


async def add_late_purchase(db: Connection, terms: PlanTerms, payment: RunPayment) -> None:
    """Add what a payment has paid whose quote was paid by another one meanwhile."""
    quote = payment.quote
    await _add(db, terms, "purchase", quote.asset, quote.total, note=_note(payment))


async def is_credited_late(db: Connection, owner: OwnerId, payment: RunPayment) -> bool:
    """Whether `add_late_purchase` has added a payment."""
    found: bool = await db.fetchval(
        """
        SELECT EXISTS (
            SELECT FROM run_credits WHERE owner = $1 AND network = $2 AND note = $3)
        """,
        owner,
        payment.network.value,
        _note(payment),
    )
    return found


async def take_credit(db: Connection, terms: PlanTerms, payment: RunPayment) -> None:
    """Take the credit of a quote from the balance."""
    quote = payment.quote
    if quote.credit:
        await _add(db, terms, "consume", quote.asset, -quote.credit)


async def take_purchase(db: Connection, terms: PlanTerms, payment: RunPayment) -> None:
    """Take what a payment has paid for its plan."""
    quote = payment.quote
    await _add(db, terms, "consume", quote.asset, -quote.total)


async def give_back(db: Connection, terms: PlanTerms, payment: RunPayment) -> None:
    """Give the owner back the credit of a quote, which the plan did not get."""
    quote = payment.quote
    if quote.credit:
        await return_credit(db, terms, quote.asset, quote.credit)


def _note(payment: RunPayment) -> str:
    digest = payment.request_digest or b""
    return f"payment of the request {digest.hex()}"


async def _add(
    db: Connection,
    terms: PlanTerms,
    kind: str,
    asset: Address,
    amount: int,
    *,
    payment_id: str | None = None,
    note: str | None = None,
) -> None:
    await db.execute(
        """
        INSERT INTO run_credits (owner, network, kind, asset, amount, proposal_id, payment_id, note)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        terms.owner,
        terms.network.value,
        kind,
        asset,
        amount,
        terms.id,
        payment_id,
        note,
    )
