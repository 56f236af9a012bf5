"""Payments at the gateway and the counters of wrappers, by two replicas at once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from farebox.gateway.delivery import payment_store, reservation_store
from farebox.gateway.delivery.reservation_store import NewPayment, WrapperCounters
from farebox.gateway.payment import MAX_ATTEMPTS, GatewayPayment, PaymentState
from farebox.gateway.wrapper import Wrapper
from farebox.kernel.caller import Caller, CallerKind
from farebox.storage.faults import Conflict
from farebox.storage.pool import Database
from support.gateway_payments import HASH, enabled_wrapper, new_payment
from support.wrappers import change_fields, wrappers_of
from testing.waiting import until

A_MINUTE = timedelta(minutes=1)
Reserve = Callable[[NewPayment], Awaitable[GatewayPayment | None]]


def reserving(database: Database) -> Reserve:
    async def reserve(new: NewPayment) -> GatewayPayment | None:
        async with database.connection() as db:
            return await reservation_store.reserve(db, new, held_for=A_MINUTE)

    return reserve


async def until_minute_has_time_left(database: Database) -> None:
    """Return in a minute of the database that what follows does not see the end of."""

    async def has_time_left() -> bool:
        async with database.connection() as db:
            return bool(await db.fetchval("SELECT extract(second FROM clock_timestamp()) < 55"))

    await until(has_time_left)


async def counters_of(database: Database, wrapper: Wrapper) -> WrapperCounters:
    async with database.connection() as db:
        return await reservation_store.read_counters(db, wrapper)


async def paid(database: Database, new: NewPayment) -> GatewayPayment:
    """A paid request whose first attempt is in progress."""
    async with database.connection() as db:
        held = await reservation_store.reserve(db, new, held_for=A_MINUTE)
        assert held is not None
        row = await payment_store.record_paid(db, held, HASH, attempt_for=A_MINUTE)
    assert row is not None
    return row


async def begin(
    database: Database,
    new: NewPayment,
    *,
    concurrent_requests: int = 50,
    other: Callable[[GatewayPayment], GatewayPayment] = lambda row: row,
) -> GatewayPayment | None:
    async with database.connection() as db:
        known = await payment_store.find_payment(db, new.identity)
        assert known is not None
        return await payment_store.start_attempt(
            db,
            other(known),
            attempt_for=A_MINUTE,
            concurrent_requests=concurrent_requests,
        )


def of_another_request(row: GatewayPayment) -> GatewayPayment:
    return replace(row, binding=bytes(32))


def of_another_payment(row: GatewayPayment) -> GatewayPayment:
    return replace(row, request_digest=bytes(32))


async def end(database: Database, row: GatewayPayment, state: PaymentState) -> bool:
    async with database.connection() as db:
        return await payment_store.end_attempt(db, row, state, status=200, may_repeat=True)


async def test_reservation_is_counted_and_read_back(database: Database) -> None:
    new = new_payment(await enabled_wrapper(database))
    await until_minute_has_time_left(database)
    row = await reserving(database)(new)
    assert row is not None
    assert (row.identity, row.binding, row.state) == (
        new.identity, new.request.binding(), PaymentState.RESERVED,
    )  # fmt: skip
    async with database.connection() as db:
        assert await payment_store.find_payment(db, new.identity) == row
    counters = await counters_of(database, new.wrapper)
    assert counters == WrapperCounters(
        is_current=True,
        minute_count=1,
        month_count=1,
        in_progress=1,
        minute_left_s=counters.minute_left_s,
        month_left_s=counters.month_left_s,
    )
    assert 0 < counters.minute_left_s <= 60


async def test_seconds_of_month_end_with_the_month_of_utc(database: Database) -> None:
    wrapper = await enabled_wrapper(database)
    for zone in ("UTC", "America/New_York", "Pacific/Kiritimati"):
        async with database.transaction() as db:
            await db.execute(f"SET LOCAL TIME ZONE '{zone}'")
            counters = await reservation_store.read_counters(db, wrapper)
            now = (await db.fetchval("SELECT clock_timestamp()")).astimezone(UTC)
        year, month = (now.year, now.month + 1) if now.month < 12 else (now.year + 1, 1)
        left = (datetime(year, month, 1, tzinfo=UTC) - now).total_seconds()
        assert left == pytest.approx(counters.month_left_s, abs=5), zone


@pytest.mark.parametrize(
    "members",
    [{"requests_per_minute": 3}, {"monthly_request_quota": 3}, {"max_concurrent_requests": 3}],
)
async def test_limit_holds_exactly_over_two_replicas(
    database: Database, other_pool: Database, members: dict[str, int]
) -> None:
    wrapper = await enabled_wrapper(database, **members)
    replicas = [reserving(database), reserving(other_pool)]
    await until_minute_has_time_left(database)  # a new minute allows as many again
    rows = await asyncio.gather(*(each(new_payment(wrapper)) for each in replicas * 10))
    reserved = [row for row in rows if row is not None]
    assert len(reserved) == 3
    assert (await counters_of(database, wrapper)).in_progress == len(reserved)


async def test_released_reservation_gives_its_place_back(database: Database) -> None:
    wrapper = await enabled_wrapper(database, max_concurrent_requests=1, monthly_request_quota=1)
    reserve = reserving(database)
    held = await reserve(new_payment(wrapper))
    assert held is not None
    assert await reserve(new_payment(wrapper)) is None
    async with database.connection() as db:
        assert await reservation_store.release(db, held)
        assert not await reservation_store.release(db, held)
    counters = await counters_of(database, wrapper)
    assert (counters.minute_count, counters.month_count, counters.in_progress) == (0, 0, 0)
    assert await reserve(new_payment(wrapper)) is not None


async def test_disabled_or_changed_wrapper_reserves_nothing(database: Database) -> None:
    wrapper = await enabled_wrapper(database)
    wrappers, caller = wrappers_of(database), Caller(wrapper.owner, CallerKind.SESSION)
    await wrappers.update(caller, "r", wrapper.id, change_fields(amount="7"))
    assert await reserving(database)(new_payment(wrapper)) is None
    assert not (await counters_of(database, wrapper)).is_current
    current = await wrappers.disable(caller, "r", wrapper.id)
    assert await reserving(database)(new_payment(current)) is None


async def test_payment_has_one_row_and_a_second_reservation_counts_nothing(
    database: Database, other_pool: Database
) -> None:
    new = new_payment(await enabled_wrapper(database))
    replicas = [reserving(database), reserving(other_pool)]
    results = await asyncio.gather(*(each(new) for each in replicas * 5), return_exceptions=True)
    assert sum(isinstance(each, GatewayPayment) for each in results) == 1
    refused = [each for each in results if not isinstance(each, GatewayPayment)]
    assert all(isinstance(each, Conflict) for each in refused)
    assert {each.constraint for each in refused if isinstance(each, Conflict)} == {
        reservation_store.ONE_PAYMENT
    }
    assert (await counters_of(database, new.wrapper)).in_progress == 1


async def test_landed_payment_begins_its_first_attempt_once(database: Database) -> None:
    new = new_payment(await enabled_wrapper(database))
    row = await paid(database, new)
    assert (row.state, row.tx_hash, row.attempts) == (PaymentState.PAID, HASH, 1)
    assert row.attempt_until is not None
    async with database.connection() as db:
        again = await payment_store.record_paid(db, row, HASH, attempt_for=A_MINUTE)
        assert again is None
        assert not await reservation_store.release(db, row)


async def test_one_call_at_a_time_holds_a_reservation(
    database: Database, other_pool: Database
) -> None:
    new = new_payment(await enabled_wrapper(database))

    first = await reserving(database)(new)
    assert first is not None

    async def hold(pool: Database) -> GatewayPayment | None:
        async with pool.connection() as db:
            return await reservation_store.hold_reservation(db, first, held_for=A_MINUTE)

    assert await hold(other_pool) is None
    async with database.connection() as db:
        await reservation_store.release_hold(db, first)
    held = await asyncio.gather(*(hold(each) for each in (database, other_pool) * 4))
    (second,) = [each for each in held if each is not None]
    async with database.connection() as db:
        await reservation_store.release_hold(db, first)  # it holds the reservation no longer
        assert not await reservation_store.release(db, first)
        assert await hold(database) is None
        assert await reservation_store.release(db, second)


async def test_reservation_can_be_held_again_once_its_time_has_passed(database: Database) -> None:
    new = new_payment(await enabled_wrapper(database))
    async with database.connection() as db:
        first = await reservation_store.reserve(db, new, held_for=timedelta(0))
        assert first is not None
        held = await reservation_store.hold_reservation(db, first, held_for=A_MINUTE)
        assert held is not None
        assert (first.epoch, held.epoch) == (0, 1)


async def test_reservation_of_another_request_is_not_held(database: Database) -> None:
    """Control: a hold by the nonce alone continues whatever payment has it."""
    async with database.connection() as db:
        new = new_payment(await enabled_wrapper(database))
        row = await reservation_store.reserve(db, new, held_for=timedelta(0))
        assert row is not None
        for other in (of_another_request(row), of_another_payment(row)):
            assert await reservation_store.hold_reservation(db, other, held_for=A_MINUTE) is None
            assert await payment_store.record_paid(db, other, HASH, attempt_for=A_MINUTE) is None


async def test_holder_cannot_release_a_reservation_that_was_made_again(
    database: Database,
) -> None:
    """Control: by the epoch alone, which begins again, the first holder releases the second."""
    new = new_payment(await enabled_wrapper(database))
    async with database.connection() as db:
        first = await reservation_store.reserve(db, new, held_for=A_MINUTE)
        assert first is not None
        assert await reservation_store.release(db, first)
        second = await reservation_store.reserve(db, new, held_for=A_MINUTE)
        assert second is not None
        assert first.epoch == second.epoch
        await reservation_store.release_hold(db, first)
        assert not await reservation_store.release(db, first)
        assert await payment_store.find_payment(db, new.identity) == second


async def test_unproven_reservation_stays_and_is_no_request_in_progress(
    database: Database,
) -> None:
    new = new_payment(await enabled_wrapper(database))
    hour = timedelta(hours=1)
    async with database.connection() as db:
        held = await reservation_store.reserve(db, new, held_for=A_MINUTE)
        assert held is not None
        for _ in range(2):  # the second changes nothing
            await reservation_store.leave_unproven(db, held, look_after=hour)
        looked = await db.fetchval("SELECT next_look_at - now() FROM gateway_payments")
    assert timedelta(minutes=59) < looked <= hour
    counters = await counters_of(database, new.wrapper)
    assert (counters.month_count, counters.in_progress) == (1, 0)


@pytest.mark.parametrize(("attempt_for", "in_progress"), [(A_MINUTE, 1), (None, 0)])
async def test_unproven_payment_that_has_landed_is_counted_by_its_attempt(
    database: Database, attempt_for: timedelta | None, in_progress: int
) -> None:
    new = new_payment(await enabled_wrapper(database))
    async with database.connection() as db:
        held = await reservation_store.reserve(db, new, held_for=A_MINUTE)
        assert held is not None
        await reservation_store.leave_unproven(db, held, look_after=A_MINUTE)
        row = await payment_store.record_paid(db, held, HASH, attempt_for=attempt_for)
    assert row is not None
    assert (await counters_of(database, new.wrapper)).in_progress == in_progress
    if attempt_for is not None:
        assert await end(database, row, PaymentState.DELIVERED)
        assert (await counters_of(database, new.wrapper)).in_progress == 0


async def test_unproven_reservation_that_is_released_leaves_no_count(database: Database) -> None:
    new = new_payment(await enabled_wrapper(database))
    async with database.connection() as db:
        held = await reservation_store.reserve(db, new, held_for=A_MINUTE)
        assert held is not None
        await reservation_store.leave_unproven(db, held, look_after=A_MINUTE)
        assert await reservation_store.release(db, held)
    counters = await counters_of(database, new.wrapper)
    assert (counters.minute_count, counters.month_count, counters.in_progress) == (0, 0, 0)


async def test_landed_payment_without_a_buyer_counts_as_in_progress_no_longer(
    database: Database,
) -> None:
    new = new_payment(await enabled_wrapper(database))
    held = await reserving(database)(new)
    assert held is not None
    async with database.connection() as db:
        row = await payment_store.record_paid(db, held, HASH, attempt_for=None)
    assert row is not None
    assert (row.attempts, row.attempt_until) == (0, None)
    counters = await counters_of(database, new.wrapper)
    assert (counters.month_count, counters.in_progress) == (1, 0)
    assert await begin(database, new) is not None


async def test_attempts_follow_one_another_five_at_most(
    database: Database, other_pool: Database
) -> None:
    new = new_payment(await enabled_wrapper(database))
    row: GatewayPayment | None = await paid(database, new)
    for number in range(1, MAX_ATTEMPTS + 1):
        assert row is not None
        assert row.attempts == number
        assert await begin(database, new) is None  # one is in progress
        assert await end(database, row, PaymentState.PAID)
        assert not await end(other_pool, row, PaymentState.DELIVERED)
        assert (await counters_of(database, new.wrapper)).in_progress == 0
        started = await asyncio.gather(*(begin(each, new) for each in (database, other_pool) * 3))
        successors = [each for each in started if each is not None]
        assert len(successors) <= 1
        row = successors[0] if successors else None
    assert row is None


async def test_attempt_begins_for_the_bound_request_only_while_the_wrapper_has_room(
    database: Database,
) -> None:
    new = new_payment(await enabled_wrapper(database))
    assert await end(database, await paid(database, new), PaymentState.PAID)
    assert await begin(database, new, concurrent_requests=0) is None
    assert await begin(database, new, other=of_another_request) is None
    assert await begin(database, new, other=of_another_payment) is None
    assert await begin(database, new) is not None


async def test_attempt_that_may_not_be_repeated_is_the_last(database: Database) -> None:
    new = new_payment(await enabled_wrapper(database))
    row = await paid(database, new)
    async with database.connection() as db:
        assert await payment_store.end_attempt(
            db, row, PaymentState.PAID, status=None, may_repeat=False
        )
    assert await begin(database, new) is None


@pytest.mark.parametrize("state", [PaymentState.DELIVERED, PaymentState.OWED])
async def test_ended_payment_stays_as_it_is(database: Database, state: PaymentState) -> None:
    new = new_payment(await enabled_wrapper(database))
    row = await paid(database, new)
    assert await end(database, row, state)
    for other in PaymentState:
        if other is not PaymentState.RESERVED:
            assert not await end(database, row, other)
    assert await begin(database, new) is None
    async with database.connection() as db:
        found = await payment_store.find_payment(db, new.identity)
    assert found is not None
    assert found.state is state


async def test_attempt_that_is_given_back_does_not_count(database: Database) -> None:
    new = new_payment(await enabled_wrapper(database), method="POST")
    row = await paid(database, new)
    for _ in range(2 * MAX_ATTEMPTS):
        async with database.connection() as db:
            assert await payment_store.return_attempt(db, row)
            found = await payment_store.find_payment(db, new.identity)
        assert found is not None
        assert (found.state, found.attempts, found.attempt_until, found.may_repeat) == (
            PaymentState.PAID, 0, None, True,
        )  # fmt: skip
        assert (await counters_of(database, new.wrapper)).in_progress == 0
        begun = await begin(database, new)
        assert begun is not None
        row = begun
    assert row.attempts == 1


async def test_attempt_that_sent_nothing_is_given_back_by_its_owner_alone_and_fences_its_end(
    database: Database,
) -> None:
    """Control: an end that is fenced by the number of attempts ends the next one as well."""
    new = new_payment(await enabled_wrapper(database))
    first = await paid(database, new)
    async with database.connection() as db:
        assert await payment_store.return_attempt(db, first)
    second = await begin(database, new)
    assert second is not None
    assert (first.attempts, second.attempts) == (1, 1)
    assert not await end(database, first, PaymentState.DELIVERED)
    async with database.connection() as db:  # the same number, and another attempt
        assert not await payment_store.return_attempt(db, first)
        assert await payment_store.read_lease(db, first) is None
        left = await payment_store.read_lease(db, second)
    assert left is not None
    assert timedelta(0) < left <= A_MINUTE
    assert (await counters_of(database, new.wrapper)).in_progress == 1
    assert await end(database, second, PaymentState.DELIVERED)
    async with database.connection() as db:
        assert not await payment_store.return_attempt(db, second)
        assert await payment_store.read_lease(db, second) is None


# how a replica of the version before takes a payment
_TAKEN_BY_OLDER = "attempts = attempts + 1, attempt_until = now() + interval '1 minute'"


async def test_attempt_of_an_older_replica_is_not_ended_by_a_newer_one(database: Database) -> None:
    """Control: by the epoch alone, which older replicas do not raise, the lost attempt ends it."""
    new = new_payment(await enabled_wrapper(database))
    lost = await paid(database, new)
    async with database.connection() as db:
        await db.execute(f"UPDATE gateway_payments SET {_TAKEN_BY_OLDER}")
        assert await payment_store.read_lease(db, lost) is None
        assert await payment_store.record_sending(db, lost) is None
        assert not await payment_store.return_attempt(db, lost)
        assert not await payment_store.end_unattended(db, lost, PaymentState.OWED)
    assert not await end(database, lost, PaymentState.DELIVERED)


async def test_reservation_that_an_older_replica_holds_is_not_released(database: Database) -> None:
    new = new_payment(await enabled_wrapper(database))
    async with database.connection() as db:
        first = await reservation_store.reserve(db, new, held_for=timedelta(0))
        assert first is not None
        await db.execute(f"UPDATE gateway_payments SET {_TAKEN_BY_OLDER}")
        assert not await reservation_store.release(db, first)


async def test_hold_raises_the_number_by_which_older_replicas_know_their_own(
    database: Database,
) -> None:
    """Control: a first holder of the version before, whose time has passed, deletes the row."""
    new = new_payment(await enabled_wrapper(database))
    async with database.connection() as db:
        first = await reservation_store.reserve(db, new, held_for=timedelta(0))
        assert first is not None
        held = await reservation_store.hold_reservation(db, first, held_for=A_MINUTE)
        assert held is not None
        assert (first.attempts, held.attempts) == (0, 1)
        row = await payment_store.record_paid(db, held, HASH, attempt_for=A_MINUTE)
    assert row is not None
    assert row.attempts == 1


async def test_sending_is_recorded_within_the_time_of_the_attempt_alone(
    database: Database,
) -> None:
    new = new_payment(await enabled_wrapper(database))
    row = await paid(database, new)
    async with database.connection() as db:
        left = await payment_store.record_sending(db, row)
        assert left is not None
        assert timedelta(0) < left <= A_MINUTE
        known = await payment_store.find_payment(db, new.identity)
        assert known is not None
        assert not known.may_repeat
        await db.execute("UPDATE gateway_payments SET may_repeat = true, attempt_until = now()")
        assert await payment_store.record_sending(db, row) is None
