"""Payments for runs as rows: reserved, credited once, refuted, and reconciled."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from farebox.automation.credits import credit_payment
from farebox.automation.credits.credit_ledger import ONCE
from farebox.automation.credits.credit_payment import SettlementTaken
from farebox.automation.credits.run_payment import RunPayment, RunPaymentState
from farebox.automation.plans.proposal_state import ProposalFacts, ProposalState, ProposalTrigger
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.refusal import AutomationRefused
from farebox.automation.runs.move_plan import move_plan
from farebox.facilitator.journal import store as journal_store
from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.clock import SystemClock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.networks import Network
from farebox.storage.faults import Conflict
from farebox.storage.pool import Database
from support.automation import RUNS, draft_plan, lock, move, read_plan
from support.journal_rows import party
from support.manual_clock import START
from support.run_payments import (
    PER_RUN,
    abandon,
    balance,
    hash_of,
    land,
    ledger,
    pay,
    present,
    propose,
    quote_of,
    read_payment,
    reconcile,
    write_settlement,
)

TOTAL = RUNS * PER_RUN + 500


async def credit(database: Database, held: RunPayment) -> RunPayment:
    async with database.transaction() as db:
        return await credit_payment.credit_payment(db, held, hash_of(held), at=START)


async def state_of(database: Database, plan: StoredPlan) -> tuple[ProposalState, int]:
    found = await read_plan(database, plan)
    return found.state, found.counters.runs_credited


def refused(code: ErrorCode) -> "pytest.RaisesExc[AutomationRefused]":
    return pytest.raises(AutomationRefused, match=None, check=lambda error: error.code is code)


async def test_landed_payment_credits_its_runs_and_moves_the_plan(database: Database) -> None:
    plan = await propose(database)
    held = await land(database, await quote_of(database, plan))
    assert await state_of(database, plan) == (ProposalState.PAYMENT_PENDING, 0)
    paid = await credit(database, held)
    assert (paid.state, paid.tx_hash) == (RunPaymentState.CONFIRMED, hash_of(held))
    assert await state_of(database, plan) == (ProposalState.PAID, RUNS)
    assert await ledger(database, plan) == [("purchase", TOTAL), ("consume", -TOTAL)]
    assert await read_success(database, held) is not None


async def read_success(database: Database, held: RunPayment) -> object:
    assert held.identity is not None
    async with database.connection() as db:
        (row,) = await journal_store.find_settlements(db, [held.identity])
    assert row is not None
    return row.is_answered or None


async def test_payment_is_credited_once_by_its_key(database: Database) -> None:
    """The same landed payment, as two processes have read it before either has credited it."""
    plan = await propose(database)
    held = await land(database, await quote_of(database, plan, runs=3))
    await credit(database, held)
    with pytest.raises(Conflict) as caught:
        await credit(database, held)
    assert caught.value.constraint == ONCE
    assert await state_of(database, plan) == (ProposalState.PAID, 3)
    assert await balance(database, plan) == 0


async def test_control_without_the_key_a_payment_is_credited_twice(database: Database) -> None:
    async with database.connection() as db:
        await db.execute(f"ALTER TABLE run_credits DROP CONSTRAINT {ONCE}")
    try:
        plan = await propose(database)
        held = await land(database, await quote_of(database, plan, runs=3))
        await credit(database, held)
        await credit(database, held)
        assert await balance(database, plan) > 0, "an amount that nobody has paid"
    finally:
        async with database.connection() as db:
            await db.execute("DELETE FROM run_credits")
            await db.execute(f"ALTER TABLE run_credits ADD CONSTRAINT {ONCE} UNIQUE (payment_id)")


async def test_loops_of_two_processes_credit_an_abandoned_payment_once(
    database: Database, other_pool: Database
) -> None:
    """The call has died between settlement and credit."""
    clock = SystemClock()
    plan = await propose(database)
    held = await land(database, await quote_of(database, plan, runs=4))
    await reconcile(database, clock)
    assert await state_of(database, plan) == (ProposalState.PAYMENT_PENDING, 0), "a call holds it"
    await abandon(database)
    await asyncio.gather(reconcile(database, clock), reconcile(other_pool, clock))
    assert await state_of(database, plan) == (ProposalState.PAID, 4)
    assert (await read_payment(database, held)).tx_hash == hash_of(held)
    await abandon(database)
    await reconcile(database, clock)
    assert await ledger(database, plan) == [
        ("purchase", 4 * PER_RUN + 500),
        ("consume", -4 * PER_RUN - 500),
    ]


async def test_loop_refutes_a_payment_that_certainly_did_not_pay(database: Database) -> None:
    for state in ("failed", "dead"):
        plan = await propose(database)
        held = await land(database, await quote_of(database, plan), state)
        await abandon(database)
        await reconcile(database, SystemClock())
        failed = await read_payment(database, held)
        assert (failed.state, failed.tx_hash) == (RunPaymentState.FAILED, hash_of(held))
        assert await state_of(database, plan) == (ProposalState.PROPOSED, 0)
        assert (await quote_of(database, plan)).quote.revision == 2, "paid by a new quote alone"


async def test_loop_leaves_a_payment_that_may_have_landed(database: Database) -> None:
    for state in ("sending", "submitted", "unproven"):
        plan = await propose(database)
        reason = "settle_exact_stellar_outcome_unproven" if state == "unproven" else None
        held = await land(database, await quote_of(database, plan), state, reason=reason)
        await abandon(database, age="1 day")
        await reconcile(database, SystemClock())
        left = await read_payment(database, held)
        assert (left.state, left.tx_hash) == (RunPaymentState.PENDING, hash_of(held))
        assert await state_of(database, plan) == (ProposalState.PAYMENT_PENDING, 0)
        with refused(ErrorCode.PAYMENT_IN_FLIGHT):
            await present(database, await quote_of(database, plan))


async def test_loop_waits_for_the_claim_of_a_payment_and_then_quotes_it_again(
    database: Database,
) -> None:
    plan = await propose(database)
    held = await present(database, await quote_of(database, plan))
    await abandon(database, age="2 minutes")
    await reconcile(database, SystemClock())
    assert (await read_payment(database, held)).state is RunPaymentState.PENDING
    await abandon(database, age="3 minutes")
    await reconcile(database, SystemClock())
    again = await read_payment(database, held)
    assert (again.state, again.identity) == (RunPaymentState.QUOTED, None)
    assert await state_of(database, plan) == (ProposalState.PROPOSED, 0)


async def test_settlement_of_another_request_credits_nothing(database: Database) -> None:
    plan = await propose(database)
    held = await land(database, await quote_of(database, plan))
    await write_settlement(database, held, request_digest=bytes(32))
    with pytest.raises(SettlementTaken):
        await credit(database, held)
    await abandon(database)
    await reconcile(database, SystemClock())
    found = await read_payment(database, held)
    assert (found.state, found.failure) == (RunPaymentState.FAILED, "duplicate_settlement")
    assert await ledger(database, plan) == []


async def test_foreign_landing_is_credited(database: Database) -> None:
    """A stranger's transaction used the authorization: the money has arrived."""
    plan = await propose(database)
    held = await land(
        database,
        await quote_of(database, plan),
        "failed",
        landed_hash=bytes(31) + b"f",
        landed_at=START,
        reason="settle_exact_stellar_foreign_landing",
    )
    await abandon(database)
    await reconcile(database, SystemClock())
    assert (await read_payment(database, held)).tx_hash == (bytes(31) + b"f").hex()
    assert await state_of(database, plan) == (ProposalState.PAID, RUNS)


