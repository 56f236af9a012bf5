"""One POST at a time to a node: deadline, size limit, and whether it can have left at all."""

import re
import ssl
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import aiohttp

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import RpcUnavailable

_HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # nothing to inflate: the size limit holds as it is
    "User-Agent": "farebox",
}
_MAX_CONNECT_S: Final = 4.0
# A node in Go drops a connection that is idle for its read timeout, five seconds; one that is
# dropped just as it is used again costs a call whose fate is unknown.
_KEEP_ALIVE_S: Final = 4.0


class _Miss(StrEnum):
    """Why there is no answer, in words that hold no address."""

    CLOSED = "the session is closed"
    NO_CONNECTION = "it could not be connected to"
    CONNECT_TIMEOUT = "there was no connection in time"
    TIMEOUT = "no answer came in time"
    DROPPED = "the connection was dropped"
    TOO_LARGE = "the answer is too large"
    ENCODED = "the answer is compressed"
    STATUS = "it answered with HTTP status"


_ASKS_FOR_PAUSE: Final = frozenset({429, 503})
_WHOLE_SECONDS: Final = re.compile(r"[0-9]{1,9}\Z", re.ASCII)  # a date is not heeded


@dataclass(frozen=True, slots=True)
class _Missed:
    """There is no answer."""

    miss: _Miss
    detail: str = ""
    retry_after_s: float | None = None


_NEVER_LEFT: Final = frozenset({_Miss.CLOSED, _Miss.NO_CONNECTION, _Miss.CONNECT_TIMEOUT})


class RpcSession:
    """Owns the HTTP session to one node; it is opened by the first request.

    At most `max_connections` requests are under way, the others wait their turn within the
    deadline. No proxy, no cookie, no redirect, no second try.
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
        # Waiting for a connection ends before the whole does, so that the two are told apart.
        connect_s = min(_MAX_CONNECT_S, timeout_s / 2)
        self._timeout = aiohttp.ClientTimeout(
            total=timeout_s, connect=connect_s, sock_connect=connect_s, ceil_threshold=3600
        )
        self._session: aiohttp.ClientSession | None = None
        self._is_closed = False

    async def close(self) -> None:
        """Every connection is closed and no other is opened."""
        self._is_closed = True
        if self._session is not None:
            await self._session.close()

    async def post(self, body: bytes, *, max_bytes: int) -> bytes:
        """The body of a 200 answer to `body`, `max_bytes` at most.

        Raises:
            RpcUnavailable: anything else happened.
        """
        answer = await self._attempt(body, max_bytes)
        if isinstance(answer, bytes):
            return answer
        # Raised out here, so that the client's error, which names the address, is not chained.
        text = f"the node of {self._network} gave no answer: {answer.miss}{answer.detail}"
        raise RpcUnavailable(
            self._network,
            text,
            certainly_not_sent=answer.miss in _NEVER_LEFT,
            retry_after_s=answer.retry_after_s,
        )

    async def _attempt(self, body: bytes, max_bytes: int) -> bytes | _Missed:
        if self._is_closed:
            return _Missed(_Miss.CLOSED)
        try:
            async with self._opened().post(
                self._url.reveal(), data=body, allow_redirects=False
            ) as response:
                answer = await _read(response, max_bytes)
                if not isinstance(answer, bytes):
                    response.close()  # what is left unread must not be drained
                return answer
        except aiohttp.ConnectionTimeoutError:
            return _Missed(_Miss.CONNECT_TIMEOUT)
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL):
            return _Missed(_Miss.NO_CONNECTION)
        except TimeoutError:
            return _Missed(_Miss.TIMEOUT)
        except (aiohttp.ClientError, OSError, ValueError):
            return _Missed(_Miss.DROPPED)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=self._max_connections,
                keepalive_timeout=_KEEP_ALIVE_S,
                ssl=True if self._tls is None else self._tls,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=self._timeout,
                headers=_HEADERS,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
            )
        return self._session


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> bytes | _Missed:
    if response.status != 200:
        return _Missed(_Miss.STATUS, f" {response.status}", _pause_asked_for(response))
    if response.headers.get("Content-Encoding", "identity") != "identity":
        return _Missed(_Miss.ENCODED)
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > max_bytes:
            return _Missed(_Miss.TOO_LARGE)
        chunks.append(chunk)
    return b"".join(chunks)


def _pause_asked_for(response: aiohttp.ClientResponse) -> float | None:
    told = response.headers.get("Retry-After", "").strip()
    is_heeded = response.status in _ASKS_FOR_PAUSE and _WHOLE_SECONDS.match(told)
    return float(told) if is_heeded else None
