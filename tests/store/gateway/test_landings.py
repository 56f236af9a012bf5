"""A landing pays for one request: wherever it was landed, and whatever was lost meanwhile."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from farebox.facilitator.settlement import NotSettled, build_duplicate
from farebox.gateway.delivery import payment_store, reservation_store
from farebox.gateway.delivery.outcome import (
    AttemptStarted,
    LandingNotRecorded,
    NoAttemptLeft,
    NotPaid,
    PaymentPending,
    PaymentUsed,
)
from farebox.gateway.delivery.reservation_store import NewPayment
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from farebox.x402.reasons import Reason
from support.faulty_database import LosableDatabase, LosingDatabase
from support.gateway_payments import (
    HASH,
    ScriptedSettler,
    enabled_wrapper,
    land,
    new_payment,
    paid_request,
    payer_of,
    settled,
)

FOREIGN_HASH = "cd" * 32
FOREIGN = NotSettled(Reason.FOREIGN_LANDING, Network.TESTNET, None, FOREIGN_HASH)
DUPLICATE = NotSettled(Reason.DUPLICATE_SETTLEMENT, Network.TESTNET, None, HASH)
UNPROVEN = NotSettled(Reason.OUTCOME_UNPROVEN, Network.TESTNET, None, HASH)


async def change_settlement(database: Database, change: str, *values: object) -> None:
    async with database.connection() as db:
        await db.execute(f"UPDATE settlements SET {change}", *values)


async def land_elsewhere(database: Database, new: NewPayment) -> NewPayment:
    """A payment that another party landed after our claim."""
    landed = await land(database, new)
    await change_settlement(
        database,
        "state = 'failed', reason = $1, landed_hash = $2, landed_at = claimed_at + interval '1 s'",
        Reason.FOREIGN_LANDING.value,
        bytes.fromhex(FOREIGN_HASH),
    )
    return landed


async def restore(
    database: Database, new: NewPayment, *, landed_at: str = "now() + interval '1 minute'"
) -> NewPayment:
    """A settlement that was lost and restored: answered to nobody who is known."""
    landed = await land(database, new)
    term = new.term
    await change_settlement(
        database,
        f"answered_at = now(), restored_at = now(), landed_at = {landed_at}, asset = $1,"
        " amount = $2, pay_to = $3",
        term.asset,
        term.amount,
        term.pay_to,
    )
    return landed


async def change(database: Database, change: str) -> None:
    async with database.connection() as db:
        await db.execute(f"UPDATE gateway_payments SET {change}")


async def row_of(database: Database, new: NewPayment) -> GatewayPayment | None:
    async with database.connection() as db:
        return await payment_store.find_payment(db, new.identity)


async def reserved_before(database: Database, new: NewPayment) -> None:
    """A reservation of an earlier call that holds it no longer."""
    async with database.connection() as db:
        held = await reservation_store.reserve(db, new, held_for=timedelta(0))
    assert held is not None


async def in_progress(database: Database, new: NewPayment) -> tuple[int, int]:
    async with database.connection() as db:
        counters = await reservation_store.read_counters(db, new.wrapper)
    return counters.month_count, counters.in_progress


async def test_landing_elsewhere_pays_for_the_request_that_was_claimed_before(
    database: Database,
) -> None:
    new = await land_elsewhere(database, new_payment(await enabled_wrapper(database)))
    outcome = await payer_of(database, ScriptedSettler(FOREIGN)).pay(paid_request(new))
    assert isinstance(outcome, AttemptStarted)
    assert outcome.payment.tx_hash == FOREIGN_HASH
    async with database.connection() as db:
        answered = await db.fetchval("SELECT answered_by FROM settlements")
    assert answered == outcome.payment.success_id


async def test_landing_elsewhere_without_a_claim_of_ours_is_a_duplicate(
    database: Database,
) -> None:
    """Control: a build that believes the outcome alone delivers what somebody else paid for."""
    new = new_payment(await enabled_wrapper(database))
    outcome = await payer_of(database, ScriptedSettler(FOREIGN)).pay(paid_request(new))
    assert outcome == NotPaid(build_duplicate(new.identity, FOREIGN_HASH))
    assert await row_of(database, new) is None
    assert await in_progress(database, new) == (0, 0)


async def test_landing_elsewhere_that_is_not_this_request_s_pays_for_nothing(
    database: Database,
) -> None:
    wrapper = await enabled_wrapper(database)
    for change in (
        "request_digest = sha256('another')",
        "answered_at = now(), answered_by = gen_random_uuid()",
        "reason = 'settle_exact_stellar_transaction_failed'",  # inside a stranger's fee bump
    ):
        async with database.connection() as db:
            await db.execute("DELETE FROM settlements")
        new = await land_elsewhere(database, new_payment(wrapper))
        await change_settlement(database, change)
        outcome = await payer_of(database, ScriptedSettler(FOREIGN)).pay(paid_request(new))
        assert outcome == NotPaid(build_duplicate(new.identity, FOREIGN_HASH)), change
        assert await row_of(database, new) is None


async def test_restored_settlement_is_delivered_once_to_the_request_that_had_it_reserved(
    database: Database,
) -> None:
    """Control: a build that takes an answered row for a used one never delivers it."""
    new = await restore(database, new_payment(await enabled_wrapper(database)))
    await reserved_before(database, new)
    payer = payer_of(database, ScriptedSettler(DUPLICATE))
    first = await payer.pay(paid_request(new))
    assert isinstance(first, AttemptStarted)
    async with database.connection() as db:
        assert await payment_store.end_attempt(
            db, first.payment, PaymentState.DELIVERED, status=200, may_repeat=False
        )
    assert await payer.pay(paid_request(new)) == PaymentUsed(HASH)


@pytest.mark.parametrize("is_reserved", [False, True], ids=["first seen", "of other bytes"])
async def test_restored_settlement_of_no_known_request_is_owed_and_never_delivered(
    database: Database, is_reserved: bool
) -> None:
    new = await restore(database, new_payment(await enabled_wrapper(database)))
    if is_reserved:
        await reserved_before(database, new)
        await change_settlement(database, "request_digest = sha256('of whoever restored it')")
    payer = payer_of(database, ScriptedSettler(DUPLICATE))
    for _ in range(2):
        outcome = await payer.pay(paid_request(new))
        assert isinstance(outcome, NoAttemptLeft)
        assert (outcome.payment.state, outcome.payment.tx_hash) == (PaymentState.OWED, HASH)
    assert await in_progress(database, new) == (1, 0)


async def test_restored_settlement_that_landed_before_its_reservation_is_owed(
    database: Database,
) -> None:
    """Whoever reads the ledger may reserve, lose the hold in an outage, and present it again.

    Control: a build that asks only for an earlier call delivers to the stranger.
    """
    new = new_payment(await enabled_wrapper(database))
    new = await restore(database, new, landed_at="clock_timestamp()")
    await reserved_before(database, new)
    outcome = await payer_of(database, ScriptedSettler(DUPLICATE)).pay(paid_request(new))
    assert isinstance(outcome, NoAttemptLeft)
    assert outcome.payment.state is PaymentState.OWED


async def test_settlement_that_was_answered_before_its_caller_was_recorded_pays_for_nothing(
    database: Database,
) -> None:
    """Control: a build that takes it for restored owes it to whoever shows the old payment."""
    new = await restore(database, new_payment(await enabled_wrapper(database)))
    await reserved_before(database, new)
    await change_settlement(database, "restored_at = NULL")
    outcome = await payer_of(database, ScriptedSettler(DUPLICATE)).pay(paid_request(new))
    assert outcome == PaymentUsed(HASH)
    assert await row_of(database, new) is None


async def test_restored_settlement_of_another_transfer_pays_for_nothing(
    database: Database,
) -> None:
    new = await restore(database, new_payment(await enabled_wrapper(database)))
    await reserved_before(database, new)
    await change_settlement(database, "amount = 1")
    outcome = await payer_of(database, ScriptedSettler(DUPLICATE)).pay(paid_request(new))
    assert outcome == PaymentUsed(HASH)
    assert await row_of(database, new) is None


async def test_unproven_payment_keeps_its_row_and_is_no_request_in_progress(
    database: Database,
) -> None:
    """Control: a build that releases it loses a payment that may have landed."""
    new = await land(database, new_payment(await enabled_wrapper(database)))
    await change_settlement(database, "state = 'unproven', reason = $1", UNPROVEN.reason.value)
    payer = payer_of(database, ScriptedSettler(UNPROVEN, UNPROVEN, settled(new)))
    for _ in range(2):
        outcome = await payer.pay(paid_request(new))
        assert isinstance(outcome, PaymentPending)
        assert (outcome.pending.tx_hash, outcome.reason) == (HASH, Reason.OUTCOME_UNPROVEN)
        assert await in_progress(database, new) == (1, 0)
    await change_settlement(database, "state = 'confirmed', reason = NULL")
    assert isinstance(await payer.pay(paid_request(new)), AttemptStarted)
    assert await in_progress(database, new) == (1, 1)


async def test_unproven_settlement_of_another_request_releases_the_reservation(
    database: Database,
) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    await change_settlement(database, "state = 'unproven', request_digest = sha256('another')")
    outcome = await payer_of(database, ScriptedSettler(UNPROVEN)).pay(paid_request(new))
    assert outcome == PaymentUsed(HASH)
    assert await row_of(database, new) is None


async def test_landing_that_cannot_be_recorded_is_told_and_recorded_by_the_repeat(
    database: Database,
) -> None:
    """Control: a build that passes the outage on withholds the receipt."""
    new = await land(database, new_payment(await enabled_wrapper(database)))
    losable = LosableDatabase(database)

    class Losing(ScriptedSettler):
        async def settle(self, request: object, **given: object) -> object:  # type: ignore[override]  # the same
            losable.is_lost = True
            return await super().settle(request, **given)  # type: ignore[arg-type]  # the same

    outcome = await payer_of(losable, Losing(settled(new))).pay(paid_request(new))
    assert isinstance(outcome, LandingNotRecorded)
    assert outcome.payment.tx_hash == HASH
    async with database.connection() as db:
        await db.execute("UPDATE gateway_payments SET attempt_until = now()")
    again = await payer_of(database, ScriptedSettler(settled(new))).pay(paid_request(new))
    assert isinstance(again, AttemptStarted)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_landing_whose_commit_is_unanswered_begins_the_attempt_that_it_wrote(
    database: Database, postgres_url: Secret[str], method: str
) -> None:
    """Control: a build that takes it for lost leaves an attempt that nobody makes."""
    new = await land(database, new_payment(await enabled_wrapper(database), method=method))
    async with LosingDatabase(postgres_url) as losing:
        losing.lost_commits = 1
        outcome = await payer_of(losing, ScriptedSettler(settled(new))).pay(paid_request(new))
    assert isinstance(outcome, AttemptStarted)
    assert outcome.payment == await row_of(database, new)
    assert outcome.payment.attempts == 1


async def test_unanswered_landing_does_not_take_the_attempt_of_another_call(
    database: Database, postgres_url: Secret[str]
) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))

    class Following(LosingDatabase):
        """Another call begins an attempt before this one reads the row again."""

        @asynccontextmanager
        async def transaction(self) -> AsyncIterator[Connection]:
            async with super().transaction() as db:
                yield db
            await change(database, "epoch = epoch + 1")
            raise DatabaseUnavailable("the answer is lost")

    async with Following(postgres_url) as losing:
        outcome = await payer_of(losing, ScriptedSettler(settled(new))).pay(paid_request(new))
    assert isinstance(outcome, LandingNotRecorded)


async def test_outage_while_a_paid_request_is_continued_is_told_with_its_payment(
    database: Database,
) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    payer = payer_of(database, ScriptedSettler(settled(new)))
    first = await payer.pay(paid_request(new))
    assert isinstance(first, AttemptStarted)
    losable = LosableDatabase(database)
    losable.is_lost = True
    known = await row_of(database, new)
    again = await payer_of(losable, ScriptedSettler(UNPROVEN)).payer.pay(paid_request(new), known)
    assert isinstance(again, LandingNotRecorded)
    other = paid_request(replace(new, presented_digest=b"s" * 32))
    stranger = payer_of(losable, ScriptedSettler(UNPROVEN)).payer
    assert await stranger.pay(other, known) == PaymentUsed(HASH)


async def test_lost_reservation_of_a_landed_retry_is_made_again_at_its_terms(
    database: Database,
) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    await reserved_before(database, new)

    class Interfering(ScriptedSettler):
        async def settle(self, request: object, **given: object) -> object:  # type: ignore[override]  # the same
            if not self.settled:
                async with database.connection() as db:
                    await db.execute("DELETE FROM gateway_payments")
            return await super().settle(request, **given)  # type: ignore[arg-type]  # the same

    payer = payer_of(database, Interfering(settled(new)))
    outcome = await payer.pay(paid_request(new, is_for_sale=False))
    assert isinstance(outcome, AttemptStarted)