async def test_payments_that_landed_in_one_foreign_transaction_are_all_credited(
    database: Database,
) -> None:
    plans = [await propose(database) for _ in range(2)]
    reason = "settle_exact_stellar_foreign_landing"
    for plan in plans:
        quote = await quote_of(database, plan)
        landed: dict[str, Any] = {
            "landed_hash": bytes(31) + b"f",
            "landed_at": START,
            "reason": reason,
        }
        await land(database, quote, "failed", **landed)
    await abandon(database)
    await reconcile(database, SystemClock())
    for plan in plans:
        assert await state_of(database, plan) == (ProposalState.PAID, RUNS)


@pytest.mark.parametrize(
    "columns",
    [
        {"reason": "settle_exact_stellar_foreign_landing", "request_digest": bytes(32)},
        {"reason": "settle_exact_stellar_transaction_failed"},
    ],
    ids=["of another transfer with the nonce", "of a failed transaction in a stranger's fee bump"],
)
async def test_hash_of_a_landing_that_did_not_pay_credits_nothing(
    database: Database, columns: dict[str, object]
) -> None:
    plan = await propose(database)
    quote = await quote_of(database, plan)
    landed: dict[str, Any] = {"landed_hash": bytes(31) + b"f", "landed_at": START}
    held = await land(database, quote, "failed", **landed)
    await write_settlement(database, held, **columns)
    await abandon(database)
    await reconcile(database, SystemClock())
    assert (await read_payment(database, held)).state is RunPaymentState.FAILED
    assert await ledger(database, plan) == []
    assert await state_of(database, plan) == (ProposalState.PROPOSED, 0)


