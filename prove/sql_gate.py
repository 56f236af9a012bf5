"""A replica's database: every round trip passes the gate on its way to PostgreSQL."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Self

from prove.gate import LOST, CutOff, Gate
from prove.pg_frames import (
    CATALOGS,
    PROTOCOL_3,
    SSL_REQUEST,
    Request,
    Statements,
    read_frame,
    read_startup,
)

_LOOK_S: Final = 0.25  # between two looks whether the server has left an idle connection
_GONE = (*LOST, CutOff)
_POOLS_APART: Final = (
    b"accounts",
    b"callers",
    b"catalog",
    b"search",
    b"upkeep",
)  # no step of a settlement


class SqlGate:
    """Listens on loopback in front of a PostgreSQL that is reached by a socket."""

    def __init__(self, gate: Gate, socket_path: Path) -> None:
        self._gate, self._socket_path = gate, socket_path
        self._server: asyncio.Server | None = None
        self._carriers: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        self.sever()
        await asyncio.gather(*self._carriers, return_exceptions=True)

    def sever(self) -> None:
        """Every connection breaks, as when the network does."""
        for carrier in self._carriers:
            carrier.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        carrier = asyncio.current_task()
        if carrier is not None:
            self._carriers.add(carrier)
            carrier.add_done_callback(self._carriers.discard)
        with contextlib.suppress(*_GONE, asyncio.CancelledError):
            await self._carry(reader, writer)
        writer.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        code, startup = await read_startup(reader)
        while code == SSL_REQUEST:
            writer.write(b"N")
            code, startup = await read_startup(reader)
        upstream = await asyncio.open_unix_connection(self._socket_path)
        try:
            if code != PROTOCOL_3:  # a request to cancel: nothing is answered
                upstream[1].write(startup)
                return
            is_catalogs = any(b"\0farebox-%s\0" % each in startup for each in _POOLS_APART)
            line = _Line(self._gate, (reader, writer), upstream, is_catalogs=is_catalogs)
            await line.carry(startup)
        except CutOff as cut:
            writer.close()
            if cut.strike is not None:
                await cut.strike.released()
        finally:
            upstream[1].close()


_Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Line:
    """One connection, a request at a time."""

    def __init__(self, gate: Gate, client: _Ends, server: _Ends, *, is_catalogs: bool) -> None:
        self._gate, self._client, self._server = gate, client, server
        self._statements = Statements(are_the_catalogs=is_catalogs)
        self._opened = f"{CATALOGS}sql connect" if is_catalogs else "sql connect"

    async def carry(self, startup: bytes) -> None:
        """Until either side leaves."""
        self._client[1].write(await self._gate.cross(self._opened, self._opening(startup)))
        while True:
            request = await self._request()
            if request.is_farewell:
                self._server[1].write(request.raw)
                return
            label = self._statements.label(request)
            self._client[1].write(await self._gate.cross(label, self._asking(request)))

    def _opening(self, startup: bytes) -> Callable[[], Awaitable[bytes]]:
        async def deliver() -> bytes:
            self._server[1].write(startup)
            return await self._answer(lambda kind: kind == ord("Z"))

        return deliver

    def _asking(self, request: Request) -> Callable[[], Awaitable[bytes]]:
        async def deliver() -> bytes:
            self._server[1].write(request.raw)
            return await self._answer(request.is_ended_by)

        return deliver

    async def _answer(self, is_last: Callable[[int], bool]) -> bytes:
        answer = bytearray()
        while True:
            frame = await read_frame(self._server[0])
            answer += frame.raw
            if is_last(frame.kind):
                return bytes(answer)

    async def _request(self) -> Request:
        """The client's next request; ends too when the server leaves while nothing is asked."""
        asked = asyncio.ensure_future(_read_request(self._client[0]))
        try:
            while not (await asyncio.wait({asked}, timeout=_LOOK_S))[0]:
                if self._server[0].at_eof():
                    raise CutOff
            return asked.result()
        finally:
            asked.cancel()


async def _read_request(reader: asyncio.StreamReader) -> Request:
    request = Request()
    while not request.is_whole:
        request.frames.append(await read_frame(reader))
    return request
