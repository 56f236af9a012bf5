"""The handler of a connection: a slow reader loses no byte, and a truncated body is refused."""

import asyncio
import ssl
from typing import Final

import aiohttp
from aiohttp.client_proto import ResponseHandler

_READ_BYTES: Final = 256 * 1024


class WholeResponseHandler(ResponseHandler):
    """The library's response handler, with two defects fixed.

    The library drops bytes that were received but not parsed when the connection closes: its
    parser pauses while nobody reads, and uvloop leaves bytes undecrypted. It also accepts a body
    with neither Content-Length nor chunks however the connection closes. By RFC 9112, section 9.8,
    that body is complete only if the peer has sent the closure alert of TLS. Without TLS a close
    and a failure look the same.

    Bytes that a TLS error follows in the same read stay lost, because the event loop drops them: a
    body that they would complete is refused.
    """

    _tls: ssl.SSLObject | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the TLS object of the connection."""
        self._tls = transport.get_extra_info("ssl_object")
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Parse the bytes that are left, then fail the body unless it is complete.

        The buffers of socket and TLS hold some 100 KB at most. In chunks of one byte those take
        ten times as much memory until they are read.
        """
        self._parse_all()
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
        try:
            while data := tls.read(_READ_BYTES):
                self.data_received(data)
                self._parse_all()
        except ssl.SSLZeroReturnError:
            pass
        except ssl.SSLError:
            return False
        try:
            tls.unwrap()  # `read` ends alike after a fatal alert; this fails then
        except ssl.SSLError:
            return False
        return True

    def _parse_all(self) -> None:
        """Parse the bytes that the paused parser has kept back.

        The parser has a pause of its own, which may outlast `_reading_paused`.
        """
        while True:
            self._reading_paused = False
            self.data_received(b"")
            if not self._reading_paused:
                return


def _fail(payload: aiohttp.StreamReader) -> None:
    """Make the reader of an incomplete body fail."""
    if not payload.is_eof() and payload.exception() is None:
        payload.set_exception(aiohttp.ClientPayloadError("the connection broke off in the body"))
