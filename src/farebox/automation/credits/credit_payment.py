"""What a payment for runs changes, each in one transaction: reserved, credited, or refuted.

The plan's row is locked first. A payment is credited together with the success of its settlement
and the move of the plan, and once: its purchase in the ledger is keyed by it.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from farebox.automation.credits import credit_ledger, run_payment_store
from farebox.automation.credits.run_payment import RunPayment, RunPaymentState
from farebox.automation.plans.proposal_state import (
    ProposalEffect,
    ProposalFacts,
    ProposalTrigger,
)
from farebox.automation.plans.proposal_store import lock_plan
from farebox.automation.plans.proposal_transitions import may_move, move_proposal
from farebox.automation.plans.quote import Quote
from farebox.automation.plans.stored_plan import TIME_TO_START, StoredPlan
from farebox.automation.refusal import AutomationRefused, limit_exceeded
from farebox.automation.runs import run_store
from farebox.automation.runs.event_store import add_event
from farebox.automation.runs.materialise import count_free
from farebox.automation.runs.move_plan import move_plan
from farebox.facilitator.journal import store as journal_store
from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import OwnerId
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import NotFound
from farebox.storage.pool import Connection

HOLD_S: Final = 75.0  # as long as a settlement may take, with a margin
HELD_FOR: Final = timedelta(seconds=HOLD_S)


class SettlementTaken(Exception):
    """Another request has the settlement's one success; the transaction must be rolled back."""


async def check_payable(
    db: Connection, plan: StoredPlan, *, runs: int, is_top_up: bool, is_current: bool = True
) -> None:
    """Return if a locked plan takes a payment for so many runs now.

    Raises:
        AutomationRefused: its state, its limits, a payment in flight, or an outdated quote.
    """
    if await run_payment_store.find_pending(db, plan.terms.id) is not None:
        code = ErrorCode.PAYMENT_IN_FLIGHT
        raise AutomationRefused(code, code.sentence)
    credited = plan.counters.runs_credited
    facts = ProposalFacts(
        quote_is_current=is_current,
        is_cancelling=plan.is_cancelling,
        has_unresolved_run=await run_store.lock_due_run(db, plan.terms.id),
        top_up_fits_limits=credited + runs <= plan.terms.run_limit,
    )
    trigger = ProposalTrigger.OFFER_TOP_UP if is_top_up else ProposalTrigger.SUBMIT_PAYMENT
    move_proposal(plan.state, trigger, facts)
    if not is_current:
        raise AutomationRefused(ErrorCode.QUOTE_EXPIRED, ErrorCode.QUOTE_EXPIRED.sentence)
    if runs > plan.terms.run_limit:
        raise limit_exceeded("runs", f"The plan has {plan.terms.run_limit} runs.")


async def find_room(db: Connection, plan: StoredPlan, *, at: datetime) -> int:
    """How many runs a locked plan can buy: inside its limit, and due once they are paid."""
    most = max(0, plan.terms.run_limit - plan.counters.runs_credited)
    return await count_free(db, plan, at + TIME_TO_START, most=most) if most else 0


async def check_due(db: Connection, plan: StoredPlan, *, runs: int, at: datetime) -> None:
    """Return if so many more runs of a locked plan are due once they are paid.

    Raises:
        AutomationRefused: fewer, or none.
    """
    free = await count_free(db, plan, at + TIME_TO_START, most=runs)
    if not free:
        why = "No run is due any more, besides those that are paid."
        raise AutomationRefused(ErrorCode.SESSION_EXPIRES_TOO_SOON, why)
    if free < runs:
        raise limit_exceeded("runs", f"The plan ends after {free} more runs.")


def check_asset(plan: StoredPlan, quote: Quote) -> None:
    """Return if the quote is in the token that the plan holds, where it holds any.

    Raises:
        AutomationRefused: the operator sells runs for another token now.
    """
    credit = plan.counters.credit
    if (credit.held or credit.setup_held) and credit.asset != quote.asset:
        why = "Runs cost another token now: use or cancel those of the plan first."
        raise AutomationRefused(ErrorCode.ILLEGAL_TRANSITION, why)


