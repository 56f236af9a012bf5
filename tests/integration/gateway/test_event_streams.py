"""Event streams and other bodies in parts: each piece reaches the buyer as it comes."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from farebox.storage.pool import Database
from support.gateway import GatewayBench, Opened
from support.socket_buyer import SocketBuyer, payment_row, socket_buyer, until_ended
from support.upstream import Answer, GatedUpstream

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%s\r\n"
EVENTS = HEAD % (b"text/event-stream", b"")  # ends with its connection
Streamed = Callable[..., AbstractAsyncContextManager[tuple[GatewayBench, SocketBuyer]]]


@pytest.fixture
def streamed(opened: Opened) -> Streamed:
    """A gateway, and a buyer whose paid request is sent."""

    @asynccontextmanager
    async def buy(
        answer: Answer, **members: int
    ) -> AsyncIterator[tuple[GatewayBench, SocketBuyer]]:
        async with opened(answer=answer, **members) as at, socket_buyer(at) as buyer:
            yield at, buyer

    return buy


@pytest.mark.parametrize("event", [b"data: 1\n\n", b"data: 1\r\r"])
async def test_stream_of_one_event_is_delivered_while_the_stream_is_open(
    streamed: Streamed, database: Database, event: bytes
) -> None:
    upstream = GatedUpstream(EVENTS + event)
    async with streamed(upstream.answer) as (_, buyer):
        await buyer.read_until(b"\r\n\r\n")
        assert await buyer.read_until(event + b"\r\n") == b"%x\r\n%s\r\n" % (len(event), event)
        row = await until_ended(database)
        assert (row["state"], row["in_progress"]) == ("delivered", 0)
        assert not upstream.hung_up.is_set()
        upstream.gate.set()
        assert await buyer.read_chunks() == (b"", True)


@pytest.mark.parametrize("text", [b": wait\n\n", b"data: 1\n"])
async def test_stream_that_ends_without_an_event_is_cut_and_not_delivered(
    streamed: Streamed, database: Database, text: bytes
) -> None:
    upstream = GatedUpstream(EVENTS + text)
    async with streamed(upstream.answer) as (at, buyer):
        await buyer.read_until(text + b"\r\n")  # passed on as it came
        assert (await payment_row(database))["state"] == "paid"
        upstream.gate.set()
        assert await buyer.read_chunks() == (b"", False)
        row = await until_ended(database)
        assert (row["state"], row["attempts"], row["stored"]) == ("paid", 1, 0)
        again = GatedUpstream(EVENTS + b"data: 1\n\n")
        again.gate.set()
        at.seller.upstream.answer = again.answer
        answer = await at.pay()
        assert (answer.status, answer.body) == (200, b"data: 1\n\n")


async def test_stream_without_a_byte_is_not_delivered(
    streamed: Streamed, database: Database
) -> None:
    upstream = GatedUpstream(EVENTS)
    upstream.gate.set()
    async with streamed(upstream.answer) as (_, buyer):
        await buyer.read_until(b"\r\n\r\n")
        assert await buyer.read_chunks() == (b"", False)
        assert (await until_ended(database))["state"] == "paid"


@pytest.mark.parametrize("cut", [1, 9, 10])
async def test_event_in_two_pieces_is_delivered_with_the_second(
    streamed: Streamed, database: Database, cut: int
) -> None:
    event = b"data: 12\r\n\r\n"
    upstream = GatedUpstream(EVENTS + event[:cut], event[cut:])
    async with streamed(upstream.answer) as (_, buyer):
        await buyer.read_until(b"\r\n\r\n")
        await buyer.read_until(event[:cut] + b"\r\n")
        assert (await payment_row(database))["state"] == "paid"
        upstream.gate.set()
        assert await buyer.read_chunks() == (event[cut:], True)
        assert (await until_ended(database))["state"] == "delivered"


async def test_stream_of_known_length_is_delivered_with_its_event(
    streamed: Streamed, database: Database
) -> None:
    event = b"data: 1\n\n"
    length = b"Content-Length: %d\r\n" % len(event)
    upstream = GatedUpstream(HEAD % (b"text/event-stream; charset=utf-8", length) + event)
    upstream.gate.set()
    async with streamed(upstream.answer) as (_, buyer):
        head = await buyer.read_until(b"\r\n\r\n")
        assert b"transfer-encoding: chunked" in head.lower()
        assert await buyer.read_chunks() == (event, True)
        assert (await until_ended(database))["state"] == "delivered"


async def test_stream_that_breaks_after_its_first_event_is_delivered_and_cut(
    streamed: Streamed, database: Database
) -> None:
    event = b"data: 1\n\n"
    chunked = HEAD % (b"text/event-stream", b"Transfer-Encoding: chunked\r\n")
    upstream = GatedUpstream(chunked + b"9\r\n" + event + b"\r\n")
    async with streamed(upstream.answer) as (_, buyer):
        await buyer.read_until(event + b"\r\n")
        upstream.gate.set()
        assert await buyer.read_chunks() == (b"", False)
        assert (await until_ended(database))["state"] == "delivered"


async def test_encoded_stream_is_delivered_with_its_first_bytes(
    streamed: Streamed, database: Database
) -> None:
    encoded = HEAD % (b"text/event-stream", b"Content-Encoding: br\r\n")
    upstream = GatedUpstream(encoded + b"\x1f\x8b")
    async with streamed(upstream.answer) as (_, buyer):
        await buyer.read_until(b"\x1f\x8b\r\n")
        assert (await until_ended(database))["state"] == "delivered"


async def test_lines_of_a_body_in_chunks_are_passed_on_as_they_come(
    streamed: Streamed, database: Database
) -> None:
    chunked = HEAD % (b"application/x-ndjson", b"Transfer-Encoding: chunked\r\n")
    line, end = b'{"a": 1}\n', b"0\r\n\r\n"
    upstream = GatedUpstream(chunked + b"9\r\n" + line + b"\r\n", b"9\r\n" + line + b"\r\n" + end)
    async with streamed(upstream.answer, keep_answer_bytes=0) as (_, buyer):
        await buyer.read_until(line + b"\r\n")
        assert (await payment_row(database))["state"] == "paid"
        upstream.gate.set()
        assert await buyer.read_chunks() == (line, True)
        assert (await until_ended(database))["state"] == "delivered"


async def test_body_of_known_length_is_passed_on_but_its_last_byte(
    streamed: Streamed, database: Database
) -> None:
    upstream = GatedUpstream(HEAD % (b"text/plain", b"Content-Length: 10\r\n") + b"12345", b"67890")
    async with streamed(upstream.answer, keep_answer_bytes=0) as (_, buyer):
        await buyer.read_until(b"\r\n\r\n")
        assert await buyer.read_until(b"5") == b"12345"
        assert (await payment_row(database))["state"] == "paid"
        upstream.gate.set()
        assert await buyer.read_rest() == b"67890"
        assert (await until_ended(database))["state"] == "delivered"
