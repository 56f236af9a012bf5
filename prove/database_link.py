"""A link between the service and its PostgreSQL server that can stall, break, or be cut off."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from enum import StrEnum
from pathlib import Path
from typing import Final, Self
from urllib.parse import parse_qs, urlsplit

_PART: Final = 64 * 1024


class LinkState(StrEnum):
    """What the link does with bytes and with new connections."""

    OPEN = "passes everything"
    STALLED = "keeps everything back"
    DOWN = "has broken every connection, and takes no new one"


def socket_path_of(url: str) -> Path:
    """Return the socket of a server on this machine from its URL."""
    (folder,) = parse_qs(urlsplit(url).query)["host"]
    return Path(folder) / ".s.PGSQL.5432"


class DatabaseLink:
    """Listens on loopback and forwards every connection to the server's socket."""

    def __init__(self, server_url: str) -> None:
        self._socket_path = socket_path_of(server_url)
        self._user = urlsplit(server_url).username
        self._database = urlsplit(server_url).path
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_open = asyncio.Event()
        self._state = LinkState.OPEN
        self._port = 0

    @property
    def url(self) -> str:
        """The URL of the database behind the link."""
        return f"postgresql://{self._user}@127.0.0.1:{self._port}{self._database}"

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[Self]:
        """Forward inside this context."""
        self._is_open.set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._port = int(server.sockets[0].getsockname()[1])
        try:
            yield self
        finally:
            server.close()
            await self._break()

    async def set(self, state: LinkState) -> None:
        """Change the state; DOWN breaks what is open."""
        self._state = state
        if state is LinkState.STALLED:
            self._is_open.clear()
        else:
            self._is_open.set()
        if state is LinkState.DOWN:
            await self._break()

    async def _break(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._state is LinkState.DOWN:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._forward(reader, writer)
        writer.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_unix_connection(self._socket_path)
        ways = (self._pass_on(reader, server_writer), self._pass_on(server_reader, writer))
        tasks = [asyncio.ensure_future(each) for each in ways]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            server_writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while part := await reader.read(_PART):
            await self._is_open.wait()
            writer.write(part)
            await writer.drain()
