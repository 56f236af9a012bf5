"""The client for public HTTPS addresses: one request over one connection to one address."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import aiohttp
from yarl import URL

from farebox.kernel.slots import Share
from farebox.outbound.connection import READ_BYTES, OneConnection, make_tls
from farebox.outbound.faults import (
    CallNotSent,
    CallOutcomeUnknown,
    CallRefusalReason,
    CallRefused,
    NotSentReason,
    UnknownOutcomeReason,
)
from farebox.outbound.request import OutboundRequest, check_request
from farebox.outbound.resolve import PinnedAddress, Resolver
from farebox.outbound.target import Target, parse_target


class OutboundResponse:
    """A response under its call's deadline; the body can be read once.

    The deadline is the server's: it moves by the time that passes while nobody waits for the body.
    """

    def __init__(
        self, response: aiohttp.ClientResponse, deadline: float, *, limit_bytes: int
    ) -> None:
        self._response, self._deadline, self._limit_bytes = response, deadline, limit_bytes
        self._left_at = asyncio.get_running_loop().time()  # when nobody waited any more

    @property
    def status(self) -> int:
        """The status, 200 to 999; a redirect is a response like any other."""
        return self._response.status

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Every header in its order, each byte as one character."""
        raw = self._response.raw_headers
        return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in raw)

    def header(self, name: str) -> str | None:
        """The value of the one header of that name; None when there is none or more than one."""
        found = [value for each, value in self.headers if each.lower() == name.lower()]
        return found[0] if len(found) == 1 else None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body in chunks, never more than the limit.

        Raises:
            CallOutcomeUnknown: it is too large, too slow or incomplete.
        """
        declared = 0 if self._response.method == "HEAD" else self._response.content_length
        if (declared or 0) > self._limit_bytes:
            raise CallOutcomeUnknown(UnknownOutcomeReason.TOO_LARGE)
        left = self._limit_bytes
        while chunk := await self._next():
            left -= len(chunk)
            if left < 0:
                raise CallOutcomeUnknown(UnknownOutcomeReason.TOO_LARGE)
            yield chunk

    async def read(self) -> bytes:
        """The whole body.

        Raises:
            CallOutcomeUnknown: as `chunks`.
        """
        return b"".join([chunk async for chunk in self.chunks()])

    async def _next(self) -> bytes:
        loop = asyncio.get_running_loop()
        self._deadline += loop.time() - self._left_at
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._response.content.read(READ_BYTES)
        except TimeoutError:
            raise CallOutcomeUnknown(UnknownOutcomeReason.DEADLINE) from None
        except Exception:  # noqa: BLE001 - a stranger's bytes may trip the library anywhere
            raise CallOutcomeUnknown(UnknownOutcomeReason.DROPPED) from None
        finally:
            self._left_at = loop.time()


MAX_CALLS: Final = 64
_MAX_FIELD_BYTES: Final = 32 * 1024  # one header of an answer; a payment's terms must fit
_MAX_FIELDS: Final = 100
_NO_TIMEOUT: Final = aiohttp.ClientTimeout(
    total=None, sock_connect=None
)  # the call has its own deadline
_OWN_HEADERS: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_DEFAULTS: Final = (
    ("User-Agent", "farebox"),
    ("Accept", "*/*"),
    ("Accept-Encoding", "identity"),  # nothing to inflate
)


class OutboundClient:
    """Calls public HTTPS addresses; at most `max_calls` at a time.

    It follows no redirect, uses no proxy, stores no cookie, decompresses nothing and never sends a
    request again. `own_hosts` are names of this service, which it does not call. `authority` is a
    PEM file trusted in addition to the system's authorities, for tests.
    """

    def __init__(
        self,
        resolver: Resolver,
        *,
        authority: Path | None = None,
        max_calls: int = MAX_CALLS,
        own_hosts: Collection[str] = (),
    ) -> None:
        self._resolver, self._authority = resolver, authority
        self._own_hosts = frozenset(host.lower() for host in own_hosts)
        self._max_calls, self._under_way = max_calls, 0
        self._tls: ssl.SSLContext | None = None

    async def __aenter__(self) -> Self:
        self._tls = make_tls(self._authority)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tls = None

    async def check_address(
        self, url: str, *, deadline_s: float, owner: Share | None = None
    ) -> None:
        """Check that a URL may be called: its text, and every address of its name.

        `owner` is the share of lookups of who caused it.

        Raises:
            CallRefused: it may not be called.
            CallNotSent: its name has no address, or cannot be looked up in time.
        """
        target = self._target(url)
        await self._pin(target, owner, asyncio.get_running_loop().time() + deadline_s)

    @asynccontextmanager
    async def call(self, request: OutboundRequest) -> AsyncIterator[OutboundResponse]:
        """Send `request` and yield the response, its body unread; the connection ends with it.

        Raises:
            CallRefused: it is not allowed; nothing was sent.
            CallNotSent: certainly nothing was sent.
            CallOutcomeUnknown: it may have been received; also while the body is read.
        """
        target = self._target(request.url)
        check_request(request)
        if self._tls is None:
            raise CallNotSent(NotSentReason.CLOSED)
        if self._under_way >= self._max_calls:
            raise CallNotSent(NotSentReason.BUSY)
        self._under_way += 1
        try:
            deadline = asyncio.get_running_loop().time() + request.deadline_s
            pinned = await self._pin(target, request.owner, deadline)
            async with AsyncExitStack() as opened:
                connection = OneConnection(target.host, pinned, self._tls)
                session = await opened.enter_async_context(open_session(connection))
                response = await _send(session, connection, target, request, deadline)
                opened.callback(response.close)  # the unread rest must not be drained
                yield OutboundResponse(response, deadline, limit_bytes=request.max_answer_bytes)
        finally:
            self._under_way -= 1

    def _target(self, url: str) -> Target:
        target = parse_target(url)
        if not isinstance(target, Target):
            raise CallRefused(target)
        if target.host in self._own_hosts:
            raise CallRefused(CallRefusalReason.OWN_HOST)
        return target

    async def _pin(self, target: Target, owner: Share | None, deadline: float) -> PinnedAddress:
        try:
            async with asyncio.timeout_at(deadline):
                return await self._resolver.pin(target, owner)
        except TimeoutError:
            raise CallNotSent(NotSentReason.DEADLINE) from None


def open_session(connection: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    """Open a session that stores nothing, adds nothing, and bounds the head of a response."""
    return aiohttp.ClientSession(
        connector=connection,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        timeout=_NO_TIMEOUT,
        skip_auto_headers=_OWN_HEADERS,
        max_line_size=_MAX_FIELD_BYTES,
        max_field_size=_MAX_FIELD_BYTES,
        max_headers=_MAX_FIELDS,
        read_bufsize=READ_BYTES,
    )


async def _send(
    session: aiohttp.ClientSession,
    connection: OneConnection,
    target: Target,
    request: OutboundRequest,
    deadline: float,
) -> aiohttp.ClientResponse:
    try:
        async with asyncio.timeout_at(deadline):
            response = await session.request(
                request.method,
                _url(target),
                headers=_headers(request),
                data=request.body,
                allow_redirects=False,
            )
    except CallNotSent:
        raise
    except TimeoutError:
        raise _error_of(connection, UnknownOutcomeReason.DEADLINE, NotSentReason.DEADLINE) from None
    except aiohttp.ClientResponseError:
        raise _error_of(
            connection, UnknownOutcomeReason.MALFORMED, NotSentReason.CONNECTION
        ) from None
    except Exception as error:  # noqa: BLE001 - a stranger's bytes may trip the library anywhere
        raise _error_of(connection, UnknownOutcomeReason.DROPPED, _not_sent_reason(error)) from None
    if response.status < 200:
        response.close()
        raise CallOutcomeUnknown(UnknownOutcomeReason.MALFORMED)
    return response


def _url(target: Target) -> URL:
    """The URL made from the checked parts, without quoting or resolving again."""
    return URL.build(
        scheme="https",
        host=target.host,
        port=target.port,
        path=target.path,
        query_string=target.query,
        encoded=True,
    )


def _headers(request: OutboundRequest) -> list[tuple[str, str]]:
    given = {name.lower() for name, _ in request.headers}
    ours = [(name, value) for name, value in _DEFAULTS if name.lower() not in given]
    if request.body_length is not None:
        ours.append(("Content-Length", str(request.body_length)))
    return [*ours, *request.headers]


def _error_of(
    connection: OneConnection, unknown: UnknownOutcomeReason, not_sent: NotSentReason
) -> CallNotSent | CallOutcomeUnknown:
    """The error of a failed request: it depends on whether there was a connection."""
    return CallOutcomeUnknown(unknown) if connection.is_open else CallNotSent(not_sent)


def _not_sent_reason(error: Exception) -> NotSentReason:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return NotSentReason.CERTIFICATE
    return (
        NotSentReason.TLS
        if isinstance(error, aiohttp.ClientConnectorSSLError)
        else NotSentReason.CONNECTION
    )
