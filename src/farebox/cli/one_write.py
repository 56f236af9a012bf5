"""An answer's head and body leave together: one system call and one packet instead of two."""

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HEAD: Final = b"HTTP/1.1 "


class HeldHead(asyncio.Transport):
    """A transport that holds an answer's head until its body follows, at most one turn of the loop.

    The server writes the two one after the other, and the loop sends each at once.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport, self._loop = transport, loop
        self._head = b""
        # Asked for on every request: straight to the real transport.
        self.is_closing = transport.is_closing  # type: ignore[method-assign]
        self.get_extra_info = transport.get_extra_info  # type: ignore[method-assign]
        self.pause_reading = transport.pause_reading  # type: ignore[method-assign]
        self.resume_reading = transport.resume_reading  # type: ignore[method-assign]
        self.set_protocol = transport.set_protocol  # type: ignore[method-assign]

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """A head waits for what comes next; everything else goes out with what waited."""
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head + data)
        elif isinstance(data, bytes) and data.startswith(_HEAD):
            self._head = data
            self._loop.call_soon(self._release)
        else:
            self._transport.write(data)

    def close(self) -> None:
        """What was held goes out before the connection ends."""
        self._release()
        self._transport.close()

    def abort(self) -> None:
        """The connection ends at once."""
        self._head = b""
        self._transport.abort()

    def _release(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)


class OneWriteProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 protocol over such a transport."""

    def connection_made(  # type: ignore[override]  # as in the class it extends
        self, transport: asyncio.Transport
    ) -> None:
        """The connection is served."""
        super().connection_made(HeldHead(transport, self.loop))
