"""The handler of a connection: no received byte is lost, and a truncated body is refused."""

import asyncio
import ssl
from contextlib import suppress
from typing import Any, Final, Self

import aiohttp
from aiohttp.client_proto import ResponseHandler

_READ_BYTES: Final = 256 * 1024
_CLOSE_S: Final = 5.0  # for the peer to take the rest of a request whose response is whole
_DISCARD_BYTES: Final = 16 * 1024 * 1024  # that it may send meanwhile


class LosslessTls(ssl.SSLObject):
    """Python's TLS object; it keeps the bytes that the event loop may drop.

    The loop reads record after record, and then gives all their bytes to the handler. If it meets
    an error of TLS (a fatal alert, plain text), it drops those that it has read before.

    Python leaves some errors in OpenSSL's error queue, which all connections of a thread share:
    the next read of another connection would fail with them. `unwrap` and `getpeercert` leave none.
    """

    unparsed: bytearray  # read, and not given to the handler
    _may_discard: int | None = None  # so many bytes, since this side has closed

    def __new__(cls) -> Self:
        """Keep nothing yet; Python makes a TLS object without `__init__`."""
        made = super().__new__(cls)
        made.unparsed = bytearray()
        return made

    def read(self, size: int = 1024, buffer: Any = None) -> Any:
        """Read a record, and keep its bytes; event loops give a buffer to other handlers alone.

        Raises:
            SSLError: this side has closed, and the peer sends too much behind.
        """
        received: Any = super().read(size, buffer)
        if self._may_discard is None:
            self.unparsed += received
            return received
        self._may_discard -= len(received)
        if self._may_discard < 0:
            raise ssl.SSLError("the peer keeps sending to a closed connection")
        return received

    def unwrap(self) -> None:
        """Read what the peer has sent, and send the closure alert.

        Behind a fatal alert that it has not read, Python's `unwrap` leaves the error in the queue.
        """
        with suppress(ssl.SSLZeroReturnError, ssl.SSLWantReadError):
            while self.read(_READ_BYTES):
                pass
        super().unwrap()

    def getpeercert(self, *_: Any, **__: Any) -> Any:
        """Return the certificate in DER; event loops decode it, and nobody reads it.

        Behind an extension that it cannot decode, Python leaves the error in the queue.
        """
        return super().getpeercert(binary_form=True)

    def discard(self) -> None:
        """Keep nothing more: this side has closed, and the loop discards what it reads."""
        self._may_discard = _DISCARD_BYTES
        self.unparsed.clear()


class WholeResponseHandler(ResponseHandler):
    """The library's response handler, with its defects at the end of a connection fixed.

    The library drops bytes that were received but not parsed when the connection closes: its
    parser pauses while nobody reads, and the event loop leaves bytes undecrypted or drops them. It
    also accepts a body with neither Content-Length nor chunks however the connection closes. By
    RFC 9112, section 9.8, that body is complete only if the peer has sent the closure alert of
    TLS. Without TLS a close and a failure look the same. And it waits for the peer of a malformed
    response, and of a connection that it has closed.
    """

    _tls: LosslessTls | None = None
    _aborting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the TLS object of the connection."""
        self._tls = transport.get_extra_info("ssl_object")
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Parse bytes that the event loop gives out; they are kept no longer.

        Without bytes, the library continues with those that it has.
        """
        if data and self._tls is not None:
            self._tls.unparsed.clear()
        super().data_received(data)
        if self.exception() is not None and self.transport is not None:
            self._loop.call_soon(self.transport.abort)  # not amid what the loop does with `data`

    def close(self) -> None:
        """Close the connection, and abort it soon.

        The event loop would wait half a minute for the peer, and read what it still sends.
        """
        transport = self.transport
        if transport is None:
            return
        if self._tls is not None:
            self._tls.discard()
        if transport.is_closing():
            self.transport = None  # asyncio cannot abort what is closed twice
        super().close()
        self._aborting = self._loop.call_later(_CLOSE_S, transport.abort)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Parse the bytes that are left, then fail the body unless it is complete.

        The buffers of socket and TLS hold some 100 KB at most. In chunks of one byte those take
        ten times as much memory until they are read.
        """
        has_alert = False
        if self._aborting is None:  # else this side has closed, and nobody reads the rest
            self._parse()
            has_alert = self._take_rest()
        payload = self._payload
        if payload is not None and self._tls is not None and not has_alert:
            _fail(payload)
        super().connection_lost(exc)
        if payload is not None:
            _fail(payload)  # the parser leaves the reader of a malformed body waiting
        if self._aborting is not None:
            self._aborting.cancel()

    def _take_rest(self) -> bool:
        """Parse the bytes left in TLS; return whether the closure alert follows them."""
        tls = self._tls
        if tls is None:
            return False
        self._parse(bytes(tls.unparsed))
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
