"""One POST at a time to a node: deadline, size limit, and whether it can have left at all."""

import ssl
from enum import StrEnum
from typing import Final

import aiohttp

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import RpcUnavailable

MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
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

    async def post(self, body: bytes) -> bytes:
        """The body of a 200 answer to `body`, 4 MiB at most.

        Raises:
            RpcUnavailable: anything else happened.
        """
        answer = await self._attempt(body)
        if isinstance(answer, bytes):
            return answer
        # Raised out here, so that the client's error, which names the address, is not chained.
        miss, detail = answer
        text = f"the node of {self._network} gave no answer: {miss}{detail}"
        raise RpcUnavailable(self._network, text, certainly_not_sent=miss in _NEVER_LEFT)

    async def _attempt(self, body: bytes) -> bytes | tuple[_Miss, str]:
        if self._is_closed:
            return _Miss.CLOSED, ""
        try:
            async with self._opened().post(
                self._url.reveal(), data=body, allow_redirects=False
            ) as response:
                answer = await _read(response)
                if not isinstance(answer, bytes):
                    response.close()  # what is left unread must not be drained
                return answer
        except aiohttp.ConnectionTimeoutError:
            return _Miss.CONNECT_TIMEOUT, ""
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL):
            return _Miss.NO_CONNECTION, ""
        except TimeoutError:
            return _Miss.TIMEOUT, ""
        except (aiohttp.ClientError, OSError, ValueError):
            return _Miss.DROPPED, ""

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


async def _read(response: aiohttp.ClientResponse) -> bytes | tuple[_Miss, str]:
    if response.status != 200:
        return _Miss.STATUS, f" {response.status}"
    if response.headers.get("Content-Encoding", "identity") != "identity":
        return _Miss.ENCODED, ""
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > MAX_ANSWER_BYTES:
            return _Miss.TOO_LARGE, ""
        chunks.append(chunk)
    return b"".join(chunks)
