"""The upstream of a case: a TLS server that fails as it is told, and remembers every request.

A request may say how it is answered: `status=404`, `bytes=300000`, `events=3`, `takes_ms=500` or
`tokens=1025` in its query.
"""

import asyncio
import contextlib
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from testing.servers import listening

NAME: Final = "api.example.com"
_LONG: Final = b"x" * 200_000  # beyond what is stored, so that it is passed on in parts
_SILENT_S: Final = 30.0
_EVENT_S: Final = 0.1  # between two events of a stream
_TOKEN: Final = b"token"
_LAST_TOKENS: Final = 20
_TOKENS_S: Final = 0.1  # before the last ones
_READ_S: Final = 0.2  # in which the service has read a long response
_PLAIN: Final = b"HTTP/1.1 408 Request Timeout\r\n\r\n"
_WITHOUT_BODY: Final = (204, 304)  # RFC 9110, sections 15.3.5 and 15.4.5
_STREAM_HEAD: Final = (
    b"HTTP/1.1 200 Told\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
)


class UpstreamFault(StrEnum):
    """What the upstream does with a request, in place of responding."""

    NONE = "it responds"
    STATUS = "it responds 500"
    DROPS = "it reads the request and drops the connection"
    CUT = "its response breaks off"
    UNENDED = "its response without a length breaks off"
    PLAIN = "plain text, as of a proxy on the way, comes with the end of its response"
    SILENT = "it is silent"
    KILL = "the replica is killed while it waits"
    KILL_AFTER = "the replica is killed once it has the response"


@dataclass(slots=True)
class Reached:
    """A request that reached the upstream; `status` is None without a complete response."""

    method: str
    status: int | None = None
    body: bytes | None = None  # of a complete response; None for a stream too
    target: str = ""
    is_left: bool = False  # the service closed the connection before the whole response

    def setting(self, name: str, default: int) -> int:
        """Read a number that the request's query asks for."""
        found = re.search(rf"[?&]{name}=([0-9]+)", self.target)
        return int(found[1]) if found else default


async def _kill_nothing() -> None:
    return


