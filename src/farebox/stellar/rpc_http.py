"""A Stellar RPC node over HTTP: kept-alive connections, each request written once at most."""

import asyncio
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

import aiohttp
import msgspec
import structlog

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.rpc_responses import JsonRpcResponse, MalformedResponse
from farebox.stellar.soroban_rpc import RpcCall, SorobanRpc

A = TypeVar("A")
log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)
_REQUEST_ID: Final = 1  # one request a connection at a time: ids need not differ
_ENCODE: Final = msgspec.json.Encoder().encode

_HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # nothing to inflate: the size limit holds as it is
    "User-Agent": "farebox",
}
_MAX_CONNECT_S: Final = 4.0
# A node in Go drops a connection that is idle for its read timeout, five seconds; if that happens
# just as it is used again, the outcome of the call is unknown.
_KEEP_ALIVE_S: Final = 4.0


class _Cause(StrEnum):
    """The cause of a missing response, in words without an address."""

    CLOSED = "the session is closed"
    NO_FREE_CONNECTION = "all connections to it were in use"
    NO_CONNECTION = "it could not be connected to"
    CONNECT_TIMEOUT = "there was no connection in time"
    TIMEOUT = "no answer came in time"
    DROPPED = "the connection was dropped"
    TOO_LARGE = "the answer is too large"
    ENCODED = "the answer is compressed"
    STATUS = "it answered with HTTP status"


_PAUSE_STATUSES: Final = frozenset({429, 503})
_WHOLE_SECONDS: Final = re.compile(r"[0-9]{1,9}\Z", re.ASCII)  # a date is not heeded


@dataclass(frozen=True, slots=True)
class _NoResponse:
    """The cause of a missing response, and the pause (`Retry-After`) the node asked for."""

    cause: _Cause
    detail: str = ""
    retry_after_s: float | None = None


_NOT_CALLED: Final = frozenset({_Cause.CLOSED, _Cause.NO_FREE_CONNECTION})
_NOT_SENT: Final = _NOT_CALLED | {_Cause.NO_CONNECTION, _Cause.CONNECT_TIMEOUT}


class _RpcSession:
    """Owns the HTTP session to one node; it is opened by the first request.

    At most `max_connections` requests are under way; the others wait within the deadline. No proxy,
    cookie, redirect or retry is used.
    """

    def __init__(
        self,
        network: Network,
        url: Secret[str],
        *,
        timeout_s: float,
        max_connections: int,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._network, self._url = network, url
        self._tls = tls
        self._max_connections = max_connections
        self._free = asyncio.Semaphore(max_connections)
        # The wait for a connection ends before the whole deadline, so that the causes differ.
        self._timeout_s, self._connect_s = timeout_s, min(_MAX_CONNECT_S, timeout_s / 2)
        self._session: aiohttp.ClientSession | None = None
        self._is_closed = False

    async def close(self) -> None:
        """Close every connection and open no other."""
        self._is_closed = True
        if self._session is not None:
            await self._session.close()

    async def post(self, body: bytes, *, max_bytes: int) -> bytes:
        """Return the body of a 200 response to `body`, `max_bytes` at most.

        Raises:
            RpcUnavailable: there is no such response.
        """
        answer = await self._attempt(body, max_bytes)
        if isinstance(answer, bytes):
            return answer
        # Raised here, so that the client's error, which names the address, is not chained.
        text = f"the node of {self._network} gave no answer: {answer.cause}{answer.detail}"
        raise RpcUnavailable(
            self._network,
            text,
            certainly_not_sent=answer.cause in _NOT_SENT,
            retry_after_s=answer.retry_after_s,
            node_was_called=answer.cause not in _NOT_CALLED,
        )

    async def _attempt(self, body: bytes, max_bytes: int) -> bytes | _NoResponse:
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._connect_s):
                await self._free.acquire()
        except TimeoutError:
            return _NoResponse(_Cause.NO_FREE_CONNECTION)
        waited_s = asyncio.get_running_loop().time() - began
        try:
            return await self._post(body, max_bytes, within_s=self._timeout_s - waited_s)
        finally:
            self._free.release()

    async def _post(self, body: bytes, max_bytes: int, *, within_s: float) -> bytes | _NoResponse:
        if self._is_closed:
            return _NoResponse(_Cause.CLOSED)
        timeout = aiohttp.ClientTimeout(
            total=within_s,
            connect=self._connect_s,
            sock_connect=self._connect_s,
            ceil_threshold=3600,
        )
        try:
            async with self._open_session().post(
                self._url.reveal(), data=body, allow_redirects=False, timeout=timeout
            ) as response:
                answer = await _read(response, max_bytes)
                if not isinstance(answer, bytes):
                    response.close()  # the unread rest must not be drained
                return answer
        except aiohttp.ConnectionTimeoutError:
            return _NoResponse(_Cause.CONNECT_TIMEOUT)
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL):
            return _NoResponse(_Cause.NO_CONNECTION)
        except TimeoutError:
            return _NoResponse(_Cause.TIMEOUT)
        except (aiohttp.ClientError, OSError, ValueError):
            return _NoResponse(_Cause.DROPPED)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=self._max_connections,
                keepalive_timeout=_KEEP_ALIVE_S,
                ssl=True if self._tls is None else self._tls,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers=_HEADERS,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
            )
        return self._session


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> bytes | _NoResponse:
    if response.status != 200:
        return _NoResponse(_Cause.STATUS, f" {response.status}", _requested_pause(response))
    if response.headers.get("Content-Encoding", "identity") != "identity":
        return _NoResponse(_Cause.ENCODED)
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > max_bytes:
            return _NoResponse(_Cause.TOO_LARGE)
        chunks.append(chunk)
    return b"".join(chunks)