async def reserve_payment(
    db: Connection,
    quoted: RunPayment,
    identity: PaymentIdentity,
    digest: bytes,
    *,
    at: datetime,
    is_sent: bool = False,
) -> RunPayment | None:
    """Bind a quote to a presented payment, take its credit and move the plan; the caller holds it.

    None where the quote changed meanwhile. `is_sent`: somebody has settled the payment, or settles
    it now, so that a quote that has become old counts.

    Raises:
        AutomationRefused: the plan does not take the payment now.
        Conflict: the presented payment is bound to another quote.
    """
    plan = await _lock(db, quoted)
    latest = await run_payment_store.find_latest(db, plan.terms.id)
    if latest is not None and latest.id == quoted.id and latest.state is not quoted.state:
        return None
    is_latest = latest is not None and latest.id == quoted.id
    quote, is_top_up = quoted.quote, quoted.is_top_up
    balance = await _lock_balance(db, plan, quote)
    is_current = is_sent or (is_latest and quote.is_current(at))
    is_current = is_current and quote.credit <= balance
    check_asset(plan, quote)
    if not is_sent:
        await check_due(db, plan, runs=1, at=at)
    await check_payable(db, plan, runs=quote.runs, is_top_up=is_top_up, is_current=is_current)
    held = await run_payment_store.reserve(db, quoted.id, identity, digest, held_for=HELD_FOR)
    if held is None:
        return None
    await credit_ledger.take_credit(db, plan.terms, held)
    if is_top_up:
        await add_event(db, plan.terms.id, "payment.pending", _shown(held))
    else:
        await move_plan(db, plan, ProposalTrigger.SUBMIT_PAYMENT, ProposalFacts(), now=at)
    return held


async def credit_payment(
    db: Connection, payment: RunPayment, tx_hash: str, *, at: datetime
) -> RunPayment:
    """Credit the runs of a landed payment, and move its plan.

    What the plan cannot use any more becomes credit of its owner. Where the payment was refuted
    while its call stood still, its credit has been given back: it is taken again, or the plan gets
    nothing and the owner has what was paid.

    Raises:
        Conflict: the payment is credited already.
        SettlementTaken: another request has the settlement's success.
    """
    plan = await _lock(db, payment)
    row, owner = await run_payment_store.find_payment(db, payment.id), plan.terms.owner
    if payment.request_digest is None or not row.is_paid_by(payment.request_digest):
        return await _credit_late(db, plan, payment, row, tx_hash, at)
    trigger, quote = _confirmation(payment), payment.quote
    effects = move_proposal(plan.state, trigger, ProposalFacts()).effects
    is_late = row.state is not RunPaymentState.PENDING
    is_taken = not is_late or await _takes_late(db, plan, quote, effects)
    await credit_ledger.add_purchase(db, plan.terms, payment)
    await _take_success(db, payment, owner, at)
    confirmed = await run_payment_store.mark_confirmed(db, row, tx_hash)
    await add_event(db, plan.terms.id, "payment.confirmed", _shown(confirmed))
    if not is_taken:
        return confirmed
    if is_late:
        await credit_ledger.take_credit(db, plan.terms, payment)
    if ProposalEffect.CREDIT_RUNS in effects:
        await credit_ledger.take_purchase(db, plan.terms, payment)
    else:
        await credit_ledger.give_back(db, plan.terms, payment)
    await move_plan(db, plan, trigger, ProposalFacts(), now=at, credited=quote.runs, paid=quote)
    return confirmed


async def _takes_late(
    db: Connection, plan: StoredPlan, quote: Quote, effects: Collection[ProposalEffect]
) -> bool:
    """Whether a locked plan takes the runs of a payment that was refuted, at its whole price."""
    credit, credited = plan.counters.credit, plan.counters.runs_credited
    is_covered = quote.credit <= await _lock_balance(db, plan, quote)
    is_other_asset = (credit.held or credit.setup_held) and credit.asset != quote.asset
    fits = not is_other_asset and credited + quote.runs <= plan.terms.run_limit
    return is_covered and fits and ProposalEffect.CREDIT_RUNS in effects


