"""The protocol of a connection: every byte of a response is given out, and a broken one is told."""

import asyncio
import ssl
from typing import Final

import aiohttp
from aiohttp.client_proto import ResponseHandler

_READ_BYTES: Final = 256 * 1024


class WholeResponseHandler(ResponseHandler):
    """The library's protocol, with two defects mended that show when the connection ends.

    What has come while nobody read is lost with the connection: what the parser has not parsed, and
    what the loop has not taken out of TLS. And a body with neither length nor chunks counts as
    whole however its connection ends; by RFC 9112, section 9.8, it is whole only where the peer has
    sent the closure alert of TLS. Without TLS nothing tells.
    """

    _tls: ssl.SSLObject | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._tls = transport.get_extra_info("ssl_object")
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Give out the rest of the response, and end it.

        The rest is at most what the buffers of socket and TLS hold, some 100 KB. In chunks of one
        byte it takes ten times as much memory, until it is read.
        """
        self._parse_all()
        has_alert = self._take_rest()
        payload = self._payload
        if payload is not None and self._tls is not None and not has_alert:
            _break(payload)
        super().connection_lost(exc)
        if payload is not None:
            _break(payload)  # of a parser that has given up: nothing else tells who waits for it

    def _take_rest(self) -> bool:
        """Parse what is left in TLS; whether the closure alert is behind it."""
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
            tls.unwrap()  # behind a fatal alert a read ends as it does behind the closure alert
        except ssl.SSLError:
            return False
        return True

    def _parse_all(self) -> None:
        """Parse what waits for the body to be read, as far as it has come."""
        while self._reading_paused:
            self._reading_paused = False
            self.data_received(b"")


def _break(payload: aiohttp.StreamReader) -> None:
    """Let the reader of a body that has not ended fail."""
    if not payload.is_eof() and payload.exception() is None:
        payload.set_exception(aiohttp.ClientPayloadError("the connection broke off in the body"))
