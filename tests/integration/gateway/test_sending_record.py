"""What an attempt records before its request goes out, and while the database is away."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from farebox.gateway.delivery import payment_store
from farebox.gateway.delivery.attempt import DeliveryFault
from farebox.gateway.delivery.deliver import Deliverer
from farebox.gateway.delivery.keep_response import ResponseKeeper
from farebox.gateway.delivery.kept_response import KeptResponse
from farebox.gateway.delivery.outcome import NoAttemptLeft, NotServed
from farebox.gateway.payment import PaymentState
from farebox.kernel.clock import SystemClock
from farebox.kernel.errors import Outage
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.delivery_attempts import Attempt, Attempted, RecordedResponse
from support.faulty_database import LosableDatabase, LosingDatabase
from support.upstream import GatedUpstream, answers
from testing.waiting import until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsunny"


async def write(it: Attempted, change: str) -> None:
    async with it.database.connection() as db:
        await db.execute(f"UPDATE gateway_payments SET {change}")


def by(it: Attempted, database: Database) -> Deliverer:
    """The use case over another pool."""
    return Deliverer(database, it.relay, it.keeper, SystemClock())


@pytest.mark.parametrize("may_repeat", [True, False])
async def test_request_that_is_sent_once_is_recorded_before_it_goes_out(
    attempt: Attempt, may_repeat: bool
) -> None:
    upstream = GatedUpstream(b"", OK)
    async with attempt(upstream.answer) as it:
        assert it.payment.may_repeat
        delivering = asyncio.create_task(it.deliver(may_repeat=may_repeat))
        await until(lambda: it.seller.upstream.requests)
        assert (await it.row()).may_repeat is may_repeat
        upstream.gate.set()
        assert await delivering is None


async def test_attempt_whose_record_of_sending_is_unanswered_goes_on(
    attempt: Attempt, postgres_url: Secret[str]
) -> None:
    async with attempt(answers(b"sunny")) as it, LosingDatabase(postgres_url) as losing:
        it.delivery = by(it, losing)
        losing.lost_answers = 1
        assert await it.deliver(may_repeat=False) is None
        assert ((await it.row()).state, it.buyer.body) == (PaymentState.DELIVERED, b"sunny")


async def test_attempt_that_cannot_record_its_sending_sends_nothing(
    attempt: Attempt,
) -> None:
    """Control: a build that sends all the same may send a POST twice."""
    async with attempt(answers(b"sunny")) as it:
        losable = LosableDatabase(it.database)
        losable.is_lost = True
        it.delivery = by(it, losable)
        with pytest.raises(Outage):
            await it.deliver(may_repeat=False)
        assert (it.buyer, it.seller.upstream.connections) == (RecordedResponse(), 0)
        await it.lose()
        row = await it.row()
        assert (row.state, row.may_repeat) == (PaymentState.PAID, True)


async def test_attempt_that_was_lost_before_its_request_sends_nothing(attempt: Attempt) -> None:
    async with attempt(answers(b"sunny")) as it:
        await it.lose()
        await it.begin()
        successor, it.payment = it.payment, replace(it.payment, epoch=1, attempts=1)
        failed = await it.deliver(may_repeat=False)
        assert failed is not None
        assert (failed.fault, failed.payment) == (DeliveryFault.LOST, successor)
        assert it.seller.upstream.connections == 0


async def test_attempt_over_a_stored_response_that_dies_leaves_the_payment_to_the_next(
    attempt: Attempt,
) -> None:
    """Control: a build that may not repeat it from its beginning owes what it has stored."""
    async with attempt(answers(b"never")) as it:
        kept = it.keeper.seal(it.payment, KeptResponse(200, (), b"sunny"))
        async with it.database.connection() as db:
            assert await payment_store.end_attempt(
                db, it.payment, PaymentState.PAID, status=200, may_repeat=True, kept=kept
            )
        await it.begin()
        await it.lose()  # its process has died
        await it.begin()
        assert await it.deliver(may_repeat=False) is None
        assert (it.buyer.body, it.seller.upstream.connections) == (b"sunny", 0)


@pytest.mark.parametrize("lost", [1, 4])
async def test_attempt_is_given_back_once_the_database_is_there_again(
    attempt: Attempt, lost: int
) -> None:
    """Control: a build that tries once uses up an attempt in every outage."""

    class Returning(LosableDatabase):
        left = lost

        @property
        def is_lost(self) -> bool:
            self.left -= 1
            return self.left >= 0

        @is_lost.setter
        def is_lost(self, _: bool) -> None: ...

    async with attempt(answers(b"sunny")) as it:
        given = await by(it, Returning(it.database)).give_back(it.payment)
        assert isinstance(given, NotServed)
        row = await it.row()
        assert (given.payment.attempts, row.attempts, row.attempt_until) == (0, 0, None)


async def test_attempt_that_cannot_be_given_back_counts(attempt: Attempt) -> None:
    async with attempt(answers(b"sunny")) as it:
        losable = LosableDatabase(it.database)
        losable.is_lost = True
        assert await by(it, losable).give_back(it.payment) == NotServed(it.payment)


async def test_attempt_of_a_payment_that_was_owed_meanwhile_is_not_offered_again(
    attempt: Attempt,
) -> None:
    async with attempt(answers(b"sunny")) as it:
        await write(it, "state = 'owed', attempt_until = NULL, ended_at = now()")
        given = await it.delivery.give_back(it.payment)
        assert isinstance(given, NoAttemptLeft)


async def test_delivery_of_a_later_attempt_with_the_number_is_not_this_one_s(
    attempt: Attempt, postgres_url: Secret[str]
) -> None:
    """The first attempt was given back, and its number is used again.

    Control: a build that compares the number alone passes the response on a second time.
    """
    upstream = GatedUpstream(b"", OK)
    async with attempt(upstream.answer) as it, LosingDatabase(postgres_url) as losing:
        first = it.payment
        it.delivery = Deliverer(losing, it.relay, ResponseKeeper(losing, None), SystemClock())
        delivering = asyncio.create_task(it.deliver())
        await until(lambda: it.seller.upstream.requests)
        async with it.database.connection() as db:
            assert await payment_store.return_attempt(db, first)
            later = await payment_store.start_attempt(
                db, first, attempt_for=timedelta(hours=1), concurrent_requests=50
            )
            assert later is not None
            assert later.attempts == first.attempts
            assert await payment_store.end_attempt(
                db, later, PaymentState.DELIVERED, status=200, may_repeat=False
            )
        losing.lost_answers = 1
        upstream.gate.set()
        failed = await delivering
        assert failed is not None
        assert (failed.fault, it.buyer) == (DeliveryFault.LOST, RecordedResponse())
