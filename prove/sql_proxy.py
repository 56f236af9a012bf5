"""A proxy between a replica and PostgreSQL; the interceptor handles every round trip."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, Self

from prove.interceptor import CONNECTION_ERRORS, ConnectionCut, Interceptor, ServerError
from prove.pg_frames import (
    PROTOCOL_3,
    SSL_REQUEST,
    Frame,
    Labels,
    Request,
    query,
    read_frame,
    read_startup,
    refused_connection,
)

_LOOK_S: Final = 0.25  # between two checks whether the server closed an idle connection
_ENDED = (*CONNECTION_ERRORS, ConnectionCut)
_RAISE: Final = "DO $$ BEGIN RAISE 'as ordered' USING ERRCODE = '{sqlstate}'; END $$"


class SqlProxy:
    """Listens on loopback and forwards connections to the socket of PostgreSQL."""

    def __init__(self, interceptor: Interceptor, socket_path: Path) -> None:
        self._interceptor, self._socket_path = interceptor, socket_path
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self._connections = 0
        self.connections_max = 0  # open at a time

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        self.break_connections()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def break_connections(self) -> None:
        """Break every connection, like a network failure."""
        for task in self._tasks:
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(*_ENDED, asyncio.CancelledError):
            await self._forward(reader, writer)
        writer.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        code, startup = await read_startup(reader)
        while code == SSL_REQUEST:
            writer.write(b"N")
            code, startup = await read_startup(reader)
        upstream = await asyncio.open_unix_connection(self._socket_path)
        try:
            if code != PROTOCOL_3:  # a cancel request, which has no answer
                upstream[1].write(startup)
                return
            labels = self._interceptor.labels_of(startup)
            connection = _Connection(self._interceptor, (reader, writer), upstream, labels)
            with self._count_connection():
                await connection.forward(startup)
        except ConnectionCut as cut:
            writer.close()
            if cut.crash_point is not None:
                await cut.crash_point.wait_until_released()
        finally:
            upstream[1].close()

    @contextlib.contextmanager
    def _count_connection(self) -> Iterator[None]:
        self._connections += 1
        self.connections_max = max(self.connections_max, self._connections)
        try:
            yield
        finally:
            self._connections -= 1


_Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Connection:
    """Forwards one connection, a request at a time."""

    def __init__(
        self, interceptor: Interceptor, client: _Ends, server: _Ends, labels: Labels
    ) -> None:
        self._interceptor, self._client, self._server = interceptor, client, server
        self._labels = labels

    async def forward(self, startup: bytes) -> None:
        """Forward until either side closes the connection."""
        try:
            opened = await self._interceptor.intercept(
                self._labels.connect_label, self._deliver_startup(startup)
            )
        except ServerError as error:
            self._client[1].write(refused_connection(error.sqlstate))
            return
        self._client[1].write(opened)
        while True:
            request = await self._request()
            if request.is_termination:
                self._server[1].write(request.raw)
                return
            label = self._labels.label(request)
            try:
                answer = await self._interceptor.intercept(label, self._deliver_request(request))
            except ServerError as error:
                answer = await self._fail_statement(request, error.sqlstate)
            self._client[1].write(answer)

    def _deliver_startup(self, startup: bytes) -> Callable[[], Awaitable[bytes]]:
        async def deliver() -> bytes:
            self._server[1].write(startup)
            return await self._answer(lambda kind: kind == ord("Z"))

        return deliver

    def _deliver_request(self, request: Request) -> Callable[[], Awaitable[bytes]]:
        async def deliver() -> bytes:
            self._server[1].write(request.raw)
            return await self._answer(request.is_ended_by)

        return deliver

    async def _fail_statement(self, request: Request, sqlstate: str) -> bytes:
        """Raise the error in the server, which ends its transaction as a failed statement does."""
        answer = await self._send_query(query(_RAISE.format(sqlstate=sqlstate)))
        if request.is_commit:  # the transaction is over and rolled back
            answer = [*answer[:-1], (await self._send_query(query("ROLLBACK")))[-1]]
        last = next(at for at, each in enumerate(answer) if request.is_ended_by(each.kind))
        return b"".join(each.raw for each in answer[: last + 1])

    async def _send_query(self, raw: bytes) -> list[Frame]:
        self._server[1].write(raw)
        return await self._frames(lambda kind: kind == ord("Z"))

    async def _answer(self, is_last: Callable[[int], bool]) -> bytes:
        return b"".join(frame.raw for frame in await self._frames(is_last))

    async def _frames(self, is_last: Callable[[int], bool]) -> list[Frame]:
        frames: list[Frame] = []
        while not frames or not is_last(frames[-1].kind):
            frames.append(await read_frame(self._server[0]))
        return frames

    async def _request(self) -> Request:
        """Read the client's next request; fail when the server closes the idle connection."""
        reading = asyncio.ensure_future(_read_request(self._client[0]))
        try:
            while not (await asyncio.wait({reading}, timeout=_LOOK_S))[0]:
                if self._server[0].at_eof():
                    raise ConnectionCut
            return reading.result()
        finally:
            reading.cancel()


async def _read_request(reader: asyncio.StreamReader) -> Request:
    request = Request()
    while not request.is_whole:
        request.frames.append(await read_frame(reader))
    return request
