"""The only way to call somebody else's address: one request, one connection, one address."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import aiohttp
from yarl import URL

from farebox.outbound.answer import OutboundAnswer
from farebox.outbound.connection import OneConnection, make_tls
from farebox.outbound.faults import AnswerUnknown, CallRefused, NotSent, Unclear, Unsent
from farebox.outbound.request import OutboundRequest, judge_request
from farebox.outbound.resolve import Pinned, Resolver
from farebox.outbound.target import Target, parse_target

MAX_CALLS: Final = 64
_MAX_FIELD_BYTES: Final = 32 * 1024  # one header of an answer; a payment's terms must fit
_MAX_FIELDS: Final = 100
_NO_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=None)  # the deadline is ours
_WRITTEN_BY_US: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_DEFAULTS: Final = (
    ("User-Agent", "farebox"),
    ("Accept", "*/*"),
    ("Accept-Encoding", "identity"),  # nothing to inflate
)


class OutboundClient:
    """Calls public HTTPS addresses; at most `most_calls` at a time.

    No redirect is followed, no proxy asked, no cookie kept, nothing inflated and nothing sent
    twice. `authority` is a PEM file trusted beside the system's authorities, for tests.
    """

    def __init__(
        self, resolver: Resolver, *, authority: Path | None = None, most_calls: int = MAX_CALLS
    ) -> None:
        self._resolver, self._authority = resolver, authority
        self._most_calls, self._under_way = most_calls, 0
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

    @asynccontextmanager
    async def call(self, request: OutboundRequest) -> AsyncIterator[OutboundAnswer]:
        """The answer to `request`, its body still to be read; the connection ends with the body.

        Raises:
            CallRefused: it is not allowed; nothing was sent.
            NotSent: certainly nothing was sent.
            AnswerUnknown: it may have been received; while the body is read, too.
        """
        target = parse_target(request.url)
        if not isinstance(target, Target):
            raise CallRefused(target)
        judge_request(request)
        if self._tls is None:
            raise NotSent(Unsent.CLOSED)
        if self._under_way >= self._most_calls:
            raise NotSent(Unsent.BUSY)
        self._under_way += 1
        try:
            deadline = asyncio.get_running_loop().time() + request.deadline_s
            pinned = await self._pin(target, deadline)
            async with AsyncExitStack() as opened:
                connection = OneConnection(target.host, pinned, self._tls)
                session = await opened.enter_async_context(_session(connection))
                response = await _send(session, connection, target, request, deadline)
                opened.callback(response.close)  # what is left unread must not be drained
                yield OutboundAnswer(response, deadline, limit_bytes=request.max_answer_bytes)
        finally:
            self._under_way -= 1

    async def _pin(self, target: Target, deadline: float) -> Pinned:
        try:
            async with asyncio.timeout_at(deadline):
                return await self._resolver.pin(target)
        except TimeoutError:
            raise NotSent(Unsent.DEADLINE) from None


def _session(connection: OneConnection) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connection,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        timeout=_NO_TIMEOUT,
        skip_auto_headers=_WRITTEN_BY_US,
        max_line_size=_MAX_FIELD_BYTES,
        max_field_size=_MAX_FIELD_BYTES,
        max_headers=_MAX_FIELDS,
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
    except NotSent:
        raise
    except TimeoutError:
        raise _after(connection, Unclear.DEADLINE, Unsent.DEADLINE) from None
    except aiohttp.ClientResponseError:
        raise _after(connection, Unclear.MALFORMED, Unsent.CONNECTION) from None
    except Exception as error:  # noqa: BLE001 - a stranger's bytes may trip the library anywhere
        raise _after(connection, Unclear.DROPPED, _unsent(error)) from None
    if response.status < 200:
        response.close()
        raise AnswerUnknown(Unclear.MALFORMED)
    return response


def _url(target: Target) -> URL:
    """The URL put together from what was judged, nothing quoted or resolved again."""
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
    return [*ours, *request.headers]


def _after(connection: OneConnection, unclear: Unclear, unsent: Unsent) -> NotSent | AnswerUnknown:
    """What is known once the request failed: it hangs on whether there was a connection."""
    return AnswerUnknown(unclear) if connection.is_open else NotSent(unsent)


def _unsent(error: Exception) -> Unsent:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return Unsent.CERTIFICATE
    return Unsent.TLS if isinstance(error, aiohttp.ClientConnectorSSLError) else Unsent.CONNECTION
