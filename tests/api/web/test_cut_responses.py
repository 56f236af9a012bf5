"""Responses that their handler cuts, through the server."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from types import MethodType
from typing import Any, cast

import pytest
from starlette.types import Receive, Scope, Send

from farebox.web.connections import ConnectionLimits
from farebox.web.half_closed import CUT
from support.asgi import AsgiClient
from support.serving import connected, exchange, serving, statuses_of
from testing.waiting import until

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
START = {"type": "http.response.start", "status": 200, "headers": []}
Part = Callable[[Send], Awaitable[None]]


class _Cuts:
    """Sends a part of each response, and cuts it."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self.ended = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await AsgiClient(self)(scope, receive, send)
            return
        await self._part(send)
        await send({"type": CUT})
        self.ended += 1


async def _nothing(send: Send) -> None:
    del send


async def _half(send: Send) -> None:
    await send(START)
    await send({"type": "http.response.body", "body": b"half", "more_body": True})


async def _large(send: Send) -> None:
    """Send more than the machines take, and no more than the transport waits for."""
    transport = cast("Any", cast("MethodType", send).__self__).transport
    kernel = transport.get_extra_info("socket")
    kernel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    await send(START)
    while True:
        await send({"type": "http.response.body", "body": b"x" * 12 * 1024, "more_body": True})
        await asyncio.sleep(0)  # the transport writes
        if transport.get_write_buffer_size() or transport.is_closing():
            return


async def _whole(send: Send) -> None:
    await send(START)
    await send({"type": "http.response.body", "body": b"whole"})


async def test_response_that_is_cut_has_no_end_and_no_error_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(_Cuts(_half)) as address:
        answer = await exchange(address, GET)
    assert answer.endswith(b"\r\n4\r\nhalf\r\n")
    assert caplog.records == []


async def test_cut_before_a_response_is_an_error_of_the_handler(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(_Cuts(_nothing)) as address:
        assert statuses_of(await exchange(address, GET)) == [500]
    assert [each.levelname for each in caplog.records] == ["ERROR"]


async def test_cut_behind_a_whole_response_leaves_the_next_one_alone() -> None:
    async with serving(_Cuts(_whole)) as address:
        last = GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        assert statuses_of(await exchange(address, GET + GET + last)) == [200, 200, 200]


async def test_cut_response_that_nobody_reads_gives_its_place_to_a_new_connection() -> None:
    app, loop = _Cuts(_large), asyncio.get_running_loop()
    async with serving(app, ConnectionLimits(1, 0)) as address, asyncio.timeout(20):
        with socket.socket() as client:  # its machine takes little, and nobody reads
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
            await loop.sock_connect(client, address)
            await loop.sock_sendall(client, GET)
            await until(lambda: app.ended == 1)
            async with connected(address) as (reader, writer):
                writer.write(GET)
                assert (await reader.readline()).startswith(b"HTTP/1.1 200")
