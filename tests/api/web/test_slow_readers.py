"""Large responses and callers that read them slowly, through the server."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import MethodType
from typing import Any, cast

import pytest
from starlette.types import Receive, Scope, Send

from farebox.web import connections, half_closed
from farebox.web.connections import PIECE_BYTES, ConnectionLimits
from support.asgi import AsgiClient
from support.serving import connected, exchange, serving, statuses_of
from testing.waiting import until

WIDE = ConnectionLimits(1_000, 0)
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
INCOMPLETE = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9\r\n\r\nabc"
LARGE = bytes(range(256)) * 16 * 1024  # 4 MB
READERS = 20


class _Document:
    """Answers every request with the same bytes, in one message or in three."""

    def __init__(self, body: bytes = LARGE, *, is_sized: bool = True, messages: int = 1) -> None:
        self._body, self._is_sized, self._messages = body, is_sized, messages
        self.kernel_bytes: int | None = None  # that the server's kernel takes; None: megabytes
        self.protocols: list[Any] = []  # the server's, one for each request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await AsgiClient(self)(scope, receive, send)
            return
        self.protocols.append(cast("Any", cast("MethodType", send).__self__).on_response.__self__)
        if self.kernel_bytes is not None:
            kernel = self.protocols[-1].transport.get_extra_info("socket")
            kernel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.kernel_bytes)
        size = str(len(self._body)).encode()
        headers = [(b"content-length", size)] if self._is_sized else []
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        part = len(self._body) // self._messages + 1
        for start in range(0, len(self._body), part):
            more = start + part < len(self._body)
            body = self._body[start : start + part]
            await send({"type": "http.response.body", "body": body, "more_body": more})


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CHECK_EVERY_S", 0.02)


@asynccontextmanager
async def _slow_reader(address: tuple[str, int], sent: bytes = GET) -> AsyncIterator[socket.socket]:
    """Ask for the document over a connection whose machine takes little at a time."""
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, address)
        await loop.sock_sendall(client, sent)
        yield client


async def _held_by_slow_readers() -> int:
    """Return the bytes that the transports hold for callers that read nothing."""
    app = _Document()
    async with serving(app) as address:
        readers = [_slow_reader(address) for _ in range(READERS)]
        for each in readers:
            await each.__aenter__()
        try:
            await until(
                lambda: (
                    len(app.protocols) == READERS
                    and all(each.flow.write_paused for each in app.protocols)
                )
            )
            return sum(each.transport.get_write_buffer_size() for each in app.protocols)
        finally:
            for each in readers:
                await each.__aexit__(None, None, None)


async def test_transport_holds_little_of_a_large_response_for_a_slow_reader() -> None:
    assert await _held_by_slow_readers() <= READERS * 2 * PIECE_BYTES


async def test_without_pieces_the_transport_would_hold_the_rest_of_each_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(half_closed, "PIECE_BYTES", len(LARGE))
    assert await _held_by_slow_readers() > READERS * len(LARGE) / 4


async def _read_slowly(address: tuple[str, int], sent: bytes = GET) -> int:
    """Read for much longer than the server waits for a caller that reads nothing."""
    loop, count = asyncio.get_running_loop(), 0
    async with _slow_reader(address, sent) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 256 * 1024)
        while count < len(LARGE):
            part = await loop.sock_recv(client, PIECE_BYTES)
            if not part:
                break
            count += len(part)
            await asyncio.sleep(0.02)  # the pace of the reader
    return count


@pytest.mark.usefixtures("awake")
async def test_caller_that_reads_slowly_gets_the_whole_response() -> None:
    async with serving(_Document(), replace(WIDE, write_s=0.2)) as address:
        began = asyncio.get_running_loop().time()
        assert await asyncio.wait_for(_read_slowly(address), 30) >= len(LARGE)
        assert asyncio.get_running_loop().time() - began > 1


@pytest.mark.usefixtures("awake")
async def test_caller_whose_body_is_incomplete_gets_the_whole_last_response() -> None:
    limits = replace(WIDE, write_s=0.2, close_s=0.1, last_s=0.1)
    async with serving(_Document(), limits) as address:
        assert await asyncio.wait_for(_read_slowly(address, INCOMPLETE), 30) >= len(LARGE)


async def test_end_of_the_last_response_waits_for_the_caller_as_long_as_its_beginning() -> None:
    app, loop, count = _Document(LARGE[: 2 * PIECE_BYTES]), asyncio.get_running_loop(), 0
    limits = replace(WIDE, write_s=5, close_s=0.05, last_s=0.05)
    app.kernel_bytes = 4096
    async with serving(app, limits) as address, _slow_reader(address, INCOMPLETE) as client:
        while not (app.protocols and app.protocols[0].cycle.response_complete):
            count += len(await loop.sock_recv(client, 1024))
        assert app.protocols[0].flow.write_paused
        await asyncio.sleep(0.3)  # longer than a caller may be silent that has taken everything
        while part := await asyncio.wait_for(loop.sock_recv(client, 65536), 5):
            count += len(part)
    assert count > 2 * PIECE_BYTES


async def test_caller_that_reads_nothing_of_a_large_response_is_closed() -> None:
    app, loop = _Document(), asyncio.get_running_loop()
    limits = replace(WIDE, write_s=0.2)
    async with serving(app, limits) as address, _slow_reader(address) as client, asyncio.timeout(5):
        with pytest.raises(ConnectionError):
            while True:
                await loop.sock_sendall(client, b"x")
                await asyncio.sleep(0.02)  # the pace of the sender


async def test_slow_reader_gives_its_place_to_a_new_connection_when_all_are_taken() -> None:
    app = _Document()
    async with serving(app, ConnectionLimits(1, 0)) as address, _slow_reader(address):
        await until(lambda: app.protocols and app.protocols[0].flow.write_paused)
        async with connected(address) as (reader, writer):
            writer.write(GET)
            assert (await asyncio.wait_for(reader.readline(), 5)).split()[1] == b"200"


@pytest.mark.parametrize("is_sized", [True, False])
@pytest.mark.parametrize("messages", [1, 3])
async def test_large_response_arrives_unchanged(*, is_sized: bool, messages: int) -> None:
    app = _Document(is_sized=is_sized, messages=messages)
    close = GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    async with serving(app) as address:
        head, _, body = (await exchange(address, close)).partition(b"\r\n\r\n")
        if not is_sized:
            assert b"transfer-encoding: chunked" in head
            body = _unchunked(body)
        assert body == LARGE
        answer = await exchange(address, close.replace(b"GET", b"HEAD"))
    assert (statuses_of(answer), answer[-4:]) == ([200], b"\r\n\r\n")


def _unchunked(body: bytes) -> bytes:
    parts: list[bytes] = []
    while True:
        size, _, body = body.partition(b"\r\n")
        count = int(size, 16)
        if not count:
            return b"".join(parts)
        parts.append(body[:count])
        body = body[count + 2 :]


async def test_response_behind_a_large_one_follows_on_the_same_connection() -> None:
    async with serving(_Document()) as address, connected(address) as (reader, writer):
        for _ in range(3):
            writer.write(GET)
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
            assert await asyncio.wait_for(reader.readexactly(len(LARGE)), 5) == LARGE