@dataclass(slots=True)
class ScriptedUpstream:
    """Responds with a body of its own to each request; the first ones meet `faults`."""

    faults: list[UpstreamFault] = field(default_factory=list)
    kill: Callable[[], Awaitable[None]] = _kill_nothing
    is_long: bool = False
    takes_s: float = 0.0  # before each response
    at_once: int = 0
    at_once_max: int = 0
    reached: list[Reached] = field(default_factory=list)
    port: int = 0

    @contextlib.asynccontextmanager
    async def serving(self, tls: ssl.SSLContext) -> AsyncIterator[None]:
        """Serve inside this context, on a free port of the loopback."""
        async with listening(self._respond, tls=tls) as self.port:
            yield

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = (OSError, asyncio.IncompleteReadError, asyncio.CancelledError)  # of the run too
        with contextlib.suppress(*ends):
            request = await _read_request(reader)
            self.reached.append(request)
            fault = self.faults.pop(0) if self.faults else UpstreamFault.NONE
            self.at_once += 1
            self.at_once_max = max(self.at_once, self.at_once_max)
            await asyncio.sleep(self.takes_s + request.setting("takes_ms", 0) / 1000)
            self.at_once -= 1
            await self._answer(request, fault, writer)
        writer.close()

    async def _answer(
        self, request: Reached, fault: UpstreamFault, writer: asyncio.StreamWriter
    ) -> None:
        body = b"response %d " % len(self.reached) + (_LONG if self.is_long else b"")
        body += b"y" * request.setting("bytes", 0)
        match fault:
            case UpstreamFault.NONE:
                await self._respond_as_asked(request, body, writer)
            case UpstreamFault.STATUS | UpstreamFault.KILL_AFTER:
                status = request.setting("status", 500 if fault is UpstreamFault.STATUS else 200)
                await _send(status, body, request, writer)
                if fault is UpstreamFault.KILL_AFTER:
                    await self.kill()
            case UpstreamFault.PLAIN:
                await _send_with_plain_text(body, request, writer)
            case UpstreamFault.DROPS | UpstreamFault.CUT | UpstreamFault.UNENDED:
                await _break_off(fault, body, writer)
            case UpstreamFault.SILENT:
                await asyncio.sleep(_SILENT_S)
            case UpstreamFault.KILL:
                await self.kill()

    async def _respond_as_asked(
        self, request: Reached, body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        """Respond as the query of the request says."""
        if events := request.setting("events", 0):
            await self._stream(request, events, writer)
        elif tokens := request.setting("tokens", 0):
            await _send_tokens(tokens, body, request, writer)
        else:
            await _send(request.setting("status", 200), body, request, writer)

    async def _stream(self, request: Reached, events: int, writer: asyncio.StreamWriter) -> None:
        """Send events one by one, each once the one before was taken."""
        number = len(self.reached)
        writer.write(_STREAM_HEAD + b": a comment\n\n")
        try:
            for each in range(events):
                writer.write(b"data: response %d event %d\n\n" % (number, each))
                await writer.drain()
                await asyncio.sleep(_EVENT_S)
            request.status = 200
        except OSError:
            request.is_left = True
            raise


async def _send(status: int, body: bytes, request: Reached, writer: asyncio.StreamWriter) -> None:
    """Send a response."""
    if status in _WITHOUT_BODY:
        body = b""
    writer.write(_head(status, len(body)) + body)
    await writer.drain()
    request.status, request.body = status, body


async def _break_off(fault: UpstreamFault, body: bytes, writer: asyncio.StreamWriter) -> None:
    """Send half a response or nothing, and no closure alert of TLS (RFC 9112, section 9.8)."""
    if fault is not UpstreamFault.DROPS:
        length = len(body) if fault is UpstreamFault.CUT else None
        writer.write(_head(200, length) + body[: len(body) // 2])
        await writer.drain()
    writer.transport.abort()


async def _send_tokens(
    tokens: int, start: bytes, request: Reached, writer: asyncio.StreamWriter
) -> None:
    """Send a body in so many small chunks, and the last ones later."""
    head = b"HTTP/1.1 200 Told\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    writer.write(head + _chunk(start) + (tokens - 1) * _chunk(_TOKEN))
    await writer.drain()
    await asyncio.sleep(_TOKENS_S)
    writer.write(_LAST_TOKENS * _chunk(_TOKEN) + _chunk(b""))
    await writer.drain()
    request.status = 200
    request.body = start + (tokens - 1 + _LAST_TOKENS) * _TOKEN


async def _send_with_plain_text(
    body: bytes, request: Reached, writer: asyncio.StreamWriter
) -> None:
    """Send a response, and plain text in one flight with its last byte."""
    writer.write(_head(200, len(body)) + body[:-1])
    await asyncio.sleep(_READ_S)
    with writer.get_extra_info("socket").dup() as own:
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        writer.write(body[-1:])
        own.send(_PLAIN)
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
    writer.transport.abort()
    request.status, request.body = 200, body


def _chunk(data: bytes) -> bytes:
    """A chunk of RFC 9112, section 7.1; the last one has no data."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _head(status: int, length: int | None) -> bytes:
    lines = b"HTTP/1.1 %d Told\r\nContent-Type: text/plain\r\n" % status
    if length is not None and status not in _WITHOUT_BODY:
        lines += b"Content-Length: %d\r\n" % length
    return lines + b"\r\n"


async def _read_request(reader: asyncio.StreamReader) -> Reached:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *fields = head.split("\r\n")
    named = {name.lower(): value.strip() for name, _, value in (f.partition(":") for f in fields)}
    await reader.readexactly(int(named.get("content-length", "0")))
    method, target, _ = line.split(" ", 2)
    return Reached(method, target=target)
