"""An attempt to deliver: one request to a real TLS upstream, one recorded end."""

import asyncio
from dataclasses import replace
from itertools import product
from typing import Final

import pytest

from farebox.gateway.delivery.attempt import DeliveryFault, NotDelivered
from farebox.gateway.delivery.deliver import Deliverer, ResponseCut
from farebox.gateway.delivery.pass_response import BuyerLeft
from farebox.gateway.payment import PaymentState
from farebox.gateway.relay.received_body import MEMORY_BYTES
from farebox.kernel.clock import SystemClock
from farebox.kernel.errors import Outage
from farebox.kernel.secret import Secret
from support.delivery_attempts import Attempt, Attempted, RecordedResponse
from support.faulty_database import LosingDatabase
from support.loop_time import LaterTime
from support.upstream import GatedUpstream, answers, drips, drops, says
from testing.waiting import until

JSON: Final = ("Content-Type: application/json",)


async def test_short_response_is_stored_and_passed_on(attempt: Attempt) -> None:
    async with attempt(answers(b"sunny", status="201 Made", headers=JSON)) as it:
        assert await it.deliver() is None
        assert (it.buyer.status, it.buyer.body, it.buyer.length) == (201, b"sunny", 5)
        assert it.buyer.is_whole
        assert (b"content-type", b"application/json") in it.buyer.headers
        row = await it.row()
        assert (row.state, row.attempt_until, await it.stored()) == (
            PaymentState.DELIVERED, None, 1,
        )  # fmt: skip


async def test_long_response_is_streamed_and_not_stored(attempt: Attempt) -> None:
    body = bytes(range(256)) * 200
    async with attempt(answers(body)) as it:
        assert await it.deliver() is None
        assert (it.buyer.body, it.buyer.length, it.buyer.is_whole) == (body, len(body), True)
        assert ((await it.row()).state, await it.stored()) == (PaymentState.DELIVERED, 0)


async def test_status_of_the_upstream_is_delivered(attempt: Attempt) -> None:
    async with attempt(drops()) as it:
        for status in (202, 204, 404):
            body = b"" if status == 204 else b"x"
            it.seller.upstream.answer = answers(body, status=f"{status} X")
            assert await it.deliver() is None
            assert (it.buyer.status, (await it.row()).state) == (status, PaymentState.DELIVERED)
            await it.pay_again()


async def test_status_that_is_no_delivery_may_be_attempted_again(attempt: Attempt) -> None:
    headers = ("Location: /private",)
    async with attempt(drops()) as it:
        for status in (302, 402, 429, 500):
            it.seller.upstream.answer = answers(b"", status=f"{status} X", headers=headers)
            failed = await it.deliver(may_repeat=False)
            assert failed == NotDelivered(
                it.payment, DeliveryFault.STATUS, PaymentState.PAID, status
            )
            row = await it.row()
            assert (row.state, row.attempt_until, row.may_repeat) == (PaymentState.PAID, None, True)
            assert it.buyer == RecordedResponse()
            await it.pay_again()


