"""Servers on a free port of the loopback, for as long as a block runs."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(
    serve: Serve, *, tls: ssl.SSLContext | None = None, limit: int = 2**16
) -> AsyncIterator[int]:
    """Serve connections; yields the port. Those that are open end with their clients."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, limit=limit)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@asynccontextmanager
async def serving(app: web.Application, *, shutdown_s: float = 60) -> AsyncIterator[str]:
    """Serve an application; yields its URL without a path."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=shutdown_s)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()
