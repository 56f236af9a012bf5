"""Outbound requests to a real TLS server on loopback, and their outcomes."""

import asyncio
import gzip
import random
from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from farebox.local.certificates import Authority
from farebox.outbound.client import OutboundClient
from farebox.outbound.faults import (
    CallNotSent,
    CallOutcomeUnknown,
    CallRefusalReason,
    CallRefused,
    NotSentReason,
    UnknownOutcomeReason,
)
from farebox.outbound.request import OutboundRequest
from farebox.outbound.resolve import FixedLookup, LoopbackResolver, PinnedAddress
from support.awake_loop import AwakeLoop
from support.loop_time import LaterTime
from support.outbound import LOOPBACK, SELLER, URL, seller
from support.table_rows import in_row
from support.upstream import Answer, answers, breaks_off, drips, drops, says, upstream

METHODS = ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "POST", "PATCH")


async def test_upstream_receives_exactly_the_request(tmp_path: Path) -> None:
    async with seller(tmp_path, answers(b"sunny", headers=("X-One: 1", "X-One: 2"))) as at:
        request = OutboundRequest(
            f"https://{SELLER.upper()}/a%2Fb/../c%7E?q=a+b&q=%20&x=",
            method="POST",
            headers=(("X-Key", "one"), ("X-Key", "two"), ("Content-Type", "application/json")),
            body=b"{}",
        )
        called = await at.call(request)
    assert (called.status, called.body) == (200, b"sunny")
    assert [pair for pair in called.headers if pair[0] == "X-One"] == [
        ("X-One", "1"),
        ("X-One", "2"),
    ]
    head, _, body = at.upstream.requests[0].partition(b"\r\n\r\n")
    assert body == b"{}"
    assert head.decode().split("\r\n") == [
        "POST /a%2Fb/../c%7E?q=a+b&q=%20&x= HTTP/1.1",
        f"Host: {SELLER}",
        "User-Agent: farebox",
        "Accept: */*",
        "Accept-Encoding: identity",
        "X-Key: one",
        "X-Key: two",
        "Content-Type: application/json",
        "Content-Length: 2",
        "Connection: close",
    ]
    assert at.upstream.names == [SELLER]


