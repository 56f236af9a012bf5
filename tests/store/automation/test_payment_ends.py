"""How a payment for runs ends where somebody else has settled it, or has landed it elsewhere."""

import secrets
from datetime import timedelta
from typing import Final

import pytest

from farebox.automation.credits import credit_payment
from farebox.automation.credits.end_payment import RunPaymentEnds
from farebox.automation.credits.run_payment import RunPayment, RunPaymentState
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.refusal import AutomationRefused
from farebox.facilitator.journal import store as journal_store
from farebox.facilitator.settlement import NotSettled
from farebox.kernel.addresses import Address
from farebox.kernel.clock import SystemClock
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason
from support.automation import RUNS, draft_plan, read_plan
from support.journal_rows import ASSET, Paid, insert_settlement
from support.manual_clock import START
from support.run_payments import (
    PER_RUN,
    REVENUE,
    balance,
    hash_of,
    land,
    ledger,
    present,
    propose,
    quote_of,
    read_payment,
    write_settlement,
)

LANDED: Final = (bytes(31) + b"f").hex()


def refusal(held: RunPayment, reason: Reason, tx_hash: str = LANDED) -> NotSettled:
    assert held.identity is not None
    return NotSettled(reason, held.network, Address(held.identity.payer), tx_hash)


async def end(database: Database, held: RunPayment, reason: Reason) -> RunPayment:
    return await RunPaymentEnds(database, SystemClock()).end(held, refusal(held, reason))


async def test_transfer_that_a_stranger_landed_before_it_was_shown_here_pays_for_nothing(
    database: Database,
) -> None:
    """Its authorization is public then: nothing in the journal says that it was ours before."""
    plan = await propose(database)
    held = await present(database, await quote_of(database, plan))
    failed = await end(database, held, Reason.FOREIGN_LANDING)
    assert (failed.state, failed.failure) == (RunPaymentState.FAILED, "duplicate_settlement")
    assert failed.tx_hash == LANDED
    assert await ledger(database, plan) == []
    assert (await read_plan(database, plan)).counters.runs_credited == 0


@pytest.mark.parametrize("reason", [Reason.FOREIGN_LANDING, Reason.DUPLICATE_SETTLEMENT])
async def test_payment_that_was_claimed_here_is_credited_whoever_landed_it(
    database: Database, reason: Reason
) -> None:
    plan = await propose(database)
    held = await land(
        database,
        await quote_of(database, plan),
        "failed",
        landed_hash=bytes.fromhex(LANDED),
        landed_at=START,
        reason="settle_exact_stellar_foreign_landing",
    )
    paid = await end(database, held, reason)
    assert (paid.state, paid.tx_hash) == (RunPaymentState.CONFIRMED, LANDED)
    assert (await read_plan(database, plan)).counters.runs_credited == RUNS


async def test_payment_that_another_caller_settles_too_is_credited(database: Database) -> None:
    plan = await propose(database)
    held = await land(database, await quote_of(database, plan), caller="somebody else")
    paid = await end(database, held, Reason.DUPLICATE_SETTLEMENT)
    assert (paid.state, paid.tx_hash) == (RunPaymentState.CONFIRMED, hash_of(held))
    assert (await read_plan(database, plan)).counters.runs_credited == RUNS


async def test_control_success_that_another_request_has_is_not_given_twice(
    database: Database,
) -> None:
    plan = await propose(database)
    held = await land(database, await quote_of(database, plan), caller="somebody else")
    assert held.identity is not None
    assert held.request_digest is not None
    sale = (held.identity, held.request_digest, held.success_id.__class__(int=7))
    async with database.transaction() as db:
        assert await journal_store.take_successes(db, [sale], at=START) == [True]
    failed = await end(database, held, Reason.DUPLICATE_SETTLEMENT)
    assert (failed.state, failed.failure) == (RunPaymentState.FAILED, "duplicate_settlement")
    assert await ledger(database, plan) == []


async def test_call_that_sent_nothing_leaves_a_payment_that_another_caller_settles(
    database: Database,
) -> None:
    """It may land: a quote that is offered again invites a second signature."""
    plan = await propose(database)
    held = await land(database, await quote_of(database, plan), "submitted")
    ends = RunPaymentEnds(database, SystemClock())
    left = await ends.end_unsent(held, Reason.SERVICE_UNAVAILABLE, is_over=False)
    assert left.state is RunPaymentState.PENDING
    other = await propose(database)
    alone = await present(database, await quote_of(database, other))
    again = await ends.end_unsent(alone, Reason.SERVICE_UNAVAILABLE, is_over=False)
    assert again.state is RunPaymentState.QUOTED, "nobody has claimed it"


