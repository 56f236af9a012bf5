"""Buyers who end their sending side: one who waits is served, one who has closed has left.

The two look alike until something is written: the machine of the second resets the connection.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from farebox.storage.pool import Database
from farebox.web.half_closed import HalfClosableCycle
from support.gateway import GatewayBench, HeldSettlement, Opened, sent
from support.socket_buyer import SocketBuyer, payment_row, socket_buyer, until_ended
from support.upstream import GatedUpstream
from testing.waiting import until

LONG = 200_000
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"
SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
LARGE = b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


@asynccontextmanager
async def called(at: GatewayBench, method: str = "GET") -> AsyncIterator[SocketBuyer]:
    """A buyer whose request the upstream has."""
    async with socket_buyer(at, method=method) as buyer:
        await until(lambda: sent(at))
        yield buyer


@pytest.mark.parametrize("is_early", [True, False])
@pytest.mark.parametrize(
    ("method", "head", "body"),
    [
        ("GET", SHORT, b"sunny"),
        ("POST", SHORT, b"sunny"),
        ("POST", LARGE, b"x" * LONG),
        ("GET", STREAM, b"data: 1\n\n"),
    ],
    ids=["short", "short post", "long", "stream"],
)
async def test_buyer_who_ends_its_sending_side_gets_what_it_paid_for(
    opened: Opened, database: Database, head: bytes, body: bytes, is_early: bool, method: str
) -> None:
    upstream = GatedUpstream(b"", head + body)
    async with opened(answer=upstream.answer) as at, socket_buyer(at, method=method) as buyer:
        if is_early:
            buyer.end_sending()
        await until(lambda: sent(at))
        if not is_early:
            buyer.end_sending()
        await buyer.read_until(INTERIM)
        upstream.gate.set()
        answer = (await buyer.read_rest()).replace(INTERIM, b"")
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert body in answer
        row = await until_ended(database)
        assert (row["state"], row["attempts"]) == ("delivered", 1)


async def test_upstream_is_not_called_for_a_buyer_who_closed_during_the_settlement(
    opened: Opened, database: Database
) -> None:
    held = HeldSettlement(database)
    async with opened(outcome_of=held) as at, socket_buyer(at) as buyer:
        await held.settling.wait()
        await buyer.close_noted()
        held.gate.set()
        row = await until_ended(database)
        assert (row["state"], row["attempts"], row["stored"]) == ("paid", 0, 0)
        assert sent(at) == []


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_response_whose_buyer_closed_waits_for_the_same_request(
    opened: Opened, database: Database, method: str
) -> None:
    upstream = GatedUpstream(b"", SHORT + b"sunny")
    async with opened(answer=upstream.answer) as at:
        async with called(at, method) as buyer:
            await buyer.close_noted()
            upstream.gate.set()
            row = await until_ended(database)
            assert (row["state"], row["stored"]) == ("paid", 1)
        assert (await at.pay(method=method)).body == b"sunny"
        assert len(sent(at)) == 1


async def close_after_the_sign(
    at: GatewayBench, upstream: GatedUpstream, database: Database
) -> None:
    """End the sending side, give the sign that one is there, and close without a further one."""
    async with called(at) as buyer:
        buyer.end_sending()
        await buyer.read_until(INTERIM)
        await buyer.close()
        upstream.gate.set()
        await until_ended(database)


@pytest.mark.parametrize(
    ("head", "body"), [(SHORT, b"sunny"), (LARGE, b"x" * LONG)], ids=["short", "long"]
)
async def test_buyer_who_closes_after_it_gave_a_sign_has_not_got_the_response(
    opened: Opened, database: Database, head: bytes, body: bytes
) -> None:
    upstream = GatedUpstream(b"", head + body)
    async with opened(answer=upstream.answer) as at:
        await close_after_the_sign(at, upstream, database)
        row = await payment_row(database)
        assert (row["state"], row["stored"]) == ("paid", int(head is SHORT))


async def test_control_without_a_further_sign_such_a_response_would_be_delivered(
    opened: Opened, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask_once(cycle: HalfClosableCycle) -> None:
        monkeypatch.setattr(HalfClosableCycle, "_ask_for_sign", lambda _: None)
        cycle.transport.write(INTERIM)

    monkeypatch.setattr(HalfClosableCycle, "_ask_for_sign", ask_once)
    upstream = GatedUpstream(b"", SHORT + b"sunny")
    async with opened(answer=upstream.answer) as at:
        await close_after_the_sign(at, upstream, database)
        assert (await payment_row(database))["state"] == "delivered"
