"""The demo's existing API: it knows nothing of payments and asks for a bearer token."""

import asyncio
import secrets
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from farebox.kernel.secret import Secret

NAME: Final = "api.example.com"  # found by the service on this machine alone
_BODY: Final = b'{"city":"Lisbon","tomorrow":"sunny"}'
_HEAD_BYTES: Final = 64 * 1024


class WrappedApi:
    """One resource behind TLS; while `is_broken` it answers 503."""

    def __init__(self) -> None:
        self.token = Secret(secrets.token_urlsafe(24))
        self.is_broken = False
        self.port = 0
        self.responses = 0  # to requests other than HEAD
        self.targets: set[str] = set()  # of those requests

    @asynccontextmanager
    async def serving(self, tls: ssl.SSLContext) -> AsyncIterator[None]:
        """Serve inside this context, on a free port of the loopback."""
        server = await asyncio.start_server(
            self._respond, "127.0.0.1", 0, ssl=tls, limit=_HEAD_BYTES
        )
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Respond to the one request of a connection."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            expected = f"authorization: bearer {self.token.reveal()}".lower().encode()
            is_known = expected in head.lower()
            status, body = self._choose(is_known=is_known)
            writer.write(
                b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                b"Connection: close\r\n\r\n" % (status, len(body))
            )
            if not head.startswith(b"HEAD "):
                self.responses += 1
                self.targets.add(head.split(b" ", 2)[1].decode())
                writer.write(body)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the caller left, or sent no HTTP
        finally:
            writer.close()

    def _choose(self, *, is_known: bool) -> tuple[bytes, bytes]:
        if self.is_broken:
            return b"503 Service Unavailable", b'{"error":"maintenance"}'
        if not is_known:
            return b"401 Unauthorized", b'{"error":"token"}'
        return b"200 OK", _BODY
