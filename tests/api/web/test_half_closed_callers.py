"""Callers that have ended their sending side, and those that have closed, through the server."""

import asyncio
import socket
import struct
from contextlib import suppress

import pytest
from starlette.types import Receive, Scope, Send

from farebox.web import half_closed
from farebox.web.request_body import read_body
from farebox.web.responses import send_json
from farebox.web.written_bytes import UNTIL_TAKEN
from support.asgi import AsgiClient
from support.serving import connected, exchange, serving, statuses_of

GET = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"


class _WatchingApp:
    """Waits for its caller to leave, and responds to one that is still there after `gate`."""

    def __init__(self, *, asks: bool = False, within_s: float | None = None) -> None:
        self.received: list[str] = []
        self.within_s = within_s  # that it waits for a sign
        self.taken = asyncio.Event()
        self.gate, self.is_asked_first = asyncio.Event(), asks
        self.has_left = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await AsgiClient(self)(scope, receive, send)
            return
        await read_body(receive)
        self.taken.set()
        if self.is_asked_first:
            await self.gate.wait()
            try:
                async with asyncio.timeout(self.within_s):
                    await send({"type": UNTIL_TAKEN, "but": 0})
            except (OSError, TimeoutError):
                self.has_left.set()
            else:
                await send_json(send, 200, b"{}")
            return
        leaving, opened = asyncio.ensure_future(receive()), asyncio.ensure_future(self.gate.wait())
        await asyncio.wait((leaving, opened), return_when=asyncio.FIRST_COMPLETED)
        if leaving.done():
            self.received.append(leaving.result()["type"])
            self.has_left.set()
        else:
            leaving.cancel()
            await send_json(send, 200, b"{}")
        opened.cancel()


INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"
POST = b"POST /1 HTTP/1.%d\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("ahead", [b"", GET % 0])
async def test_half_closed_caller_is_answered_by_a_handler_that_watches_it(
    ahead: bytes, asks: bool
) -> None:
    app = _WatchingApp(asks=asks)
    async with serving(app) as address, connected(address) as (reader, writer):
        writer.write(ahead + POST % 1)
        writer.write_eof()
        await app.taken.wait()
        asyncio.get_running_loop().call_later(0.1, app.gate.set)
        answers = await asyncio.wait_for(reader.read(), 5)
    assert [each for each in statuses_of(answers) if each != 100] == [200] * (1 + bool(ahead))
    assert not app.has_left.is_set()


@pytest.mark.parametrize("asks", [False, True])
async def test_caller_that_closed_its_connection_has_left_for_a_handler_that_watches_it(
    asks: bool,
) -> None:
    app = _WatchingApp(asks=asks)
    async with serving(app) as address:
        async with connected(address) as (_, writer):
            writer.write(POST % 1)
            await app.taken.wait()
            writer.close()
            await writer.wait_closed()
        asyncio.get_running_loop().call_later(0.1 if asks else 5, app.gate.set)
        with suppress(TimeoutError):
            await asyncio.wait_for(app.has_left.wait(), 5)
    assert app.has_left.is_set()
    assert app.received == ([] if asks else ["http.disconnect"])


async def test_half_closed_caller_that_closes_its_connection_later_has_left_when_asked() -> None:
    app = _WatchingApp(asks=True)
    async with serving(app) as address:
        async with connected(address) as (_, writer):
            writer.write(POST % 1)
            writer.write_eof()
            await app.taken.wait()
            await asyncio.sleep(0.05)  # the server knows of the end
        app.gate.set()
        await asyncio.wait_for(app.has_left.wait(), 5)


async def test_half_closed_caller_that_gives_no_sign_in_time_gets_no_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(half_closed, "wait_until_taken", never)
    app = _WatchingApp(asks=True, within_s=0.1)
    async with serving(app) as address, connected(address) as (reader, writer):
        writer.write(POST % 1)
        writer.write_eof()
        await app.taken.wait()
        await asyncio.sleep(0.05)  # the server knows of the end
        app.gate.set()
        with suppress(ConnectionResetError):
            assert b"500" not in await asyncio.wait_for(reader.read(), 5)
    assert app.has_left.is_set()


async def test_reset_of_a_half_closed_caller_is_noticed_without_a_write() -> None:
    app = _WatchingApp()
    async with serving(app) as address, connected(address) as (reader, writer):
        writer.write(POST % 1)
        writer.write_eof()
        assert await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5) == INTERIM
        at_once = struct.pack("ii", 1, 0)
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        writer.transport.abort()
        with suppress(TimeoutError):
            await asyncio.wait_for(app.has_left.wait(), 5)
        app.gate.set()
    assert app.received == ["http.disconnect"]


async def test_caller_of_http_1_0_that_ended_its_sending_side_has_left() -> None:
    """It cannot be asked for a sign: HTTP/1.0 knows no interim response."""
    app = _WatchingApp()
    async with serving(app) as address:
        assert await exchange(address, POST % 0, ends=True) == b""
    assert app.received == ["http.disconnect"]
