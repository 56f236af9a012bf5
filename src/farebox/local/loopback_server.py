"""Serve an ASGI application on a loopback address inside this process."""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from farebox.local.faults import LocalFault

HOST: Final = "127.0.0.1"
_STOP_S: Final = 5


class _LoopbackServer(uvicorn.Server):
    """Does not handle signals; `listening` is set once it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


def bind(port: int, *, option: str) -> socket.socket:
    """Bind a socket on the loopback address; port 0 takes a free one.

    Raises:
        LocalFault: the port is taken or not permitted; `option` names the option to change it.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise LocalFault(
                f"Port {port} is taken: stop what uses it, or choose another with {option}."
            ) from error
        reason = os.strerror(error.errno) if error.errno else "not possible"
        raise LocalFault(
            f"Port {port} cannot be used ({reason}): choose another with {option}."
        ) from error
    return listener


@asynccontextmanager
async def serving(app: ASGIApp, listener: socket.socket) -> AsyncIterator[str]:
    """Serve `app` inside this context, at the URL yielded; the listener is closed at its end."""
    config = uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        h11_max_incomplete_event_size=64 * 1024,
        timeout_graceful_shutdown=_STOP_S,
    )
    server = _LoopbackServer(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await server.listening.wait()
        yield f"http://{HOST}:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()
