"""Runs that a proof or a bench pays for: a quote, its payment, and the credits that it brings."""

import secrets
from datetime import datetime
from typing import Final

from stellar_sdk import Keypair

from farebox.automation.credits import credit_ledger, credit_payment, run_payment_store
from farebox.automation.credits.credit_payment import LandedPayment
from farebox.automation.plans import proposal_store
from farebox.automation.plans.quote import PriceList, make_quote
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.storage.pool import Connection

EARLIER: Final = 1  # paid runs that the owner has left: the plan takes them first
_PRICE: Final = BaseUnits(1_000)  # of a run
_FEE: Final = Stroops(100_000)


async def pay_for_runs(
    db: Connection, plan: StoredPlan, runs: int, *, asset: Address, now: datetime
) -> StoredPlan:
    """Pay for the runs of a locked plan that is not paid, and return it as it is then.

    The owner has a run of an earlier plan left; the others are bought. The payment is one that
    landed in a stranger's transaction, so that no settlement of ours stands for it.
    """
    terms = plan.terms
    await db.execute(
        "INSERT INTO run_credits (owner, network, kind, runs) VALUES ($1, $2, 'grant', $3)",
        terms.owner,
        terms.network.value,
        EARLIER,
    )
    balance = await credit_ledger.read_balance(db, terms.owner, terms.network)
    prices = PriceList(asset, _PRICE, BaseUnits(0), 0)
    revision = await run_payment_store.next_revision(db, terms.id)
    quote = make_quote(
        prices, runs=runs, fee_stroops=_FEE, revision=revision, now=now, credit=balance
    )
    quoted = await run_payment_store.add_quote(
        db, terms, quote, pay_to=None, fee=_FEE, is_top_up=False
    )
    payer = Address(Keypair.random().public_key)
    identity = PaymentIdentity(terms.network, payer, secrets.randbits(62))
    digest, tx_hash = secrets.token_bytes(32), secrets.token_bytes(32).hex()
    held = await credit_payment.reserve_payment(db, quoted, identity, digest, at=now)
    if held is None:
        raise LookupError(quoted.id)
    landed = LandedPayment(tx_hash, is_foreign=True)
    await credit_payment.credit_payment(db, held, landed, at=now)
    paid = await proposal_store.lock_plan(db, terms.id)
    if paid is None:
        raise LookupError(terms.id)
    return paid