async def _credit_late(
    db: Connection,
    plan: StoredPlan,
    payment: RunPayment,
    row: RunPayment,
    tx_hash: str,
    at: datetime,
) -> RunPayment:
    """Give the owner what a payment has paid whose quote was taken by another one meanwhile."""
    await _take_success(db, payment, plan.terms.owner, at)
    await credit_ledger.add_late_purchase(db, plan.terms, payment)
    told = _shown(replace(payment, tx_hash=tx_hash))
    await add_event(db, plan.terms.id, "payment.confirmed", told)
    return row


async def credit_unpaid(
    db: Connection, plan: StoredPlan, quoted: RunPayment, *, at: datetime
) -> RunPayment:
    """Credit runs that are free, or that the owner's credit covers, to a locked plan.

    Raises:
        AutomationRefused: the credit is used meanwhile, or the plan does not take it.
    """
    if quoted.quote.credit > await _lock_balance(db, plan, quoted.quote):
        raise AutomationRefused(ErrorCode.QUOTE_EXPIRED, ErrorCode.QUOTE_EXPIRED.sentence)
    await credit_ledger.take_credit(db, plan.terms, quoted)
    confirmed = await run_payment_store.mark_confirmed(db, quoted, "")
    waived = ProposalTrigger.WAIVE_PAYMENT
    trigger = ProposalTrigger.CONFIRM_TOP_UP if quoted.is_top_up else waived
    facts = ProposalFacts(price_is_zero=quoted.is_free)
    await add_event(db, plan.terms.id, "payment.confirmed", _shown(confirmed))
    quote = quoted.quote
    await move_plan(db, plan, trigger, facts, now=at, credited=quote.runs, paid=quote)
    return confirmed


async def refute_payment(
    db: Connection,
    held: RunPayment,
    *,
    failure: str,
    tx_hash: str = "",
    is_over: bool,
    at: datetime,
) -> RunPayment:
    """Record that a held payment did not pay, and give its credit back; the payment as it is now.

    `is_over`: its quote cannot be paid any more, and the next one has another revision.
    """
    plan = await _lock(db, held)
    refuted = await run_payment_store.mark_refuted(
        db, held, tx_hash=tx_hash, failure=failure, is_over=is_over
    )
    if refuted is None:
        return await run_payment_store.find_payment(db, held.id)
    await credit_ledger.give_back(db, plan.terms, held)
    await add_event(db, plan.terms.id, "payment.failed", _shown(refuted) | {"reason": failure})
    facts, trigger = ProposalFacts(), ProposalTrigger.REFUTE_PAYMENT
    if not held.is_top_up and may_move(plan.state, trigger, facts):
        await move_plan(db, plan, trigger, facts, now=at)
    return refuted


async def _take_success(db: Connection, payment: RunPayment, owner: OwnerId, at: datetime) -> None:
    """Take the one success of the settlement, in the name of this payment.

    An owner who had sent the same request to `/settle` was told the success there. No seller but
    the owner has relied on it, so that it pays for the runs too; they are credited once by the
    payment's identity.

    Raises:
        SettlementTaken: another request has it.
    """
    if payment.identity is None or payment.request_digest is None:
        raise ValueError("only a presented payment is settled")
    identity, digest = payment.identity, payment.request_digest
    if await credit_ledger.is_credited_late(db, owner, payment):
        raise SettlementTaken
    attempt = (identity, digest, payment.success_id)
    (is_taken,) = await journal_store.take_successes(db, [attempt], at=at)
    if not is_taken and not await journal_store.was_settled_by(db, identity, digest, owner):
        raise SettlementTaken


async def _lock_balance(db: Connection, plan: StoredPlan, quote: Quote) -> BaseUnits:
    terms = plan.terms
    return await credit_ledger.lock_balance(db, terms.owner, terms.network, quote.asset)


async def _lock(db: Connection, payment: RunPayment) -> StoredPlan:
    plan = await lock_plan(db, payment.proposal_id)
    if plan is None:
        raise NotFound
    return plan


def _confirmation(payment: RunPayment) -> ProposalTrigger:
    is_top_up = payment.is_top_up
    return ProposalTrigger.CONFIRM_TOP_UP if is_top_up else ProposalTrigger.CONFIRM_PAYMENT


def _shown(payment: RunPayment) -> dict[str, object]:
    return {
        "payment": payment.id,
        "runs": payment.quote.runs,
        "amount": str(payment.quote.total),
        "transaction": payment.tx_hash or None,
    }
