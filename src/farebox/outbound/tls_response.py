"""A response that tells whether its peer has ended it, or its connection broke off."""

import ssl
from typing import Final

import aiohttp
from aiohttp.connector import Connection

_WITHOUT_BODY: Final = (204, 304)  # RFC 9110, sections 15.3.5 and 15.4.5


class TlsResponse(aiohttp.ClientResponse):
    """A response whose end can be checked.

    A body without a length and without chunks ends with its connection. The library takes every
    end of the connection for that of the body, a reset too; by RFC 9112, section 9.8, the body is
    whole only where the peer has sent the closure alert of TLS. Without TLS nothing tells.
    """

    _tls: ssl.SSLObject | None = None

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read the head of the response, as the library does."""
        transport = connection.transport  # None once it is lost, and with it the alert
        if transport is not None:
            self._tls = transport.get_extra_info("ssl_object")
        return await super().start(connection)

    @property
    def is_cut_off(self) -> bool:
        """Whether the connection broke off before the end of the body, which was read to there."""
        has_tls = self.url.scheme == "https"
        return has_tls and not self._has_own_end and not _has_closure_alert(self._tls)

    @property
    def _has_own_end(self) -> bool:
        """Whether something else than the end of the connection ends the body.

        Whether chunks do is told by the parser that has read them: a coding that it does not take
        for chunks (`chunked` and a tab, a folded line) looks like one once it is trimmed.
        """
        if self.method == "HEAD" or self.status in _WITHOUT_BODY:
            return True
        if self.content._http_chunk_splits is not None:
            return True
        return any(name.strip().lower() == b"content-length" for name, _ in self.raw_headers)


def _has_closure_alert(tls: ssl.SSLObject | None) -> bool:
    """Whether the alert has come, and no byte before it is left.

    Behind a fatal alert a read ends as it does behind the closure alert; no shutdown does.
    """
    if tls is None:
        return False
    try:
        if tls.read(1):
            return False
    except ssl.SSLZeroReturnError:
        pass
    except ssl.SSLError:
        return False
    try:
        tls.unwrap()
    except ssl.SSLError:
        return False
    return True
