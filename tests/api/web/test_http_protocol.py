"""The limits of HTTP connections and request heads, through the real server."""

import asyncio
import socket
import sys
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from types import MethodType
from typing import Any, cast

import orjson
import pytest
from starlette.types import Receive, Scope, Send

from farebox.web import connections
from farebox.web.connections import ConnectionLimits
from farebox.web.http_protocol import FIELDS, PIPELINED_REQUESTS, URL_BYTES
from farebox.web.last_response import HEAD_BYTES
from farebox.web.request_body import BodyLimit, BodyTooSlow, read_body
from farebox.web.responses import send_json
from support.serving import connected, exchange, serving, statuses_of
from testing.waiting import until

WIDE = ConnectionLimits(1_000, 0)
GET = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"
POST_GZIP = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
CHUNK = b"x" * 12 * 1024
CLOSE = b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class _App:
    """Answers with what it was asked; `gate` holds the answers back."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.requests: list[str] = []
        self.arrived = asyncio.Event()
        self.fields: list[list[tuple[bytes, bytes]]] = []
        self.answer_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            for phase in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{phase}.complete"})
            return
        self.requests.append(scope["path"])
        self.arrived.set()
        await BodyLimit(self._answer, deadline_s=0.2)(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(receive)
        except BodyTooSlow:
            await send_json(send, 408, b"{}")
            return
        self.fields.append(list(scope["headers"]))
        await self.gate.wait()
        echo = {"path": scope["path"], "bytes": len(body), "padding": "x" * self.answer_bytes}
        await send_json(send, 200, orjson.dumps(echo))


@pytest.fixture
def app() -> _App:
    return _App()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CHECK_EVERY_S", 0.02)


def _error(answer: bytes) -> str:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head
    assert b"connection: close" in head
    error = orjson.loads(body)["error"]
    assert f"x-request-id: {error['requestId']}".encode() in head
    assert set(error) == {"code", "message", "requestId"}
    return str(error["code"])


def _head_of(size: int) -> bytes:
    start, end = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nA: ", b"\r\n\r\n"
    return start + b"a" * (size - len(start) - len(end)) + end


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"nonsense\r\n\r\n", 400, "malformed_http"),
        (b"GET / HTTP/1.1\nHost: x\n\n", 400, "malformed_http"),
        (b"GET http:///x HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_http"),
        (b"GET / HTTP/1.1\r\n\r\n", 400, "malformed_http"),
        (b"GET http://x/ HTTP/1.1\r\n\r\n", 400, "malformed_http"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400, "malformed_http"),
        (b"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", 400, "malformed_http"),
        (b"GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400, "malformed_http"),
        (b"GET / HTTP/1.1\r\nHost: a@x\r\n\r\n", 400, "malformed_http"),
        (b"GET / HTTP/1.1\r\nHost: x y\r\n\r\n", 400, "malformed_http"),
        (POST_GZIP, 400, "malformed_http"),
        (POST_GZIP.replace(b", ", b"\r\nTransfer-Encoding: "), 400, "malformed_http"),
        (b"GET /\xc3\xa4 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_http"),
        (b"GET http://y HTTP/1.1\r\nHost: x\r\n\r\n", 421, "host_not_allowed"),
        (b"GET http://y/ HTTP/1.1\r\nHost: x\r\n\r\n", 421, "host_not_allowed"),
        (b"GET http://x:81/ HTTP/1.1\r\nHost: x\r\n\r\n", 421, "host_not_allowed"),
        (b"GET http://a@x/ HTTP/1.1\r\nHost: x\r\n\r\n", 421, "host_not_allowed"),
        (b"GET /" + b"a" * URL_BYTES + b" HTTP/1.1\r\n\r\n", 414, "url_too_long"),
        (b"GET /" + b"a" * 10_000_000, 414, "url_too_long"),
        (_head_of(HEAD_BYTES + 1), 431, "head_too_large"),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 10_000_000, 431, "head_too_large"),
        (b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * (FIELDS + 2), 431, "head_too_large"),
        (b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 2_000_000, 431, "head_too_large"),
    ],
    ids=lambda each: None if isinstance(each, bytes) else str(each),
)
async def test_malformed_request_is_refused_in_json(
    app: _App, sent: bytes, status: int, code: str
) -> None:
    async with serving(app) as address, connected(address) as (reader, writer):
        writer.write(sent)
        answer = await asyncio.wait_for(reader.read(), 5)
    assert (statuses_of(answer), _error(answer)) == ([status], code)
    assert not app.requests


async def test_refused_connection_keeps_no_header_fields_in_memory(app: _App) -> None:
    head = b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * (HEAD_BYTES // 5 - 10)
    async with serving(app) as address, AsyncExitStack() as open_connections:
        before = sys.getallocatedblocks()
        for _ in range(20):
            reader, writer = await open_connections.enter_async_context(connected(address))
            writer.write(head)
            assert await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        per_connection = (sys.getallocatedblocks() - before) / 20
    assert per_connection < 1_000, "each field takes three blocks, and there are 6,500"


@pytest.mark.parametrize("step", [1_000_000, 1_000, 7])
async def test_head_at_size_limit_is_read_in_any_chunks(app: _App, step: int) -> None:
    head = _head_of(HEAD_BYTES)
    async with serving(app) as address, connected(address) as (reader, writer):
        for at in range(0, len(head), step):
            writer.write(head[at : at + step])
            await asyncio.sleep(0)
        answer = await asyncio.wait_for(reader.read(), 10)
    assert statuses_of(answer) == [200]


async def test_url_and_header_count_at_limit_are_read(app: _App) -> None:
    path = b"/" + b"a" * (URL_BYTES - 1)
    fields = b"Host: x\r\nConnection: close\r\n" + b"a:b\r\n" * (FIELDS - 2)
    async with serving(app) as address:
        answer = await exchange(address, b"GET " + path + b" HTTP/1.1\r\n" + fields + b"\r\n")
    assert statuses_of(answer) == [200]


async def test_pipelined_requests_are_answered_in_order_one_at_a_time(app: _App) -> None:
    app.gate.clear()
    count = PIPELINED_REQUESTS - 1
    sent = b"".join(GET % number for number in range(count)) + CLOSE
    async with serving(app) as address, connected(address) as (reader, writer):
        writer.write(sent)
        await app.arrived.wait()
        await asyncio.sleep(0.05)  # time in which none of the others may be handled
        assert app.requests == ["/0"]
        app.gate.set()
        answers = await asyncio.wait_for(reader.read(), 30)
    assert app.requests == [*(f"/{number}" for number in range(count)), "/last"]
    assert statuses_of(answers) == [200] * (count + 1)


async def test_pipelined_requests_above_limit_are_dropped(app: _App) -> None:
    sent = b"".join(GET % number for number in range(20_000))
    async with serving(app) as address, connected(address) as (reader, writer):
        writer.write(sent)
        answers = b""
        with suppress(ConnectionError):
            while part := await asyncio.wait_for(reader.read(1_000_000), 5):
                answers += part
    assert app.requests == [f"/{number}" for number in range(PIPELINED_REQUESTS)]


@pytest.mark.parametrize("step", [1, 13, 5_000, 10_000_000])
async def test_chunked_arrival_keeps_bodies_and_heads_apart(app: _App, step: int) -> None:
    bodies = [b"x" * size for size in (0, 1, 70, 70_000 if step > 1_000 else 7)]
    requests = [
        b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (len(each), len(each))
        + each
        for each in bodies
    ]
    chunked = b"POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent = b"".join(requests) + chunked + b"3\r\nabc\r\n4\r\n\r\n\r\n\r\n0\r\n\r\n" + CLOSE
    async with serving(app) as address, connected(address) as (reader, writer):
        for at in range(0, len(sent), step):
            writer.write(sent[at : at + step])
            await asyncio.sleep(0)
        answers = await asyncio.wait_for(reader.read(), 20)
    echoes = [
        orjson.loads(part.partition(b"\r\n\r\n")[2]) for part in answers.split(b"HTTP/1.1 ")[1:]
    ]
    assert [each["bytes"] for each in echoes] == [*map(len, bodies), 7, 0]


async def test_malformed_pipelined_request_is_answered_after_earlier_ones(app: _App) -> None:
    app.gate.clear()
    async with serving(app) as address, connected(address) as (reader, writer):
        writer.write(GET % 1 + b"nonsense\r\n\r\n")
        await app.arrived.wait()
        app.gate.set()
        answers = await asyncio.wait_for(reader.read(), 5)
    assert statuses_of(answers) == [200, 400]


async def test_trailer_fields_are_not_request_headers(app: _App) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with serving(app) as address:
        sent = head + b"1\r\na\r\n0\r\nAuthorization: x\r\n\r\n"
        assert statuses_of(await exchange(address, sent)) == [200]
        answer = await exchange(address, head + b"1\r\na\r\n0\r\n" + b"A: " + b"a" * 100_000)
    assert _error(answer) == "head_too_large"
    assert b"authorization" not in [name for name, _ in app.fields[0]]


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        (b"", []),
        (b"GET / HTTP/1.1\r\nHost: x\r\n", [408]),
        (GET % 1, [200]),
        (GET % 1 + b"GET /", [200, 408]),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", [408]),
    ],
    ids=["nothing", "half a head", "idle", "half a further head", "half a body"],
)
async def test_idle_or_incomplete_connection_is_closed_after_timeout(
    app: _App, sent: bytes, statuses: list[int]
) -> None:
    limits = replace(WIDE, head_s=0.1, idle_s=0.1, rest_s=0.1)
    async with serving(app, limits) as address, connected(address) as (reader, writer):
        writer.write(sent)
        assert statuses_of(await asyncio.wait_for(reader.read(), 3)) == statuses


async def test_slow_head_gets_408_after_head_timeout(app: _App) -> None:
    limits = replace(WIDE, head_s=0.2)
    async with serving(app, limits) as address, connected(address) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\n")
        reading = asyncio.create_task(reader.read())
        async with asyncio.timeout(3):
            while not reading.done():
                writer.write(b"a: b\r\n")
                await asyncio.sleep(0.02)  # the pace of the sender
        assert _error(reading.result()) == "request_timeout"


async def test_response_may_take_longer_than_head_timeout(app: _App) -> None:
    limits = replace(WIDE, head_s=0.1, idle_s=0.1)
    app.gate.clear()
    async with serving(app, limits) as address, connected(address) as (reader, writer):
        writer.write(GET % 1)
        await asyncio.sleep(0.4)  # longer than a head may take; nothing may end the connection
        app.gate.set()
        assert statuses_of(await asyncio.wait_for(reader.read(), 3)) == [200]


async def test_connection_is_closed_when_client_does_not_read(app: _App) -> None:
    limits = replace(WIDE, write_s=0.2)
    app.answer_bytes = 4_000_000
    async with serving(app, limits) as address, connected(address) as (_, writer):
        for number in range(50):
            writer.write(GET % number)
        async with asyncio.timeout(5):
            with pytest.raises(ConnectionError):
                while True:
                    writer.write(GET % 1)
                    await writer.drain()
                    await asyncio.sleep(0.02)  # the pace of the sender
    assert len(app.requests) < 50


class _BreaksOff:
    """Breaks a response off as soon as a little of it waits: less than pauses the writer."""

    def __init__(self, *, is_raised: bool) -> None:
        self._is_raised, self.ended = is_raised, asyncio.Event()
        self.protocol: Any = None  # the server's, of the connection

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await _App()(scope, receive, send)
            return
        cycle: Any = cast("MethodType", send).__self__
        self.protocol = cycle.on_response.__self__
        await send({"type": "http.response.start", "status": 200, "headers": []})
        is_begun = False
        while not (is_begun and cycle.transport.get_write_buffer_size()):
            is_begun = True  # the head is sent
            await send({"type": "http.response.body", "body": CHUNK, "more_body": True})
        assert not self.protocol.flow.write_paused
        self.ended.set()
        if self._is_raised:
            raise RuntimeError


@pytest.mark.parametrize("is_raised", [True, False])
@pytest.mark.parametrize("is_resumed", [True, False])
async def test_response_that_breaks_off_waits_a_bounded_time_for_a_client_that_does_not_read(
    *, is_raised: bool, is_resumed: bool
) -> None:
    app, loop = _BreaksOff(is_raised=is_raised), asyncio.get_running_loop()
    async with serving(app, replace(WIDE, write_s=0.2)) as address, asyncio.timeout(5):
        with socket.create_connection(address) as client:  # nothing reads from it
            client.setblocking(False)
            await loop.sock_sendall(client, GET % 1)
            await app.ended.wait()
            await until(app.protocol.transport.is_closing)
            if is_resumed:  # as where the client has taken a part of much that waited
                app.protocol.pause_writing()
                app.protocol.resume_writing()
            with pytest.raises(ConnectionError):
                while True:
                    await loop.sock_sendall(client, b"x")
                    await asyncio.sleep(0.02)  # the pace of the sender


async def test_connections_per_address_are_limited(app: _App) -> None:
    limits = ConnectionLimits(1_000, 2)
    async with serving(app, limits) as address, connected(address), connected(address) as two:
        answer = await exchange(address, b"")
        assert (statuses_of(answer), _error(answer)) == ([429], "too_many_connections")
        assert b"retry-after: 1\r\n" in answer
        two[1].write(GET % 1)
        assert (await two[0].readline()).split()[1] == b"200"


async def test_longest_idle_connection_is_closed_when_all_are_in_use(app: _App) -> None:
    limits = ConnectionLimits(3, 0)
    app.gate.clear()
    async with (
        serving(app, limits) as address,
        connected(address) as working,
        connected(address) as silent,
        connected(address) as slow,
    ):
        working[1].write(GET % 1)
        slow[1].write(b"GET / HTTP/1.1\r\n")
        await app.arrived.wait()
        app.arrived.clear()
        async with connected(address) as newcomer:
            newcomer[1].write(GET % 2)
            assert await asyncio.wait_for(silent[0].read(), 3) == b""
            await app.arrived.wait()
            app.gate.set()
            for reader, _ in (working, newcomer):
                assert (await asyncio.wait_for(reader.readline(), 3)).split()[1] == b"200"


async def test_loopback_service_answers_allowed_hosts_only(app: _App) -> None:
    request = b"GET / HTTP/1.1\r\nConnection: close\r\nHost: %s\r\n\r\n"
    async with serving(app, WIDE, "pay.example") as address:
        for host in (b"127.0.0.1:8402", b"localhost", b"[::1]:1", b"Pay.Example:443"):
            assert statuses_of(await exchange(address, request % host)) == [200]
        for host in (b"rebound.example", b"127.0.0.1.rebound.example", b"10.0.0.1", b""):
            assert _error(await exchange(address, request % host)) == "host_not_allowed"
        for host in (b"localhost\r\nHost: rebound.example", b"localhost\r\nHost: localhost"):
            assert _error(await exchange(address, request % host)) == "malformed_http"
        old = b"GET http://%s/ HTTP/1.0\r\n\r\n"
        assert statuses_of(await exchange(address, old % b"pay.example")) == [200]
        assert _error(await exchange(address, old % b"rebound.example")) == "host_not_allowed"


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.0\r\n",
        b"GET http://x/ HTTP/1.0\r\n",
        b"GET http://X:80/ HTTP/1.1\r\nHost: x\r\n",
        b"GET http://x/ HTTP/1.1\r\nHost: x:\r\n",
        b"GET / HTTP/1.1\r\nHost: [::1]:8402\r\n",
        b"GET / HTTP/1.1\r\nHost:\r\n",
    ],
)
async def test_request_for_one_host_is_answered(app: _App, head: bytes) -> None:
    async with serving(app) as address:
        answer = await exchange(address, head + b"Connection: close\r\n\r\n")
    assert statuses_of(answer) == [200]


@pytest.mark.parametrize("target", [b"http://x", b"http://x?q=1", b"HTTP://X:80"])
async def test_target_without_a_path_is_the_root(app: _App, target: bytes) -> None:
    async with serving(app) as address:
        sent = b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        assert statuses_of(await exchange(address, sent)) == [200]
    assert app.requests == ["/"]


@pytest.mark.parametrize(("version", "statuses"), [(b"1.0", [200]), (b"1.1", [100, 200])])
async def test_expectation_of_an_old_client_is_ignored(
    app: _App, version: bytes, statuses: list[int]
) -> None:
    fields = b"Host: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na"
    async with serving(app) as address:
        answer = await exchange(address, b"POST / HTTP/" + version + b"\r\n" + fields)
    assert statuses_of(answer) == statuses


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        (GET % 1, [200]),
        (GET % 1 + GET % 2, [200, 200]),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", [200]),
        (b"GET / HTTP/1.0\r\n\r\n", [200]),
        (GET % 1 + b"POST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na", [200]),
        (GET % 1 + b"GET /2 HTTP", [200]),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na", []),
        (b"GET / HTTP/1.1\r\nHost", []),
        (b"", []),
    ],
)
async def test_whole_requests_of_a_half_closed_connection_are_answered(
    app: _App, sent: bytes, statuses: list[int]
) -> None:
    app.gate.clear()
    app.answer_bytes = 300_000
    async with serving(app) as address, connected(address) as (reader, writer):
        writer.write(sent)
        writer.write_eof()
        if statuses:
            await app.arrived.wait()
        asyncio.get_running_loop().call_later(0.05, app.gate.set)  # behind the end of the bytes
        assert statuses_of(await asyncio.wait_for(reader.read(), 5)) == statuses


async def test_handler_that_does_not_watch_its_caller_sends_no_interim_response(
    app: _App,
) -> None:
    app.gate.clear()
    async with serving(app) as address, connected(address) as (reader, writer):
        writer.write(b"POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
        writer.write_eof()
        await app.arrived.wait()
        asyncio.get_running_loop().call_later(0.05, app.gate.set)
        assert statuses_of(await asyncio.wait_for(reader.read(), 5)) == [200]
