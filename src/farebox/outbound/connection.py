"""The single connection of a call: to the pinned address, with the host's name and certificate."""

import socket
import ssl
from functools import cache, partial
from ipaddress import ip_address
from pathlib import Path
from socket import AF_INET, AF_INET6, AI_NUMERICHOST, AI_NUMERICSERV, AddressFamily
from typing import Final, cast

import aiohttp
from aiohttp import AddrInfoType
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

from farebox.outbound.faults import CallNotSent, NotSentReason
from farebox.outbound.resolve import PinnedAddress
from farebox.outbound.response_handler import LosslessTls, WholeResponseHandler

_FAMILY: Final = {4: AF_INET, 6: AF_INET6}
READ_BYTES: Final = 16 * 1024  # of a body that is not read yet; twice as much stops the server
RECEIVE_BYTES: Final = 32 * 1024  # of the socket: a slow buyer must not fill this process
_NUMERIC: Final = AI_NUMERICHOST | AI_NUMERICSERV


@cache
def make_tls(authority: Path | None = None) -> ssl.SSLContext:
    """The TLS context; it trusts the system's authorities and `authority`, a PEM file for tests.

    One for the process: reading the system's authorities takes 0.05 s of a processor.
    """
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.sslobject_class = LosslessTls
    if authority is not None:
        context.load_verify_locations(cafile=authority)
    return context


class OneConnection(aiohttp.TCPConnector):
    """Connects once, to the pinned address; server name and certificate are those of the host.

    The library sends a request again when its connection drops. That needs a second connection,
    which is refused, so that the server sees one request at most.
    """

    def __init__(self, host: str, pinned: PinnedAddress, tls: ssl.SSLContext) -> None:
        super().__init__(
            resolver=_Pin(host, pinned),
            use_dns_cache=False,
            ssl=tls,
            force_close=True,
            limit=1,
            happy_eyeballs_delay=None,
            socket_factory=_open_socket,
        )
        # the library has no option for it; the tests of the handler fail where the name is gone
        self._factory = cast("partial[ResponseHandler]", partial(WholeResponseHandler, self._loop))
        self._pinned, self._is_used = pinned, False
        self.is_open = False  # once it was, the server may have received the request

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - the library's own signature
    ) -> Connection:
        """Connect once, to the pinned address.

        Raises:
            CallNotSent: the peer has another address.
        """
        if self._is_used:
            raise aiohttp.ClientConnectionError("a call connects once")
        self._is_used = True
        connection = await super().connect(req, traces, timeout)
        if not self._is_pinned(connection):
            connection.close()
            raise CallNotSent(NotSentReason.PEER)
        self.is_open = True
        _limit_buffer(connection)
        return connection

    def _is_pinned(self, connection: Connection) -> bool:
        transport = connection.transport
        peer = None if transport is None else transport.get_extra_info("peername")
        if not peer:
            return False
        return ip_address(peer[0]) == self._pinned.address and peer[1] == self._pinned.port


def _open_socket(info: AddrInfoType) -> socket.socket:
    """Open a socket with a small receive buffer."""
    family, kind, protocol, _, _ = info
    opened = socket.socket(family, kind, protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    return opened


def _limit_buffer(connection: Connection) -> None:
    """Bound the bytes that wait undecrypted while nobody reads the body; the default is 256 KB."""
    limit = getattr(connection.transport, "set_read_buffer_limits", None)
    if limit is not None:
        limit(high=READ_BYTES)


class _Pin(AbstractResolver):
    """Resolves one name to the address that was checked before."""

    def __init__(self, host: str, pinned: PinnedAddress) -> None:
        self._host, self._pinned = host, pinned

    async def resolve(
        self, host: str, port: int = 0, family: AddressFamily = AF_INET
    ) -> list[ResolveResult]:
        """The pinned address; OSError for any other name."""
        if host != self._host:
            raise OSError("not the name that was checked")
        return [
            ResolveResult(
                hostname=host,
                host=str(self._pinned.address),
                port=self._pinned.port,
                family=_FAMILY[self._pinned.address.version],
                proto=0,
                flags=_NUMERIC,
            )
        ]

    async def close(self) -> None:
        """There is nothing to close."""
