"""How a payment for runs ends where somebody else has settled it, or has landed it elsewhere."""

import secrets
from datetime import timedelta
from typing import Final

import pytest

from farebox.automation.credits import credit_payment
from farebox.automation.credits.end_payment import RunPaymentEnds
from farebox.automation.credits.run_payment import RunPayment, RunPaymentState
from farebox.automation.refusal import AutomationRefused
from farebox.facilitator.journal import store as journal_store
from farebox.facilitator.settlement import NotSettled
from farebox.kernel.addresses import Address
from farebox.kernel.clock import SystemClock
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason
from support.automation import RUNS, read_plan
from support.journal_rows import Paid, insert_settlement
from support.manual_clock import START
from support.run_payments import (
    REVENUE,
    hash_of,
    land,
    ledger,
    present,
    propose,
    quote_of,
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
