"""A buyer behind a socket: the gateway runs behind the server we use, and can be left."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from farebox.storage.pool import Database
from support.gateway import GatewayBench, sent, signature
from support.serving import serving
from testing.waiting import until

_WITHIN_S: Final = 20.0
_LAST_CHUNK: Final = b"0\r\n\r\n"


@dataclass(slots=True)
class NotedDepartures:
    """An application before which the departures of its callers are noted."""

    app: ASGIApp
    noted: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer by the application."""

        async def receive_noted() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.noted.set()
            return message

        await self.app(scope, receive_noted, send)


@dataclass(slots=True)
class SocketBuyer:
    """A buyer whose paid request is sent."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    departures: NotedDepartures

    async def read_until(self, text: bytes) -> bytes:
        """Read until this text."""
        return await asyncio.wait_for(self.reader.readuntil(text), _WITHIN_S)

    async def read_rest(self) -> bytes:
        """Read until the service closes the connection."""
        return await asyncio.wait_for(self.reader.read(), _WITHIN_S)

    async def read_chunks(self) -> tuple[bytes, bool]:
        """Read the rest of a chunked body; return its bytes, and whether it has its end."""
        rest = await self.read_rest()
        parts, is_whole = b"", rest.endswith(_LAST_CHUNK)
        while rest and rest != _LAST_CHUNK:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size, 16)
            parts, rest = parts + rest[:length], rest[length + 2 :]
        return parts, is_whole

    async def until_sent(self, at: GatewayBench) -> None:
        """Return once the request has reached the upstream, before which nothing is answered."""
        answered = asyncio.ensure_future(self.reader.read(1))
        try:
            await until(lambda: sent(at) or answered.done())
            assert not answered.done(), (answered.result() + await self.read_rest()).decode()
        finally:
            answered.cancel()
            await asyncio.gather(answered, return_exceptions=True)

    def leave(self) -> None:
        """Leave: the connection is gone."""
        self.writer.transport.abort()

    def end_sending(self) -> None:
        """End the sending side, and stay for the response."""
        self.writer.write_eof()

    async def close(self) -> None:
        """Close the connection, as a client does that has had enough."""
        self.writer.close()
        await self.writer.wait_closed()

    async def close_noted(self) -> None:
        """Close the connection, and return once the gateway has been told."""
        await self.close()
        await asyncio.wait_for(self.departures.noted.wait(), _WITHIN_S)

    async def leave_noted(self) -> None:
        """Leave, and return once the gateway has been told."""
        self.leave()
        await asyncio.wait_for(self.departures.noted.wait(), _WITHIN_S)


@asynccontextmanager
async def socket_buyer(at: GatewayBench, *, method: str = "GET") -> AsyncIterator[SocketBuyer]:
    """A buyer who sends a paid request over a connection of its own: the payment `one`."""
    at.paid["one"] = signature(await at.offer(method=method), "one")
    departures = NotedDepartures(at.client)
    async with serving(departures) as address:
        reader, writer = await asyncio.open_connection(*address)
        head = (
            f"{method} {at.url} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n"
        )
        fields = f"Content-Type: text/plain\r\nPAYMENT-SIGNATURE: {at.paid['one']}\r\n\r\n"
        writer.write((head + fields).encode())
        try:
            yield SocketBuyer(reader, writer, departures)
        finally:
            writer.transport.abort()


async def payment_row(database: Database) -> dict[str, Any]:
    """The one payment: its state, the number of its attempts, whether one is in progress."""
    async with database.connection() as db:
        row = await db.fetchrow(
            "SELECT state, attempts, attempt_until IS NOT NULL AS is_open, may_repeat,"
            " (SELECT count(*) FROM gateway_responses) AS stored,"
            " (SELECT in_progress FROM wrapper_counters) AS in_progress FROM gateway_payments"
        )
    assert row is not None
    return dict(row)


async def until_ended(database: Database) -> dict[str, Any]:
    """Return the payment once no attempt is in progress."""

    async def ended() -> dict[str, Any] | None:
        row = await payment_row(database)
        return None if row["is_open"] or row["state"] == "reserved" else row

    row: dict[str, Any] | None = await until(ended)
    assert row is not None
    return row
