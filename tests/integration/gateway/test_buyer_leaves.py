"""Buyers who leave at each step of a paid request, over real connections to the server we use."""

import asyncio
from typing import Any

import pytest

from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.outbound.client import MAX_CALLS
from farebox.storage.pool import Database
from support.gateway import GatewayBench, HeldSettlement, Opened, sent
from support.gateway_payments import SlotCounters, counters_of
from support.socket_buyer import payment_row, socket_buyer, until_ended
from support.upstream import Answer, GatedUpstream, answers

LONG = 200_000
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


def head_of(length: int, *, status: str = "200 OK") -> bytes:
    """The head of a response of known length."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n".encode()


async def buy_again(at: GatewayBench, method: str = "GET") -> tuple[int, bytes]:
    """Send the same request with the same payment again."""
    answer = await at.pay(method=method)
    return answer.status, answer.body


@pytest.mark.parametrize("leaves", [True, False], ids=["leaves", "stays"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_buyer_who_leaves_while_its_payment_is_judged_is_not_charged(
    opened: Opened, database: Database, monkeypatch: pytest.MonkeyPatch, method: str, leaves: bool
) -> None:
    judging, gate, judged = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def judge(request: SettleRequest) -> None:
        judging.set()
        await gate.wait()
        judged.set()

    async def count_rows() -> int:
        async with database.connection() as db:
            counts = [
                await db.fetchval(f"SELECT count(*) FROM {table}")
                for table in ("settlements", "gateway_payments")
            ]
        return sum(counts)

    async with opened() as at:
        monkeypatch.setattr(at.settler, "judge", judge)
        async with socket_buyer(at, method=method) as buyer:
            await judging.wait()
            if leaves:
                await buyer.leave_noted()
            gate.set()
            await judged.wait()
            if not leaves:  # the control
                assert b"sunny" in await buyer.read_rest()
        charged = 0 if leaves else 1  # the end of the block has waited for the request
        assert (len(at.settler.settled), await count_rows()) == (charged, 2 * charged)
        assert counters_of(at.slots) == SlotCounters(MAX_CALLS)
        assert await buy_again(at, method) == (200, b"sunny")
        assert (len(at.settler.settled), await count_rows(), len(sent(at))) == (1, 2, 1)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_upstream_is_not_called_for_a_buyer_who_left_during_the_settlement(
    opened: Opened, database: Database, method: str
) -> None:
    held = HeldSettlement(database)
    async with opened(outcome_of=held) as at:
        async with socket_buyer(at, method=method) as buyer:
            await held.settling.wait()
            await buyer.leave_noted()
            held.gate.set()
            assert await until_ended(database) == {
                "state": "paid", "attempts": 0, "is_open": False, "may_repeat": True,
                "stored": 0, "in_progress": 0,
            }  # fmt: skip
            assert sent(at) == []
        assert await buy_again(at, method) == (200, b"sunny")
        assert len(sent(at)) == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_response_whose_buyer_left_before_its_head_waits_for_the_same_request(
    opened: Opened, database: Database, method: str
) -> None:
    upstream = GatedUpstream(b"", head_of(5) + b"sunny")
    async with opened(answer=upstream.answer) as at:
        async with socket_buyer(at, method=method) as buyer:
            await buyer.until_sent(at)
            await buyer.leave_noted()
            upstream.gate.set()
            row = await until_ended(database)
            assert (row["state"], row["stored"], row["may_repeat"]) == ("paid", 1, True)
        assert await buy_again(at, method) == (200, b"sunny")
        assert (await payment_row(database))["state"] == "delivered"
        assert await buy_again(at, method) == (200, b"sunny")
        assert len(sent(at)) == 1


@pytest.mark.parametrize(
    ("method", "members", "state"),
    [
        ("GET", {}, "paid"),
        ("POST", {}, "owed"),
        ("POST", {"is_repeatable": True}, "paid"),
    ],
)
async def test_response_that_is_not_kept_is_asked_for_again_where_it_may_be_repeated(
    opened: Opened, database: Database, method: str, members: dict[str, Any], state: str
) -> None:
    upstream = GatedUpstream(b"", head_of(5) + b"sunny")
    async with opened(answer=upstream.answer, keep_answer_bytes=0, **members) as at:
        async with socket_buyer(at, method=method) as buyer:
            await buyer.until_sent(at)
            await buyer.leave_noted()
            upstream.gate.set()
            row = await until_ended(database)
            assert (row["state"], row["stored"], row["attempts"]) == (state, 0, 1)
        status, _ = await buy_again(at, method)
        assert (status, len(sent(at))) == ((200, 2) if state == "paid" else (502, 1))


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_buyer_who_leaves_within_a_long_body_has_not_got_it(
    opened: Opened, database: Database, method: str
) -> None:
    upstream = GatedUpstream(head_of(LONG) + b"x" * (LONG // 2))
    async with opened(answer=upstream.answer) as at:
        async with socket_buyer(at, method=method) as buyer:
            await buyer.read_until(b"xxxx")
            await buyer.leave_noted()
            row = await until_ended(database)
            assert row["state"] == ("paid" if method == "GET" else "owed")
            assert (row["attempts"], row["stored"], row["in_progress"]) == (1, 0, 0)
            await asyncio.wait_for(upstream.hung_up.wait(), 20)
        at.seller.upstream.answer = answers(b"y" * LONG)
        if method == "GET":
            assert await buy_again(at) == (200, b"y" * LONG)


@pytest.mark.parametrize("length", [LONG, None])
async def test_buyer_who_has_all_but_the_end_of_a_long_body_has_not_got_it(
    opened: Opened, database: Database, length: int | None
) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % LONG
    head = chunked if length is None else head_of(length)
    upstream = GatedUpstream(head + b"x" * (LONG - 1) + (b"x\r\n" if length is None else b""))
    async with (
        opened(answer=upstream.answer, keep_answer_bytes=0) as at,
        socket_buyer(at) as buyer,
    ):
        got = b""
        while got.count(b"x") < LONG - (length is not None):
            got += await asyncio.wait_for(buyer.reader.read(65_536), 20)
        assert (await payment_row(database))["state"] == "paid"
        await buyer.leave_noted()
        assert (await until_ended(database))["state"] == "paid"


@pytest.mark.parametrize(
    ("head", "state"),
    [
        (STREAM, "paid"),
        (STREAM + b": wait\n\n", "paid"),
        (STREAM + b"data: 1\n", "paid"),
        (STREAM + b"data: 1\n\n", "delivered"),
    ],
)
async def test_upstream_of_a_stream_ends_with_its_buyer(
    opened: Opened, database: Database, head: bytes, state: str
) -> None:
    upstream = GatedUpstream(head)
    async with opened(answer=upstream.answer) as at, socket_buyer(at) as buyer:
        await buyer.read_until(head.removeprefix(STREAM) or b"\r\n\r\n")
        if state == "delivered":
            await until_ended(database)
        await buyer.leave_noted()
        await asyncio.wait_for(upstream.hung_up.wait(), 20)
        row = await until_ended(database)
        assert (row["state"], row["attempts"], row["in_progress"]) == (state, 1, 0)


async def test_stream_that_begins_after_its_buyer_left_is_not_delivered(
    opened: Opened, database: Database
) -> None:
    upstream = GatedUpstream(b"", STREAM + b"data: 1\n\n")
    async with opened(answer=upstream.answer) as at, socket_buyer(at) as buyer:
        await buyer.until_sent(at)
        await buyer.leave_noted()
        upstream.gate.set()
        row = await until_ended(database)
        assert (row["state"], row["attempts"], row["stored"]) == ("paid", 1, 0)


async def test_buyer_who_stays_gets_what_the_upstream_says(
    opened: Opened, database: Database
) -> None:
    answer: Answer = answers(b"x" * LONG)
    async with opened(answer=answer) as at, socket_buyer(at) as buyer:
        head, _, body = (await buyer.read_rest()).partition(b"\r\n\r\n")
        assert (head[:15], len(body)) == (b"HTTP/1.1 200 OK", LONG)
        assert (await until_ended(database))["state"] == "delivered"