async def test_one_payment_pays_one_quote(database: Database) -> None:
    first, second = await propose(database), await propose(database)
    identity = PaymentIdentity(Network.TESTNET, party(5), 99)
    await present(database, await quote_of(database, first), identity=identity)
    quote = await quote_of(database, second)
    with pytest.raises(Conflict):
        await present(database, quote, identity=identity)
    assert await state_of(database, second) == (ProposalState.PROPOSED, 0), "nothing was kept"


async def test_quote_is_refused_once_it_is_old_or_another_one_is_newer(database: Database) -> None:
    plan = await propose(database)
    first = await quote_of(database, plan)
    with refused(ErrorCode.QUOTE_EXPIRED):
        await present(database, first, at=START + timedelta(minutes=15, seconds=1))
    newer = await quote_of(database, plan, runs=2)
    with refused(ErrorCode.QUOTE_EXPIRED):
        await present(database, first)
    await present(database, newer)


async def test_unused_runs_are_credit_that_the_next_plan_takes_first(database: Database) -> None:
    plan = await pay(database, await propose(database))
    await move(database, plan, ProposalTrigger.CANCEL, ProposalFacts())
    assert await balance(database, plan) == RUNS * PER_RUN
    owner = plan.terms.owner
    following = await propose(database, draft_plan(owner=owner).but(run_limit=RUNS + 5))
    quote = await quote_of(database, following)
    assert (quote.quote.from_credit, quote.quote.credit) == (RUNS, RUNS * PER_RUN)
    assert quote.quote.total == 5 * PER_RUN + 500
    await credit(database, await land(database, quote))
    assert await state_of(database, following) == (ProposalState.PAID, RUNS + 5)
    assert await balance(database, plan) == 0
    await move(database, following, ProposalTrigger.CANCEL, ProposalFacts())
    assert await balance(database, plan) == (RUNS + 5) * PER_RUN


async def test_credit_of_a_refuted_payment_is_given_back(database: Database) -> None:
    plan = await pay(database, await propose(database))
    await move(database, plan, ProposalTrigger.CANCEL, ProposalFacts())
    following = await propose(database, draft_plan(owner=plan.terms.owner).but(run_limit=RUNS + 5))
    other = await propose(database, draft_plan(owner=plan.terms.owner))
    quote, stale = await quote_of(database, following), await quote_of(database, other)
    assert stale.quote.from_credit == RUNS
    await land(database, quote, "dead")
    assert await balance(database, plan) == 0, "no other plan takes it meanwhile"
    async with database.transaction() as db:
        locked = await lock(db, other.terms.id)
        with refused(ErrorCode.QUOTE_EXPIRED):
            await credit_payment.credit_unpaid(db, locked, stale, at=START)
    await abandon(database)
    await reconcile(database, SystemClock())
    assert await balance(database, plan) == RUNS * PER_RUN