async def test_bodies_are_streamed_both_ways(tmp_path: Path) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"one", b"two"):
            yield piece

    async with (
        seller(tmp_path, answers(b"x" * 200_000)) as at,
        at.client.call(OutboundRequest(URL, method="PUT", body=pieces())) as answer,
    ):
        sizes = [len(chunk) async for chunk in answer.chunks()]
    assert sum(sizes) == 200_000
    assert len(sizes) > 1
    assert at.upstream.requests[0].endswith(b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")


@pytest.mark.parametrize("ends", ["breaks", "stalls"])
async def test_interrupted_request_body_is_never_complete_for_the_upstream(
    tmp_path: Path, ends: str
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        if ends == "breaks":
            raise ValueError("the buyer left")
        await asyncio.sleep(60)

    async with seller(tmp_path, answers(b"thanks")) as at:
        with pytest.raises(CallOutcomeUnknown) as unknown:
            await at.call(OutboundRequest(URL, method="POST", body=pieces(), deadline_s=2))
        await asyncio.sleep(0.05)  # a second try would come at once
    assert at.upstream.requests == []  # none was read to its end
    assert at.upstream.connections == 1
    expected = UnknownOutcomeReason.DROPPED if ends == "breaks" else UnknownOutcomeReason.DEADLINE
    assert unknown.value.reason is expected


async def test_request_is_not_retried_when_the_connection_drops(tmp_path: Path) -> None:
    async with seller(tmp_path, drops()) as at:
        for method in METHODS:
            with in_row(method), pytest.raises(CallOutcomeUnknown) as unknown:
                await at.call(OutboundRequest(URL, method=method))
            assert unknown.value.reason is UnknownOutcomeReason.DROPPED, method
        await asyncio.sleep(0.05)  # a second try would come at once
    asked = [request.split(b" ")[0].decode() for request in at.upstream.requests]
    assert (tuple(asked), at.upstream.connections) == (METHODS, len(METHODS))


async def test_truncated_response_body_is_an_unknown_outcome(tmp_path: Path) -> None:
    async with seller(tmp_path, answers(b"half", length=8)) as at:
        with pytest.raises(CallOutcomeUnknown) as unknown:
            await at.call()
    assert unknown.value.reason is UnknownOutcomeReason.DROPPED
    assert at.upstream.connections == 1


_ENDLESS_HEADS = {
    "no length": "",
    "identity": "Transfer-Encoding: identity\r\n",
    "another last coding": "Transfer-Encoding: chunked, gzip\r\n",
    "stream of events": "Content-Type: text/event-stream\r\n",
}


async def test_response_that_ends_with_its_connection_needs_the_closure_alert(
    tmp_path: Path,
) -> None:
    """Control: with the alert the same bytes are whole."""
    async with seller(tmp_path, drops()) as at:
        for head, size in product(_ENDLESS_HEADS, (4, 200_000)):
            raw = f"HTTP/1.1 200 OK\r\n{_ENDLESS_HEADS[head]}\r\n".encode() + b"x" * size
            for resets in (False, True):
                at.upstream.answer = breaks_off(raw, resets=resets)
                with in_row((head, size, resets)):
                    with pytest.raises(CallOutcomeUnknown) as unknown:
                        await at.call()
                    assert unknown.value.reason is UnknownOutcomeReason.DROPPED
            at.upstream.answer = says(raw)
            with in_row((head, size)):
                assert (await at.call()).body == b"x" * size


async def test_response_body_over_the_limit_is_refused(tmp_path: Path) -> None:
    """Whether its length is declared or not."""
    big = b"x" * 1001
    undeclared = says(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + big)
    async with seller(tmp_path, drops()) as at:
        for at.upstream.answer in (answers(big), undeclared):
            with pytest.raises(CallOutcomeUnknown) as unknown:
                await at.call(OutboundRequest(URL, max_answer_bytes=1000))
            assert unknown.value.reason is UnknownOutcomeReason.TOO_LARGE
            assert len((await at.call(OutboundRequest(URL, max_answer_bytes=1001))).body) == 1001


async def test_endless_response_body_is_read_up_to_the_limit(tmp_path: Path) -> None:
    endless = drips(b"x" * 65536, every_s=0, head=b"HTTP/1.1 200 OK\r\n\r\n")
    seen = 0
    async with (
        seller(tmp_path, endless) as at,
        at.client.call(OutboundRequest(URL, max_answer_bytes=300_000)) as answer,
    ):
        with pytest.raises(CallOutcomeUnknown):
            async for chunk in answer.chunks():
                seen += len(chunk)
    assert 0 < seen <= 300_000


async def test_response_body_is_not_decompressed(tmp_path: Path) -> None:
    bomb = gzip.compress(b"\0" * 5_000_000)
    async with seller(tmp_path, answers(bomb, headers=("Content-Encoding: gzip",))) as at:
        assert (await at.call(OutboundRequest(URL, max_answer_bytes=len(bomb)))).body == bomb


_SLOW: Final = {
    "silence": drips(b"", every_s=0.05),
    "headers": drips(b"X-A: b\r\n", head=b"HTTP/1.1 200 OK\r\n"),
    "body": drips(b"x", head=b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n"),
    "hints": drips(b"HTTP/1.1 100 Continue\r\n\r\n" * 50, every_s=0),
}


async def test_deadline_holds_for_a_slow_response(tmp_path: Path) -> None:
    async def call(row: str, answer: Answer) -> None:
        async with seller(tmp_path, answer) as at:
            awake = AwakeLoop(asyncio.get_running_loop())
            with in_row(row), pytest.raises(CallOutcomeUnknown) as unknown:
                await at.call(OutboundRequest(URL, deadline_s=1))
            passed_s = awake.time()
            awake.close()
        assert unknown.value.reason is UnknownOutcomeReason.DEADLINE, row
        assert passed_s < 2.1, row

    await asyncio.gather(*(call(row, answer) for row, answer in _SLOW.items()))


_MALFORMED: Final = {
    "long header": b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 40_000 + b"\r\n\r\n",
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 101 + b"\r\n",
    "long reason": b"HTTP/1.1 200 " + b"OK" * 20_000 + b"\r\n\r\n",
    "other": b"nothing of HTTP\r\n\r\n",
    "status": b"HTTP/1.1 20x OK\r\n\r\n",
    "upgrade": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "minus": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "two": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
}


async def test_malformed_response_is_an_unknown_outcome(tmp_path: Path) -> None:
    async with seller(tmp_path, drops()) as at:
        for row, raw in _MALFORMED.items():
            at.upstream.answer = says(raw)
            with in_row(row), pytest.raises(CallOutcomeUnknown):
                await at.call()
    assert at.upstream.connections == len(_MALFORMED)


async def test_deadline_moves_while_nobody_waits_for_the_body(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, later = b"x" * 300_000, LaterTime(monkeypatch)
    async with seller(tmp_path, answers(body)) as at:
        request = OutboundRequest(URL, deadline_s=20)
        async with at.client.call(request) as response:
            parts = response.chunks()
            received = await anext(parts)
            later.turn(3600)
            received += b"".join([part async for part in parts])
        assert received == body
        async with at.client.call(request) as response:
            parts = response.chunks()
            await anext(parts)
            later.keep_deadline()
            later.turn(3600)
            with pytest.raises(CallOutcomeUnknown):  # the control
                while await anext(parts):
                    continue


async def test_refused_connection_is_not_sent(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with upstream(authority.server(SELLER), answers()) as gone:
        port = gone.port
    resolver = LoopbackResolver({SELLER: PinnedAddress(LOOPBACK, port)}, FixedLookup({}))
    async with OutboundClient(resolver, authority=authority.file) as client:
        with pytest.raises(CallNotSent) as unsent:
            async with client.call(OutboundRequest(URL)):
                pass
    assert unsent.value.reason is NotSentReason.CONNECTION


async def test_handshake_over_the_deadline_is_not_sent(tmp_path: Path) -> None:
    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    resolver = LoopbackResolver({SELLER: PinnedAddress(LOOPBACK, port)}, FixedLookup({}))
    async with server, OutboundClient(resolver) as client:
        with pytest.raises(CallNotSent) as unsent:
            async with client.call(OutboundRequest(URL, deadline_s=0.3)):
                pass
    assert unsent.value.reason is NotSentReason.DEADLINE


async def test_call_over_the_limit_is_not_sent_and_the_slot_is_released(tmp_path: Path) -> None:
    async with seller(tmp_path, answers(b"ok")) as at:
        client = OutboundClient(at.client._resolver, authority=at.client._authority, max_calls=1)
        async with client, client.call(OutboundRequest(URL)):
            with pytest.raises(CallNotSent) as unsent:
                async with client.call(OutboundRequest(URL)):
                    pass
        async with client, client.call(OutboundRequest(URL)) as answer:
            assert await answer.read() == b"ok"
    assert unsent.value.reason is NotSentReason.BUSY


async def test_closed_client_sends_nothing(tmp_path: Path) -> None:
    client = OutboundClient(LoopbackResolver({}, FixedLookup({})))
    with pytest.raises(CallNotSent) as unsent:
        async with client.call(OutboundRequest(URL)):
            pass
    assert unsent.value.reason is NotSentReason.CLOSED


_REFUSED_HEADERS: Final = (
    ("Host", "other.example.com"),
    ("Transfer-Encoding", "chunked"),
    ("content-length", "5"),
    ("Connection", "X-Key"),
    ("Proxy-Authorization", "Basic x"),
    ("X-A", "b\r\nX-C: d"),
    ("X-A", "b\0"),
    ("X-A", "bé"),
    ("X-A ", "b"),
    ("X:A", "b"),
    ("", "b"),
    ("X-A", " b"),
    ("X-A", "b" * 70_000),
)


async def test_reserved_or_malformed_header_is_refused(tmp_path: Path) -> None:
    async with seller(tmp_path, answers()) as at:
        for header in _REFUSED_HEADERS:
            with in_row((header[0], header[1][:20])):
                with pytest.raises(CallRefused) as refused:
                    await at.call(OutboundRequest(URL, headers=(header,)))
                assert refused.value.reason is CallRefusalReason.HEADER
    assert at.upstream.connections == 0


async def test_unlisted_method_is_refused(tmp_path: Path) -> None:
    async with seller(tmp_path, answers()) as at:
        for method in ("CONNECT", "TRACE", "get", "GET ", "GET / HTTP/1.1\r\n", ""):
            with in_row(method):
                with pytest.raises(CallRefused) as refused:
                    await at.call(OutboundRequest(URL, method=method))
                assert refused.value.reason is CallRefusalReason.METHOD
    assert at.upstream.connections == 0


async def test_cookies_are_not_stored(tmp_path: Path) -> None:
    async with seller(tmp_path, answers(headers=("Set-Cookie: a=b",))) as at:
        await at.call()
        await at.call()
    assert all(b"cookie" not in each.lower() for each in at.upstream.requests)
    assert len(at.upstream.requests) == 2


async def test_damaged_response_gives_a_response_or_a_reason(
    tmp_path: Path,
) -> None:
    whole = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nSet-Cookie: a=b; Path=/\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n5\r\nsunny\r\n0\r\n\r\n"
    )
    chance = random.Random(20_26)
    outcomes: set[int | UnknownOutcomeReason] = set()
    async with seller(tmp_path, says(whole)) as at:
        for _ in range(60):
            raw = bytearray(whole)
            for _ in range(chance.randrange(1, 6)):
                place = chance.randrange(len(raw))
                raw[place : place + chance.randrange(3)] = chance.randbytes(chance.randrange(4))
            at.upstream.answer = says(bytes(raw))
            try:
                outcomes.add((await at.call(OutboundRequest(URL, deadline_s=2))).status)
            except CallOutcomeUnknown as unknown:
                outcomes.add(unknown.reason)
    assert 200 in outcomes
    assert UnknownOutcomeReason.MALFORMED in outcomes
    assert at.upstream.connections == 60
