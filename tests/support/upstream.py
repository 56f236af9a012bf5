"""A TLS server on loopback with scripted answers, which keeps the requests."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from testing.servers import listening
from testing.waiting import until

Answer: TypeAlias = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass(slots=True)
class Upstream:
    """The server's record: connections, server names, and the bytes of each request."""

    answer: Answer
    port: int = 0
    connections: int = 0
    names: list[str | None] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request of a connection and answer it."""
        self.connections += 1
        with suppress(OSError, asyncio.IncompleteReadError):
            self.requests.append(await _request(reader))
            await self.answer(writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def answers(
    body: bytes = b"", *, status: str = "200 OK", headers: tuple[str, ...] = (), length: int = -1
) -> Answer:
    """A whole answer; `length` is a wrong Content-Length to send, -1 for the true one."""
    content_length = len(body) if length < 0 else length
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {content_length}", "", ""]
    return says("\r\n".join(lines).encode() + body)


def says(raw: bytes) -> Answer:
    """These bytes, and the end."""

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()

    return write


def drops() -> Answer:
    """No answer: the connection ends once the request is there."""

    async def leave(writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    return leave


def breaks_off(raw: bytes, *, resets: bool) -> Answer:
    """These bytes, and the end of the connection without the closure alert of TLS."""

    async def leave(writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()
        if resets:  # the peer's system tells of it, where the end of the stream says nothing
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    return leave


def drips(piece: bytes, *, every_s: float = 0.02, head: bytes = b"") -> Answer:
    """A head, then one piece after the other until the other side leaves."""

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(every_s)

    return write


class GatedUpstream:
    """Writes a first part, and the rest once the gate opens; knows when its caller hangs up."""

    def __init__(self, first: bytes, rest: bytes = b"") -> None:
        self._first, self._rest = first, rest
        self.gate, self.hung_up = asyncio.Event(), asyncio.Event()

    async def answer(self, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        writer.write(self._first)
        await writer.drain()
        closing = asyncio.ensure_future(self._wait_for_end(writer))
        opening = asyncio.ensure_future(self.gate.wait())
        await asyncio.wait((closing, opening), return_when=asyncio.FIRST_COMPLETED)
        closing.cancel()
        opening.cancel()
        writer.write(self._rest)
        await writer.drain()

    async def _wait_for_end(self, writer: asyncio.StreamWriter) -> None:
        await until(writer.transport.is_closing)
        self.hung_up.set()


@asynccontextmanager
async def upstream(tls: ssl.SSLContext | None, answer: Answer) -> AsyncIterator[Upstream]:
    """A server on a free port of 127.0.0.1."""
    served = Upstream(answer)
    if tls is not None:
        tls.sni_callback = lambda _object, name, _context: served.names.append(name)
    async with listening(served.serve, tls=tls) as served.port:
        yield served


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    fields = head.lower()
    if b"\r\ntransfer-encoding: chunked" in fields:
        return head + await reader.readuntil(b"0\r\n\r\n")
    _, _, rest = fields.partition(b"\r\ncontent-length:")
    return head + (await reader.readexactly(int(rest.split(b"\r\n")[0])) if rest else b"")