async def test_landed_payment_is_taken_by_a_quote_that_has_become_old(database: Database) -> None:
    plan = await propose(database)
    quote = await quote_of(database, plan)
    paid = Paid(text=None, pay_to=REVENUE, amount=quote.quote.total)
    identity, digest = await insert_settlement(database, paid), secrets.token_bytes(32)
    later = START + timedelta(hours=1)
    with pytest.raises(AutomationRefused):
        await present(database, quote, identity=identity, digest=digest, at=later)
    async with database.transaction() as db:
        held = await credit_payment.reserve_payment(
            db, quote, identity, digest, at=later, is_sent=True
        )
    assert held is not None
    await write_settlement(database, held, request_digest=digest)
    assert (await end(database, held, Reason.DUPLICATE_SETTLEMENT)).state == "confirmed"


async def refute_and_wait(database: Database, held: RunPayment) -> RunPayment:
    """The loop has found nothing of a payment whose call stood still: it is quoted again."""
    ends = RunPaymentEnds(database, SystemClock())
    again = await ends.refute(held, failure=Reason.SUBMISSION_FAILED, is_over=False)
    assert again.state is RunPaymentState.QUOTED
    return again


async def credited_plan(database: Database) -> tuple[StoredPlan, RunPayment]:
    """A plan whose owner has 200 units, and a payment for it that has landed unseen."""
    draft = draft_plan()
    async with database.connection() as db:
        await db.execute(
            "INSERT INTO run_credits (owner, network, kind, asset, amount)"
            " VALUES ($1, $2, 'grant', $3, 200)",
            draft.terms.owner,
            draft.terms.network.value,
            ASSET,
        )
    plan = await propose(database, draft)
    quote = await quote_of(database, plan)
    assert quote.quote.credit == 200
    return plan, await land(database, quote)


async def held_by(database: Database, plan: StoredPlan) -> tuple[int, int]:
    """What the plan holds for runs and what the owner has besides; its setup is spent."""
    return (await read_plan(database, plan)).counters.credit.held, await balance(database, plan)


async def test_payment_that_lands_after_it_was_refuted_takes_its_credit_again(
    database: Database,
) -> None:
    plan, held = await credited_plan(database)
    await refute_and_wait(database, held)
    assert await balance(database, plan) == 200
    paid = await RunPaymentEnds(database, SystemClock()).credit(held, hash_of(held))
    assert (paid.state, paid.tx_hash) == (RunPaymentState.CONFIRMED, hash_of(held))
    assert await held_by(database, plan) == (RUNS * PER_RUN, 0)
    again = await RunPaymentEnds(database, SystemClock()).credit(held, hash_of(held))
    assert again.state is RunPaymentState.CONFIRMED
    assert await held_by(database, plan) == (RUNS * PER_RUN, 0)


async def test_payment_whose_credit_is_spent_when_it_lands_is_credit_of_its_owner(
    database: Database,
) -> None:
    plan, held = await credited_plan(database)
    await refute_and_wait(database, held)
    async with database.connection() as db:
        await db.execute(
            "INSERT INTO run_credits (owner, network, kind, asset, amount)"
            " VALUES ($1, $2, 'consume', $3, -150)",
            plan.terms.owner,
            plan.terms.network.value,
            ASSET,
        )
    await RunPaymentEnds(database, SystemClock()).credit(held, hash_of(held))
    assert await held_by(database, plan) == (0, 50 + held.quote.total)
    assert (await read_plan(database, plan)).state is ProposalState.PROPOSED


async def test_payment_whose_quote_another_one_has_paid_meanwhile_is_credited_once(
    database: Database,
) -> None:
    """Both have landed: the plan has the runs of one, the owner the money of the other."""
    plan, held = await credited_plan(database)
    quote = await refute_and_wait(database, held)
    other = await land(database, quote)
    ends = RunPaymentEnds(database, SystemClock())
    for _ in range(2):
        await ends.credit(held, hash_of(held))
    assert (await read_payment(database, other)).state is RunPaymentState.PENDING
    await ends.credit(other, hash_of(other))
    assert await held_by(database, plan) == (RUNS * PER_RUN, held.quote.total)


async def test_payment_that_cannot_be_proven_is_not_offered_again(database: Database) -> None:
    """It may have landed: a call that sent nothing leaves it to the operator."""
    plan = await propose(database)
    held = await land(database, await quote_of(database, plan), "unproven")
    ends = RunPaymentEnds(database, SystemClock())
    left = await ends.end_unsent(held, Reason.SERVICE_UNAVAILABLE, is_over=False)
    assert left.state is RunPaymentState.PENDING
