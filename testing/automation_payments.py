"""Runs that a proof or a bench pays for: a quote, its payment, and the credits that it brings."""

import secrets
from datetime import datetime
from typing import Final

from stellar_sdk import Keypair

from farebox.automation.credits import credit_ledger, credit_payment, run_payment_store
from farebox.automation.credits.run_payment import RunPayment
from farebox.automation.plans import proposal_store
from farebox.automation.plans.quote import PriceList, QuotedFees, make_quote
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.storage.pool import Connection
from farebox.x402.reasons import Reason

EARLIER: Final = 1  # paid runs that the owner has left: the plan takes them first
PRICE: Final = BaseUnits(1_000)  # of a run


async def pay_for_runs(
    db: Connection, plan: StoredPlan, runs: int, *, asset: Address, now: datetime
) -> StoredPlan:
    """Pay for the runs of a locked plan that is not paid, and return it as it is then.

    The owner has a run of an earlier plan left; the others are bought. The payment is one
    that was claimed here and landed in a stranger's transaction.
    """
    terms = plan.terms
    await db.execute(
        "INSERT INTO run_credits (owner, network, kind, asset, amount)"
        " VALUES ($1, $2, 'grant', $3, $4)",
        terms.owner,
        terms.network.value,
        asset,
        EARLIER * PRICE,
    )
    balance = await credit_ledger.read_balance(db, terms.owner, terms.network, asset)
    prices = PriceList(asset, PRICE, BaseUnits(0), 0)
    revision = await run_payment_store.next_revision(db, terms.id)
    quote = make_quote(
        prices,
        runs=runs,
        legs=terms.legs,
        fees=QuotedFees(terms.max_fee),
        revision=revision,
        now=now,
        credit=balance,
    )
    quoted = await run_payment_store.add_quote(db, terms, quote, pay_to=None, is_top_up=False)
    payer = Address(Keypair.random().public_key)
    identity = PaymentIdentity(terms.network, payer, secrets.randbits(62))
    digest, tx_hash = secrets.token_bytes(32), secrets.token_bytes(32).hex()
    held = await credit_payment.reserve_payment(db, quoted, identity, digest, at=now)
    if held is None:
        raise LookupError(quoted.id)
    await _insert_settlement(db, held, tx_hash)
    await credit_payment.credit_payment(db, held, tx_hash, at=now)
    paid = await proposal_store.lock_plan(db, terms.id)
    if paid is None:
        raise LookupError(terms.id)
    return paid


async def _insert_settlement(db: Connection, held: RunPayment, tx_hash: str) -> None:
    """The journal's row of a payment that landed elsewhere after it was claimed."""
    if held.identity is None:
        raise LookupError(held.id)
    await db.execute(
        """
        INSERT INTO settlements (network, payer, nonce, state, claim_id, request_digest, claimed_at,
            asset, amount, pay_to, expires_at_ledger, max_timeout_s, reason, landed_hash,
            tx_hash, envelope, source, source_sequence, max_time, sent_after_ledger, finished_at,
            landed_at)
        VALUES ($1, $2, $3, 'failed', gen_random_uuid(), $4, now(), $5, $6, '', 0, 60, $7, $8, $8,
                '', '', 0, now(), 0, now(), now() + interval '1 second')
        """,
        *held.identity.row_key,
        held.request_digest,
        held.quote.asset,
        held.quote.total,
        Reason.FOREIGN_LANDING.value,
        bytes.fromhex(tx_hash),
    )
