"""The upstream of a case: a TLS server that fails as it is told, and remembers every request."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

NAME: Final = "api.example.com"
_LONG: Final = b"x" * 200_000  # beyond what is stored, so that it is passed on in parts
_SILENT_S: Final = 30.0


class UpstreamFault(StrEnum):
    """What the upstream does with a request, in place of responding."""

    NONE = "it responds"
    STATUS = "it responds 500"
    DROPS = "it reads the request and drops the connection"
    CUT = "its response breaks off"
    SILENT = "it is silent"
    KILL = "the replica is killed while it waits"
    KILL_AFTER = "the replica is killed once it has the response"


@dataclass(slots=True)
class Reached:
    """A request that reached the upstream; `status` is None without a complete response."""

    method: str
    status: int | None = None


@dataclass(slots=True)
class ScriptedUpstream:
    """Responds with a body of its own to each request; the first ones meet `faults`."""

    faults: list[UpstreamFault]
    kill: Callable[[], Awaitable[None]]
    is_long: bool = False
    takes_s: float = 0.0  # before each response
    at_once: int = 0
    at_once_max: int = 0
    reached: list[Reached] = field(default_factory=list)
    port: int = 0

    @contextlib.asynccontextmanager
    async def serving(self, tls: ssl.SSLContext) -> AsyncIterator[None]:
        """Serve inside this context, on a free port of the loopback."""
        server = await asyncio.start_server(self._respond, "127.0.0.1", 0, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            request = await _read_request(reader)
            self.reached.append(request)
            fault = self.faults.pop(0) if self.faults else UpstreamFault.NONE
            self.at_once += 1
            self.at_once_max = max(self.at_once, self.at_once_max)
            await asyncio.sleep(self.takes_s)
            self.at_once -= 1
            await self._answer(request, fault, writer)
        writer.close()

    async def _answer(
        self, request: Reached, fault: UpstreamFault, writer: asyncio.StreamWriter
    ) -> None:
        body = b"response %d " % len(self.reached) + (_LONG if self.is_long else b"")
        match fault:
            case UpstreamFault.DROPS:
                writer.transport.abort()
            case UpstreamFault.CUT:
                writer.write(_head(200, len(body)) + body[: len(body) // 2])
                await writer.drain()
                writer.transport.abort()
            case UpstreamFault.SILENT:
                await asyncio.sleep(_SILENT_S)
            case UpstreamFault.KILL:
                await self.kill()
            case _:
                status = 500 if fault is UpstreamFault.STATUS else 200
                writer.write(_head(status, len(body)) + body)
                await writer.drain()
                request.status = status
                if fault is UpstreamFault.KILL_AFTER:
                    await self.kill()


def _head(status: int, length: int) -> bytes:
    return b"HTTP/1.1 %d Told\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % (
        status,
        length,
    )


async def _read_request(reader: asyncio.StreamReader) -> Reached:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *fields = head.split("\r\n")
    named = {name.lower(): value.strip() for name, _, value in (f.partition(":") for f in fields)}
    await reader.readexactly(int(named.get("content-length", "0")))
    return Reached(line.partition(" ")[0])