ENDLESS: Final = drips(b"", head=b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
INCOMPLETE: Final = (
    (drops(), DeliveryFault.BROKEN, 20),
    (says(b"no http\r\n\r\n"), DeliveryFault.BROKEN, 20),
    (answers(b"short", length=50), DeliveryFault.BROKEN, 20),
    (answers(b"x" * 100_001), DeliveryFault.TOO_LARGE, 20),
    (ENDLESS, DeliveryFault.TIMEOUT, 2),
)


async def test_incomplete_response_is_not_delivered(attempt: Attempt) -> None:
    async with attempt(drops()) as it:
        for row, (answer, fault, timeout_s) in enumerate(INCOMPLETE):
            it.seller.upstream.answer = answer
            failed = await it.deliver(timeout_s=timeout_s)
            assert failed is not None
            assert (failed.fault, failed.state) == (fault, PaymentState.PAID), row
            assert it.buyer == RecordedResponse()
            await it.pay_again()


@pytest.mark.parametrize("is_repeatable", [True, False])
async def test_unknown_outcome_of_an_unsafe_method_is_owed(
    attempt: Attempt, is_repeatable: bool
) -> None:
    async with attempt(drops()) as it:
        it.method = "POST"
        failed = await it.deliver(may_repeat=is_repeatable)
        assert failed is not None
        assert failed.state is (PaymentState.PAID if is_repeatable else PaymentState.OWED)
        assert (await it.row()).state is failed.state
        assert it.seller.upstream.connections == 1


async def test_request_that_was_not_sent_may_be_attempted_again(attempt: Attempt) -> None:
    async with attempt(drops()) as it:
        it.method = "POST"
        failed = await it.deliver(url="https://nowhere.example.com/", may_repeat=False)
        assert failed == NotDelivered(it.payment, DeliveryFault.NOT_REACHED, PaymentState.PAID)
        assert it.seller.upstream.connections == 0


async def test_response_that_breaks_after_a_part_was_passed_on_is_cut(attempt: Attempt) -> None:
    async with attempt(answers(b"x" * 50_000, length=60_000)) as it:
        with pytest.raises(ResponseCut):
            await it.deliver()
        assert not it.buyer.is_whole
        assert (await it.row()).state is PaymentState.PAID


@pytest.mark.parametrize("may_repeat", [True, False])
async def test_buyer_who_leaves_a_long_response_has_not_got_it(
    attempt: Attempt, may_repeat: bool
) -> None:
    async with attempt(answers(b"x" * 90_000), leaves_after=2_000) as it:
        with pytest.raises(BuyerLeft):
            await it.deliver(may_repeat=may_repeat)
        row = await it.row()
        assert row.state is (PaymentState.PAID if may_repeat else PaymentState.OWED)
        assert (row.attempts, row.attempt_until, await it.stored()) == (1, None, 0)


async def test_buyer_who_leaves_a_short_response_finds_it_stored(attempt: Attempt) -> None:
    async with attempt(answers(b"sunny"), leaves_after=0) as it:
        assert await it.deliver() is None
        assert ((await it.row()).state, await it.stored()) == (PaymentState.DELIVERED, 1)


@pytest.mark.parametrize("is_broken", [False, True])
async def test_buyer_who_takes_a_response_slowly_uses_up_no_time_of_the_upstream(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch, is_broken: bool
) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 80000\r\n\r\n"
    upstream = GatedUpstream(head + b"x" * 40_000, b"x" * 40_000)
    later = LaterTime(monkeypatch)

    class SlowResponse(RecordedResponse):
        async def write(self, part: bytes, *, is_last: bool = False) -> None:
            later.turn(30)
            upstream.gate.set()
            await super().write(part, is_last=is_last)

    async with attempt(upstream.answer) as it:
        it.buyer = SlowResponse()
        if not is_broken:
            assert await it.deliver() is None
            assert ((await it.row()).state, len(it.buyer.body)) == (PaymentState.DELIVERED, 80_000)
            return
        later.keep_deadline()
        with pytest.raises(ResponseCut) as cut:  # the control
            await it.deliver()
        assert cut.value.fault is DeliveryFault.TIMEOUT


async def test_buyer_has_the_time_of_its_attempt_but_for_the_record_of_its_end(
    attempt: Attempt,
) -> None:
    limits = list[float]()

    class LimitedResponse(RecordedResponse):
        def limit_time(self, within_s: float) -> None:
            limits.append(within_s)

    async with attempt(answers(b"sunny")) as it:
        it.buyer = LimitedResponse()
        assert await it.deliver() is None
        assert 3500 < limits[0] <= 3595


async def test_event_stream_is_delivered_after_its_first_event(attempt: Attempt) -> None:
    """The upstream's time ends with the stream open; without an event it is not delivered."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    async with attempt(drops()) as it:
        for text, state in (
            (b"data: 1\n\n", PaymentState.DELIVERED), (b": wait\n", PaymentState.PAID),
        ):  # fmt: skip
            it.seller.upstream.answer = drips(text, head=head)
            with pytest.raises(ResponseCut):
                await it.deliver(timeout_s=2)
            assert it.buyer.body.startswith(text + text)
            assert (await it.row()).state is state
            await it.pay_again()


async def test_body_of_the_request_reaches_the_upstream_from_memory_and_from_disk(
    attempt: Attempt,
) -> None:
    for size in (10, MEMORY_BYTES, MEMORY_BYTES + 1):
        async with attempt(answers(b"ok")) as it:
            it.method = "PUT"
            it.body.add(b"b" * size)
            assert await it.deliver() is None
            head, _, body = it.seller.upstream.requests[0].partition(b"\r\n\r\n")
            assert b"content-length: %d" % size in head.lower()
            assert body == b"b" * size


async def test_attempt_ends_once_however_many_deliver_it(attempt: Attempt) -> None:
    async with attempt(answers(b"sunny")) as it:
        ends = await asyncio.gather(*(it.deliver() for _ in range(3)))
        assert await it.stored() == 1
        lost = [each.fault for each in ends if each is not None]
        assert lost == [DeliveryFault.LOST, DeliveryFault.LOST]


async def test_attempt_that_was_lost_while_the_upstream_answered_passes_nothing_on(
    attempt: Attempt,
) -> None:
    async with attempt(drops()) as it:
        for kind, body in product((b"text/plain", b"text/event-stream"), (b"sunny", b"x" * 90_000)):
            head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n\r\n" % kind
            upstream = GatedUpstream(b"", head + b"data: " + body + b"\n\n")
            it.seller.upstream.answer = upstream.answer
            it.seller.upstream.requests.clear()
            delivering = asyncio.create_task(it.deliver())
            await until(lambda: it.seller.upstream.requests)
            await it.lose()
            upstream.gate.set()
            failed = await delivering
            assert failed is not None
            assert (failed.fault, failed.state) == (DeliveryFault.LOST, PaymentState.PAID), kind
            assert it.buyer == RecordedResponse()
            assert (await it.row()).state is PaymentState.PAID
            await it.pay_again()


async def test_attempt_that_was_lost_within_a_body_is_cut(attempt: Attempt) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 6000\r\n\r\n"
    upstream = GatedUpstream(head + b"x" * 3000, b"x" * 3000)
    async with attempt(upstream.answer) as it:
        delivering = asyncio.create_task(it.deliver())
        await until(lambda: it.buyer.body)
        await it.lose()
        upstream.gate.set()
        with pytest.raises(ResponseCut) as cut:
            await delivering
        assert cut.value.fault is DeliveryFault.LOST
        assert (len(it.buyer.body), it.buyer.is_whole) == (5999, False)
        assert (await it.row()).state is PaymentState.PAID


async def test_attempt_whose_time_has_passed_does_not_reach_the_upstream(attempt: Attempt) -> None:
    async with attempt(answers(b"sunny")) as it:
        await it.lose()
        it.payment = replace(it.payment, attempt_until=SystemClock().now())
        failed = await it.deliver()
        assert failed is not None
        assert failed.fault is DeliveryFault.LOST
        assert (it.buyer, it.seller.upstream.connections) == (RecordedResponse(), 0)


async def test_failed_attempt_that_was_lost_says_what_became_of_the_payment(
    attempt: Attempt,
) -> None:
    upstream = GatedUpstream(b"", b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n")
    async with attempt(upstream.answer) as it:
        delivering = asyncio.create_task(it.deliver())
        await until(lambda: it.seller.upstream.requests)
        async with it.database.connection() as db:
            await db.execute("UPDATE gateway_payments SET may_repeat = false")
        await it.lose()
        upstream.gate.set()
        failed = await delivering
        assert failed is not None
        assert (failed.fault, failed.state) == (DeliveryFault.LOST, PaymentState.OWED)


async def test_delivery_whose_record_is_unanswered_is_passed_on(
    attempt: Attempt, postgres_url: Secret[str]
) -> None:
    async with attempt(answers(b"sunny")) as it, LosingDatabase(postgres_url) as losing:
        it.delivery = Deliverer(losing, it.relay, it.keeper, SystemClock())
        losing.lost_answers = 1
        assert await it.deliver() is None
        assert (it.buyer.body, (await it.row()).state) == (b"sunny", PaymentState.DELIVERED)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_request_that_met_our_own_congestion_was_no_attempt(
    attempt: Attempt, method: str
) -> None:
    async with attempt(answers(b"sunny"), max_calls=0) as it:
        it.method = method
        failed = await it.deliver(may_repeat=method == "GET")
        row = await it.row()
        assert failed == NotDelivered(
            replace(it.payment, attempts=0, attempt_until=None),
            DeliveryFault.CONGESTED,
            PaymentState.PAID,
        )
        assert (row.state, row.attempts, row.attempt_until, row.may_repeat) == (
            PaymentState.PAID, 0, None, True,
        )  # fmt: skip


async def test_buyer_who_has_left_before_the_call_makes_no_attempt(attempt: Attempt) -> None:
    async with attempt(answers(b"sunny"), has_left=True) as it:
        with pytest.raises(BuyerLeft):
            await it.deliver()
        row = await it.row()
        assert (row.state, row.attempts, it.seller.upstream.connections) == (
            PaymentState.PAID, 0, 0,
        )  # fmt: skip


async def leave_during_the_call(it: Attempted, upstream: GatedUpstream) -> None:
    """The buyer leaves while the upstream answers: the response is stored."""
    delivering = asyncio.create_task(it.deliver(may_repeat=False))
    await until(lambda: it.seller.upstream.requests)
    it.buyer.has_left = True
    upstream.gate.set()
    with pytest.raises(BuyerLeft):
        await delivering


class SilentResponse(RecordedResponse):
    """A buyer who gives no sign, and is not known to have left."""

    async def wait_until_taken(self) -> None:
        raise BuyerLeft


async def test_buyer_who_gives_no_sign_before_a_stored_response_makes_no_attempt(
    attempt: Attempt,
) -> None:
    upstream = GatedUpstream(b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsunny")
    async with attempt(upstream.answer) as it:
        await leave_during_the_call(it, upstream)
        attempts = (await it.row()).attempts
        await it.begin()
        it.buyer = SilentResponse()
        with pytest.raises(BuyerLeft):
            await it.deliver(may_repeat=False)
        row = await it.row()
        assert (row.state, row.attempts, row.attempt_until) == (PaymentState.PAID, attempts, None)


async def test_response_that_waits_and_cannot_be_opened_is_not_asked_for_again(
    attempt: Attempt,
) -> None:
    upstream = GatedUpstream(b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsunny")
    async with attempt(upstream.answer) as it:
        await leave_during_the_call(it, upstream)
        it.buyer.has_left = False
        await it.begin()
        async with it.database.connection() as db:
            sealed = await db.fetchval("UPDATE gateway_responses SET sealed = '' RETURNING sealed")
        with pytest.raises(Outage):
            await it.deliver(may_repeat=False)
        row = await it.row()
        assert (row.state, row.attempts, row.may_repeat) == (PaymentState.PAID, 1, True)
        assert (it.buyer.status, it.seller.upstream.connections, sealed) == (0, 1, b"")


@pytest.mark.parametrize("length", ["Content-Length: 90000\r\n", ""])
async def test_response_above_the_limit_of_its_buyer_is_not_delivered(
    attempt: Attempt, length: str
) -> None:
    whole = f"HTTP/1.1 200 OK\r\n{length}\r\n".encode() + b"x" * 90_000
    async with attempt(says(whole), limit_bytes=50_000) as it:
        if length:
            failed = await it.deliver()
            assert failed is not None
            assert (failed.fault, it.buyer.status) == (DeliveryFault.ABOVE_LIMIT, 0)
        else:
            with pytest.raises(ResponseCut) as cut:
                await it.deliver()
            assert cut.value.fault is DeliveryFault.ABOVE_LIMIT
        assert (await it.row()).state is PaymentState.PAID
        it.buyer = RecordedResponse()
        await it.begin()
        assert await it.deliver() is None
        assert (len(it.buyer.body), (await it.row()).state) == (90_000, PaymentState.DELIVERED)


async def test_stream_is_delivered_at_its_end_to_a_buyer_who_is_shown_whole_bodies(
    attempt: Attempt,
) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    upstream = GatedUpstream(head + b"data: 1\n\n")
    async with attempt(upstream.answer, limit_bytes=50_000) as it:
        delivering = asyncio.create_task(it.deliver())
        await until(lambda: it.buyer.body)
        assert (await it.row()).state is PaymentState.PAID
        upstream.gate.set()
        assert await delivering is None
        assert ((await it.row()).state, it.buyer.is_whole) == (PaymentState.DELIVERED, True)
