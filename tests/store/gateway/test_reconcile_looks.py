"""No payment that cannot be ended holds up another one, and none is looked at without a pause."""

from dataclasses import replace
from datetime import timedelta

import pytest

from farebox.gateway.delivery import payment_store, reconcile, reservation_store
from farebox.gateway.delivery.reconcile import GatewayReconciler
from farebox.gateway.delivery.reservation_store import NewPayment
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.kernel.caller import Caller, CallerKind
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from farebox.x402.reasons import Reason
from support.gateway_payments import HASH, enabled_wrapper, land, new_payment
from support.manual_clock import ManualClock
from support.wrappers import wrappers_of

BATCH = 100


async def one_pass(database: Database) -> int:
    return await GatewayReconciler(database, SystemClock()).reconcile()


async def reserved(database: Database, new: NewPayment, *, age: str) -> NewPayment:
    """A reservation whose call has died."""
    async with database.connection() as db:
        assert await reservation_store.reserve(db, new, held_for=timedelta(0)) is not None
        await db.execute(
            "UPDATE gateway_payments SET reserved_at = now() - $1::text::interval WHERE nonce = $2",
            age,
            new.identity.nonce,
        )
    return new


async def landed(database: Database, new: NewPayment, *, age: str) -> NewPayment:
    return await reserved(database, await land(database, new), age=age)


async def row_of(database: Database, new: NewPayment) -> GatewayPayment | None:
    async with database.connection() as db:
        return await payment_store.find_payment(db, new.identity)


async def next_look(database: Database, new: NewPayment) -> float | None:
    """The seconds until the next look."""
    async with database.connection() as db:
        seconds = await db.fetchval(
            "SELECT extract(epoch FROM next_look_at - clock_timestamp())"
            " FROM gateway_payments WHERE nonce = $1",
            new.identity.nonce,
        )
    return None if seconds is None else float(seconds)


async def write(database: Database, change: str, new: NewPayment, *values: object) -> None:
    async with database.connection() as db:
        nonce = new.identity.nonce
        await db.execute(f"UPDATE settlements SET {change} WHERE nonce = $1", nonce, *values)


async def test_hundred_pending_payments_do_not_starve_a_newer_one(database: Database) -> None:
    """Control: a build that takes the oldest open ones never comes to the newest."""
    wrapper = await enabled_wrapper(
        database, max_concurrent_requests=1_000, requests_per_minute=10_000
    )
    for _ in range(BATCH):
        await landed(database, new_payment(wrapper), age="2 minutes")
    async with database.connection() as db:
        await db.execute(
            "UPDATE settlements SET state = 'submitted', finished_at = NULL, ledger = NULL"
        )
    newest = await landed(database, new_payment(wrapper), age="30 seconds")
    assert await one_pass(database) == BATCH
    assert await one_pass(database) == 1
    row = await row_of(database, newest)
    assert row is not None
    assert row.state is PaymentState.PAID
    assert await one_pass(database) == 0  # the others are looked at later


@pytest.mark.parametrize(
    ("age", "least_s", "most_s"),
    [("12 seconds", 4, 5), ("2 minutes", 29, 31), ("3 days", 59, 60)],
)
async def test_next_look_comes_after_a_quarter_of_the_age(
    database: Database, age: str, least_s: float, most_s: float
) -> None:
    new = await landed(database, new_payment(await enabled_wrapper(database)), age=age)
    await write(database, "state = 'submitted', finished_at = NULL", new)
    assert await one_pass(database) == 1
    left_s = await next_look(database, new)
    assert left_s is not None
    assert least_s < left_s <= most_s
    assert await one_pass(database) == 0