async def test_plan_that_credit_covers_costs_nothing(database: Database) -> None:
    plan = await pay(database, await propose(database))
    await move(database, plan, ProposalTrigger.CANCEL, ProposalFacts())
    following = await propose(database, draft_plan(owner=plan.terms.owner).but(run_limit=RUNS - 1))
    quote = await quote_of(database, following)
    assert (quote.is_free, quote.quote.total, quote.quote.from_credit) == (True, 0, RUNS - 1)
    async with database.transaction() as db:
        locked = await lock(db, following.terms.id)
        await credit_payment.credit_unpaid(db, locked, quote, at=START)
    assert await state_of(database, following) == (ProposalState.PAID, RUNS - 1)
    assert await balance(database, plan) == PER_RUN - 500, "the setup is paid of it too"


async def test_payment_that_lands_after_the_plan_ended_is_credit_of_its_owner(
    database: Database,
) -> None:
    plan = await propose(database)
    held = await land(database, await quote_of(database, plan))
    await move(database, plan, ProposalTrigger.CANCEL, ProposalFacts())
    await credit(database, held)
    assert await state_of(database, plan) == (ProposalState.CANCELLED, 0)
    assert await ledger(database, plan) == [("purchase", TOTAL)]


async def test_top_up_adds_runs_up_to_the_limit_and_keeps_a_pause(database: Database) -> None:
    plan = await pay(database, await propose(database), 3)
    with refused(ErrorCode.LIMIT_EXCEEDED):
        await present(database, await quote_of(database, plan, runs=RUNS - 2, is_top_up=True))
    await move(database, plan, ProposalTrigger.ACTIVATE, ProposalFacts(runs_left=3))
    async with database.transaction() as db:
        locked = await lock(db, plan.terms.id)
        await move_plan(
            db, locked, ProposalTrigger.PAUSE, ProposalFacts(), now=START, reason="owner"
        )
    quote = await quote_of(database, plan, runs=RUNS - 3, is_top_up=True)
    assert quote.quote.total == (RUNS - 3) * PER_RUN, "the setup is paid once"
    held = await land(database, quote)
    assert await state_of(database, plan) == (ProposalState.PAUSED, 3)
    await credit(database, held)
    topped = await read_plan(database, plan)
    assert (topped.state, topped.reason) == (ProposalState.PAUSED, "owner")
    assert topped.counters.runs_credited == RUNS
    assert await balance(database, plan) == 0


async def test_top_up_of_a_plan_being_cancelled_does_not_stop_the_cancellation(
    database: Database,
) -> None:
    plan = await pay(database, await propose(database), 3)
    await move(database, plan, ProposalTrigger.ACTIVATE, ProposalFacts(runs_left=3))
    held = await land(database, await quote_of(database, plan, runs=2, is_top_up=True))
    facts = ProposalFacts(has_unresolved_run=True)
    await move(database, plan, ProposalTrigger.CANCEL, facts)
    await credit(database, held)
    topped = await read_plan(database, plan)
    assert (topped.is_cancelling, topped.counters.runs_credited) == (True, 5)
    quote = await quote_of(database, plan, runs=1, is_top_up=True)
    with refused(ErrorCode.ILLEGAL_TRANSITION):
        await present(database, quote)


async def test_top_up_waits_for_the_run_in_progress(database: Database) -> None:
    plan = await pay(database, await propose(database), 3)
    await move(database, plan, ProposalTrigger.ACTIVATE, ProposalFacts(runs_left=3))
    async with database.connection() as db:
        await db.execute(
            "UPDATE automation_runs SET state = 'submitted' WHERE proposal_id = $1"
            " AND run_index = 0",
            plan.terms.id,
        )
    quote = await quote_of(database, plan, runs=2, is_top_up=True)
    with refused(ErrorCode.ILLEGAL_TRANSITION):
        await present(database, quote)


async def test_top_up_that_lands_after_the_plan_ended_is_credit(database: Database) -> None:
    plan = await pay(database, await propose(database), 3)
    held = await land(database, await quote_of(database, plan, runs=2, is_top_up=True))
    await move(database, plan, ProposalTrigger.CANCEL, ProposalFacts())
    assert await balance(database, plan) == 3 * PER_RUN
    await credit(database, held)
    assert await balance(database, plan) == 5 * PER_RUN
