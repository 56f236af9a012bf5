"""Open payments that no call attends to are ended without one."""

from datetime import timedelta

import pytest

from farebox.gateway.delivery import payment_store, reservation_store
from farebox.gateway.delivery.landing import ReservationLost, record_landing
from farebox.gateway.delivery.reconcile import GatewayReconciler
from farebox.gateway.delivery.reservation_store import NewPayment
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.kernel.clock import SystemClock
from farebox.storage.pool import Database
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

NO_TIME = timedelta(0)


async def reconcile(database: Database) -> None:
    await GatewayReconciler(database, SystemClock()).reconcile()


async def reserved(database: Database, new: NewPayment, *, age: str = "1 minute") -> NewPayment:
    """A reservation whose call has died."""
    async with database.connection() as db:
        assert await reservation_store.reserve(db, new, held_for=NO_TIME) is not None
        await db.execute(
            "UPDATE gateway_payments SET reserved_at = now() - $1::text::interval", age
        )
    return new


async def row_of(database: Database, new: NewPayment) -> GatewayPayment | None:
    async with database.connection() as db:
        return await payment_store.find_payment(db, new.identity)


async def counts(database: Database, new: NewPayment) -> tuple[int, int]:
    async with database.connection() as db:
        counters = await reservation_store.read_counters(db, new.wrapper)
    return counters.month_count, counters.in_progress


async def write_state(database: Database, state: str) -> None:
    async with database.connection() as db:
        await db.execute(
            """
            UPDATE settlements
            SET state = $1,
                finished_at = CASE WHEN $1 IN ('sending', 'submitted') THEN NULL ELSE now() END
            """,
            state,
        )


async def test_landed_reservation_is_recorded_and_delivered_on_the_next_request(
    database: Database,
) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    await reserved(database, new)
    await reconcile(database)
    row = await row_of(database, new)
    assert row is not None
    assert (row.state, row.attempts, row.attempt_until) == (PaymentState.PAID, 0, None)
    assert await counts(database, new) == (1, 0)
    outcome = await payer_of(database, ScriptedSettler(settled(new))).pay(paid_request(new))
    assert outcome.payment.attempts == 1  # type: ignore[union-attr]  # an attempt has started


async def claimed(database: Database) -> NewPayment:
    """The reservation of a payment that was claimed here, to a wrapper of its own."""
    landed = await land(database, new_payment(await enabled_wrapper(database)))
    return await reserved(database, landed)


async def test_reservation_of_a_payment_that_never_landed_is_released(database: Database) -> None:
    for state in ("failed", "dead"):
        new = await claimed(database)
        await write_state(database, state)
        await reconcile(database)
        assert await row_of(database, new) is None
        assert await counts(database, new) == (0, 0)


async def test_foreign_landing_pays_for_the_request_that_it_was_proven_for(
    database: Database,
) -> None:
    change = "reason = $1, landed_hash = tx_hash, landed_at = claimed_at + interval '1 s'"
    for reason, is_other, is_paid in (
        ("settle_exact_stellar_foreign_landing", False, True),
        ("settle_exact_stellar_foreign_landing", True, False),  # another transfer with the nonce
        ("settle_exact_stellar_transaction_failed", False, False),  # inside a stranger's fee bump
    ):
        new = await claimed(database)
        await write_state(database, "failed")
        async with database.connection() as db:
            await db.execute(f"UPDATE settlements SET {change}", reason)
            if is_other:
                await db.execute("UPDATE settlements SET request_digest = $1", bytes(32))
        await reconcile(database)
        assert (await row_of(database, new) is not None) == is_paid


async def test_reservation_of_a_pending_payment_stays(database: Database) -> None:
    for state in ("sending", "submitted"):
        new = await claimed(database)
        await write_state(database, state)
        for _ in range(2):
            await reconcile(database)
        row = await row_of(database, new)
        assert row is not None
        assert (row.state, row.attempt_until) == (PaymentState.RESERVED, None)
        assert await counts(database, new) == (1, 1)


async def test_reservation_without_a_settlement_is_released_later(database: Database) -> None:
    for age, count in (("1 minute", 1), ("3 minutes", 0)):
        new = await reserved(database, new_payment(await enabled_wrapper(database)), age=age)
        await reconcile(database)
        assert (await row_of(database, new) is not None) == bool(count)
        assert await counts(database, new) == (count, count)


async def test_reservation_that_a_call_holds_is_left_alone(database: Database) -> None:
    new = await land(database, new_payment(await enabled_wrapper(database)))
    async with database.connection() as db:
        held = await reservation_store.reserve(db, new, held_for=timedelta(hours=1))
    await reconcile(database)
    assert await row_of(database, new) == held


async def test_success_is_not_taken_for_a_reservation_that_is_lost(database: Database) -> None:
    """Control: a build that commits the success without the row leaves nobody to deliver."""
    new = await land(database, new_payment(await enabled_wrapper(database)))
    async with database.connection() as db:
        held = await reservation_store.reserve(db, new, held_for=NO_TIME)
        assert held is not None
        assert await reservation_store.release(db, held)
    with pytest.raises(ReservationLost):
        async with database.transaction() as db:
            await record_landing(db, held, HASH, at=SystemClock().now(), attempt_for=None)
    async with database.connection() as db:
        assert await db.fetchval("SELECT answered_at FROM settlements") is None


async def test_payment_whose_success_was_taken_elsewhere_is_released(database: Database) -> None:
    new = await claimed(database)
    async with database.connection() as db:
        await db.execute(
            "UPDATE settlements SET answered_at = now(), answered_by = gen_random_uuid()"
        )
    await reconcile(database)
    assert await row_of(database, new) is None


async def test_attempt_whose_time_has_passed_is_ended(database: Database) -> None:
    for attempts, may_repeat, state in (
        (1, True, PaymentState.PAID),
        (5, True, PaymentState.OWED),
        (1, False, PaymentState.OWED),
    ):
        new = new_payment(await enabled_wrapper(database))
        async with database.connection() as db:
            held = await reservation_store.reserve(db, new, held_for=NO_TIME)
            assert held is not None
            await payment_store.record_paid(db, held, HASH, attempt_for=NO_TIME)
            change = "UPDATE gateway_payments SET attempts = $1, may_repeat = $2"
            await db.execute(change, attempts, may_repeat)
        for _ in range(2):
            await reconcile(database)
        row = await row_of(database, new)
        assert row is not None
        assert (row.state, row.attempt_until) == (state, None)
        assert await counts(database, new) == (1, 0)


async def test_undelivered_payment_is_owed_after_a_day(database: Database) -> None:
    new = new_payment(await enabled_wrapper(database))
    async with database.connection() as db:
        held = await reservation_store.reserve(db, new, held_for=NO_TIME)
        assert held is not None
        await payment_store.record_paid(db, held, HASH, attempt_for=None)
    await reconcile(database)
    row = await row_of(database, new)
    assert row is not None
    assert row.state is PaymentState.PAID
    async with database.connection() as db:
        await db.execute("UPDATE gateway_payments SET paid_at = now() - interval '25 hours'")
    await reconcile(database)
    row = await row_of(database, new)
    assert row is not None
    assert row.state is PaymentState.OWED