def _requested_pause(response: aiohttp.ClientResponse) -> float | None:
    seconds = response.headers.get("Retry-After", "").strip()
    is_heeded = response.status in _PAUSE_STATUSES and _WHOLE_SECONDS.match(seconds)
    return float(seconds) if is_heeded else None


class HttpSorobanRpc(SorobanRpc):
    """`SorobanRpc` over HTTP or HTTPS.

    Every call has `timeout_s` in all. Simulations, which any caller may make slow, have
    connections of their own in addition to the `max_connections` of every other call. `authority`
    names a PEM file of a private certificate authority that is trusted in addition to the public
    ones. `latest_close` is the latest close time that is believed now, by a clock of our own: a
    response that names a later one counts as none, because a time bound that is derived from it
    would never pass, and every other one would seem to have passed.
    """

    def __init__(
        self,
        network: Network,
        url: Secret[str],
        *,
        timeout_s: float = 10.0,
        max_connections: int = 32,
        max_simulations: int = 72,
        authority: Path | None = None,
        latest_close: Callable[[], datetime] | None = None,
    ) -> None:
        self._network, self._latest_close, self._was_future = network, latest_close, False
        context = None if authority is None else ssl.create_default_context()
        if context is not None:
            context.load_verify_locations(cafile=authority)
        self._session, self._simulations = (
            _RpcSession(network, url, timeout_s=timeout_s, max_connections=most, tls=context)
            for most in (max_connections, max_simulations)
        )

    async def close(self) -> None:
        """Close every connection; a later call fails as certainly not sent."""
        await self._session.close()
        await self._simulations.close()

    async def call(self, call: RpcCall[Any, A]) -> A:
        """Post one call."""
        session = self._simulations if call.is_simulation else self._session
        raw = await session.post(_request(call), max_bytes=call.max_bytes)
        response: JsonRpcResponse[Any] | None = None
        try:
            response = call.decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            response = None  # raised below: the decoder's message quotes the response
        if response is not None and response.error is not None:
            code, message = response.error.code, response.error.message
            is_unsent = call.proves_unsent(code, message)
            why = f"answered with JSON-RPC error {code}"
            raise self._unavailable(why, certainly_not_sent=is_unsent, code=code)
        if response is None or response.result is None or response.id != _REQUEST_ID:
            raise self._unavailable(MalformedResponse().why)
        try:
            answer = call.read(response.result)
        except MalformedResponse as malformed:
            raise self._unavailable(malformed.why) from None
        closed_at = call.closed_at_of(answer)
        if closed_at is not None and self._is_future(closed_at):
            raise self._unavailable("names a ledger that closed in the future")
        return answer

    def _is_future(self, closed_at: datetime) -> bool:
        """Whether the close time is later than any that is believed; a change is logged."""
        is_future = self._latest_close is not None and closed_at > self._latest_close()
        if is_future and not self._was_future:
            log.error("rpc.close_time", alarm="close_time_in_future", network=self._network.value)
        self._was_future = is_future
        return is_future

    def _unavailable(
        self, why: str, *, certainly_not_sent: bool = False, code: int | None = None
    ) -> RpcUnavailable:
        text = f"the node of {self._network} {why}"
        return RpcUnavailable(self._network, text, certainly_not_sent=certainly_not_sent, code=code)


def _request(call: RpcCall[Any, A]) -> bytes:
    request = {"jsonrpc": "2.0", "id": _REQUEST_ID, "method": call.method}
    return _ENCODE(request if call.params is None else {**request, "params": call.params})