async def test_payment_whose_look_fails_is_logged_and_holds_up_no_other(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapper = await enabled_wrapper(database)
    faulty = await landed(database, new_payment(wrapper), age="2 minutes")
    sound = await landed(database, new_payment(wrapper), age="1 minute")
    resolve = GatewayReconciler._resolve

    async def fail_one(self: GatewayReconciler, payment: GatewayPayment) -> None:
        if payment.identity == faulty.identity:
            raise ValueError(payment.slug)
        await resolve(self, payment)

    monkeypatch.setattr(GatewayReconciler, "_resolve", fail_one)
    assert await one_pass(database) == 2
    row = await row_of(database, sound)
    assert row is not None
    assert row.state is PaymentState.PAID
    left_s = await next_look(database, faulty)
    assert left_s is not None
    assert left_s > 0


async def test_holds_never_exhaust_the_epoch(database: Database) -> None:
    """Control: counted by a smallint, every pass fails once a payment was held often enough."""
    wrapper = await enabled_wrapper(database)
    often = await landed(database, new_payment(wrapper), age="2 days")
    other = await landed(database, new_payment(wrapper), age="1 minute")
    async with database.connection() as db:
        await db.execute(
            "UPDATE gateway_payments SET epoch = 4000000000 WHERE nonce = $1", often.identity.nonce
        )
    assert await one_pass(database) == 2
    for new in (often, other):
        row = await row_of(database, new)
        assert row is not None
        assert (row.state, row.attempts) == (PaymentState.PAID, 0)


async def test_outage_of_one_network_s_rows_leaves_the_other_networks_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = await landed(database, new_payment(await enabled_wrapper(database)), age="1 minute")
    take = payment_store.take_unattended

    async def away_on_pubnet(
        db: Connection, network: Network, *, limit: int
    ) -> list[GatewayPayment]:
        if network is Network.PUBNET:
            raise DatabaseUnavailable("lost")
        return await take(db, network, limit=limit)

    monkeypatch.setattr(payment_store, "take_unattended", away_on_pubnet)
    monkeypatch.setattr(reconcile, "Network", [Network.PUBNET, Network.TESTNET])
    assert await one_pass(database) == 1
    row = await row_of(database, new)
    assert row is not None
    assert row.state is PaymentState.PAID


@pytest.mark.parametrize(("most", "pause_s"), [(0, 5.0), (99, 5.0), (BATCH, 0.25)])
async def test_every_pass_ends_with_a_pause(database: Database, most: int, pause_s: float) -> None:
    class Counting(GatewayReconciler):
        passes = 0

        async def reconcile(self) -> int:
            self.passes += 1
            if self.passes == 4:
                raise EOFError
            return most

    clock = ManualClock()
    with pytest.raises(EOFError):
        await Counting(database, clock).run()
    assert clock.slept == [pause_s] * 3


async def test_unproven_payment_is_looked_at_every_hour_and_paid_once_it_is_proven(
    database: Database,
) -> None:
    new = await landed(database, new_payment(await enabled_wrapper(database)), age="1 day")
    reason = Reason.OUTCOME_UNPROVEN.value
    await write(database, "state = 'unproven', reason = $2", new, reason)
    assert await one_pass(database) == 1
    left_s = await next_look(database, new)
    assert left_s is not None
    assert 3_590 < left_s <= 3_600
    async with database.connection() as db:
        counters = await reservation_store.read_counters(db, new.wrapper)
        assert (counters.month_count, counters.in_progress) == (1, 0)
        await db.execute("UPDATE gateway_payments SET next_look_at = now()")
    await write(database, "state = 'confirmed', reason = NULL", new)
    assert await one_pass(database) == 1
    row = await row_of(database, new)
    assert row is not None
    assert row.state is PaymentState.PAID


async def test_unproven_settlement_of_another_request_releases_the_reservation(
    database: Database,
) -> None:
    new = await landed(database, new_payment(await enabled_wrapper(database)), age="1 day")
    change = "state = 'unproven', reason = $2, request_digest = sha256('another')"
    await write(database, change, new, Reason.OUTCOME_UNPROVEN.value)
    await one_pass(database)
    assert await row_of(database, new) is None


async def test_restored_settlement_of_a_reservation_is_owed(database: Database) -> None:
    new = await landed(database, new_payment(await enabled_wrapper(database)), age="1 minute")
    term = new.term
    change = "answered_at = now(), restored_at = now(), landed_at = now(), asset = $2, amount = $3"
    change += ", pay_to = $4"
    await write(database, change, new, term.asset, term.amount, term.pay_to)
    await one_pass(database)
    row = await row_of(database, new)
    assert row is not None
    assert (row.state, row.attempts) == (PaymentState.OWED, 0)


async def test_success_of_a_landing_elsewhere_is_taken(database: Database) -> None:
    """Control: a build that leaves it free gives the success of one transfer twice."""
    new = await landed(database, new_payment(await enabled_wrapper(database)), age="1 minute")
    change = "state = 'failed', reason = $2, landed_hash = tx_hash, landed_at = now()"
    await write(database, change, new, Reason.FOREIGN_LANDING.value)
    await one_pass(database)
    row = await row_of(database, new)
    assert row is not None
    assert row.state is PaymentState.PAID
    async with database.connection() as db:
        assert await db.fetchval("SELECT answered_by FROM settlements") == row.success_id


async def test_paid_request_of_a_deleted_wrapper_is_owed(database: Database) -> None:
    new = new_payment(await enabled_wrapper(database))
    async with database.connection() as db:
        held = await reservation_store.reserve(db, new, held_for=timedelta(0))
        assert held is not None
        await payment_store.record_paid(db, held, HASH, attempt_for=None)
    assert await one_pass(database) == 0
    wrapper = new.wrapper
    await wrappers_of(database).delete(Caller(wrapper.owner, CallerKind.SESSION), "r", wrapper.id)
    assert await one_pass(database) == 1
    row = await row_of(database, new)
    assert row is not None
    assert row.state is PaymentState.OWED
    assert row == replace(row, attempt_until=None)
