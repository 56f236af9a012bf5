"""Responses to callers that are still sending, on connections that end with them."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from starlette.types import Receive, Scope, Send

from farebox.web import connections, last_response
from farebox.web.connections import ConnectionLimits
from farebox.web.last_response import LastResponseProtocol
from farebox.web.responses import send_json
from support.asgi import AsgiClient
from support.awake_loop import AwakeLoop
from support.serving import serving, statuses_of

WIDE = ConnectionLimits(1_000, 0)
HALF = b"x" * 1_500_000
SIZED = b"Content-Length: 3000000\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n2dc6c0\r\n"
CLOSE = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond without a look at the body."""
    if scope["type"] != "http":
        await AsgiClient(_refuse)(scope, receive, send)
        return
    await send_json(send, 402, b"{}")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CHECK_EVERY_S", 0.02)


@asynccontextmanager
async def _client(address: tuple[str, int]) -> AsyncIterator[socket.socket]:
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * 1024)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, address)
        yield client


async def _send_then_read(address: tuple[str, int], head: bytes) -> bytes:
    """Send all of a request, and only then read, as many clients do."""
    loop, answer = asyncio.get_running_loop(), b""
    async with _client(address) as client, asyncio.timeout(10):
        await loop.sock_sendall(client, head + HALF)
        await asyncio.sleep(0.1)  # the pace of the sender: the response is sent meanwhile
        await loop.sock_sendall(client, HALF)
        while part := await loop.sock_recv(client, 65536):
            answer += part
    return answer


HEADS = [
    (CLOSE + SIZED, 402),
    (CLOSE + CHUNKED, 402),
    (b"POST / HTTP/1.0\r\n" + SIZED, 402),
    (b"POST / HTTP/1.1\r\n" + SIZED, 400),
    (CLOSE + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 400),
]


@pytest.mark.parametrize(("head", "status"), HEADS)
async def test_caller_that_still_sends_gets_the_last_response(head: bytes, status: int) -> None:
    async with serving(_refuse) as address:
        assert statuses_of(await _send_then_read(address, head)) == [status]


async def test_without_further_reading_the_caller_would_get_no_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LastResponseProtocol, "_keeps_open", lambda _: False)
    async with serving(_refuse) as address:
        with pytest.raises(ConnectionError):
            await _send_then_read(address, CLOSE + SIZED)


@pytest.mark.parametrize(
    ("count", "pause_s", "within_s"),
    [
        pytest.param(0, 0.02, 0.9, id="silent"),
        pytest.param(10, 0.02, 2.0, id="slow"),
        pytest.param(50_000, 0.001, 2.0, id="endless"),
    ],
)
async def test_caller_is_not_read_from_for_long_behind_the_last_response(
    count: int, pause_s: float, within_s: float, monkeypatch: pytest.MonkeyPatch, awake: AwakeLoop
) -> None:
    monkeypatch.setattr(last_response, "DISCARD_BYTES", 500_000)
    limits = replace(WIDE, close_s=0.3, last_s=0.6 if count == 10 else 60)
    loop = asyncio.get_running_loop()
    async with serving(_refuse, limits) as address, _client(address) as client:
        await loop.sock_sendall(client, CLOSE + b"Content-Length: 1000000000\r\n\r\n")
        async with awake.timeout(within_s):
            while await loop.sock_recv(client, 65536):
                continue  # the response, and the end of the server's sending side
        async with awake.timeout(within_s):
            if not count:
                await awake.sleep(0.6)  # in which the connection ends
            with pytest.raises(ConnectionError):
                while True:
                    await loop.sock_sendall(client, b"x" * max(count, 1))
                    await asyncio.sleep(pause_s)


async def test_caller_that_ends_first_is_not_waited_for() -> None:
    loop = asyncio.get_running_loop()
    limits = replace(WIDE, close_s=60, last_s=60)
    async with serving(_refuse, limits) as address, _client(address) as client:
        await loop.sock_sendall(client, CLOSE + SIZED)
        async with asyncio.timeout(5):
            while await loop.sock_recv(client, 65536):
                continue
        client.close()  # the server, which waits for all connections, stops at once
