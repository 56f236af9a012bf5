"""The handler of a connection: no received byte is lost, and a truncated body is refused."""

import asyncio
import ssl
from typing import Any, Final, Self

import aiohttp
from aiohttp.client_proto import ResponseHandler

_READ_BYTES: Final = 256 * 1024


class LosslessTls(ssl.SSLObject):
    """Python's TLS object; it holds the bytes that the event loop may drop.

    The loop reads record after record, and then gives all their bytes to the handler. If it meets
    an error of TLS (a fatal alert, plain text), it drops those that it has read before.
    """

    held: bytearray  # read, and not given to the handler

    def __new__(cls) -> Self:
        """Hold nothing yet; Python makes a TLS object without `__init__`."""
        made = super().__new__(cls)
        made.held = bytearray()
        return made

    def read(self, size: int = 1024, buffer: Any = None) -> Any:
        """Read a record, and hold its bytes."""
        received = super().read(size, buffer)
        if buffer is None:
            self.held += received
        return received


class WholeResponseHandler(ResponseHandler):
    """The library's response handler, with two defects fixed.

    The library drops bytes that were received but not parsed when the connection closes: its
    parser pauses while nobody reads, and the event loop leaves bytes undecrypted or drops them. It
    also accepts a body with neither Content-Length nor chunks however the connection closes. By
    RFC 9112, section 9.8, that body is complete only if the peer has sent the closure alert of
    TLS. Without TLS a close and a failure look the same.
    """

    _tls: LosslessTls | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the TLS object of the connection."""
        self._tls = transport.get_extra_info("ssl_object")
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Parse bytes that the event loop gives out; they are not held any more.

        Without bytes, the library goes on with those that it has. A malformed response ends the
        connection; the library would wait for its peer.
        """
        if data and self._tls is not None:
            self._tls.held.clear()
        super().data_received(data)
        if self.exception() is not None:
            self._abort_soon(self.transport)

    def close(self) -> None:
        """Close the connection, and do not wait for the peer, which may go on sending."""
        transport = self.transport
        super().close()
        self._abort_soon(transport)

    def _abort_soon(self, transport: asyncio.Transport | None) -> None:
        """Abort once the event loop is done with the bytes that it has read."""
        if transport is not None:
            self._loop.call_soon(transport.abort)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Parse the bytes that are left, then fail the body unless it is complete.

        The buffers of socket and TLS hold some 100 KB at most. In chunks of one byte those take
        ten times as much memory until they are read.
        """
        if self.transport is None:  # this side has closed: nobody reads the rest
            super().connection_lost(exc)
            return
        self._parse()
        has_alert = self._take_rest()
        payload = self._payload
        if payload is not None and self._tls is not None and not has_alert:
            _fail(payload)
        super().connection_lost(exc)
        if payload is not None:
            _fail(payload)  # the parser leaves the reader of a malformed body waiting

    def _take_rest(self) -> bool:
        """Parse the bytes left in TLS; return whether the closure alert follows them."""
        tls = self._tls
        if tls is None:
            return False
        self._parse(bytes(tls.held))
        try:
            while data := tls.read(_READ_BYTES):
                self._parse(data)
        except ssl.SSLZeroReturnError:
            pass
        except ssl.SSLError:
            return False
        try:
            tls.unwrap()  # `read` ends alike after a fatal alert; this fails then
        except ssl.SSLError:
            return False
        return True

    def _parse(self, data: bytes = b"") -> None:
        """Parse bytes, and those that the paused parser has kept back.

        The parser has a pause of its own, which may outlast `_reading_paused`.
        """
        while True:
            self._reading_paused = False
            self.data_received(data)
            if not data and not self._reading_paused:
                return
            data = b""


def _fail(payload: aiohttp.StreamReader) -> None:
    """Make the reader of an incomplete body fail."""
    if not payload.is_eof() and payload.exception() is None:
        payload.set_exception(aiohttp.ClientPayloadError("the connection broke off in the body"))
