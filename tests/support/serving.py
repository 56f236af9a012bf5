"""An ASGI application behind the server we use, on a loopback port of its own."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from farebox.web.connections import AllowedHosts, ConnectionLimits, OpenConnections
from farebox.web.http_protocol import bounded_protocol
from testing.waiting import until

_MANY: Final = ConnectionLimits(1_000, 0)


class _Quiet(uvicorn.Server):
    """A server that leaves the test run's signals alone."""

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        await self._serve(sockets)


@asynccontextmanager
async def serving(
    app: ASGIApp, limits: ConnectionLimits = _MANY, *hosts: str, port: int = 0
) -> AsyncIterator[tuple[str, int]]:
    """The host and port where `app` answers inside this context; port 0 takes a free one.

    It answers under every name unless some are given.
    """
    protocol = bounded_protocol(OpenConnections(limits), AllowedHosts(hosts) if hosts else None)
    listener = socket.socket()
    listener.bind(("127.0.0.1", port))
    config = uvicorn.Config(
        app, http=protocol, ws="none", lifespan="on", access_log=False, log_config=None
    )
    server = _Quiet(config)
    running = asyncio.create_task(server.serve([listener]))
    await until(lambda: server.started or running.done())
    if not server.started:
        await running
    try:
        yield listener.getsockname()
    finally:
        server.should_exit = True
        await running


async def exchange(address: tuple[str, int], sent: bytes, *, ends: bool = False) -> bytes:
    """Send bytes over a new connection and read until the server closes it."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(sent)
        await writer.drain()
        if ends:
            writer.write_eof()
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


@asynccontextmanager
async def connected(
    address: tuple[str, int],
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a connection, which is reset at the end."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def statuses_of(answers: bytes) -> list[int]:
    """The statuses of the responses in what was read, interim ones among them."""
    return [int(part[:3]) for part in answers.split(b"HTTP/1.1 ")[1:]]
