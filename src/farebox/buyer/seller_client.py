"""The HTTP client of sellers; each request is sent at most once."""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, Self

import aiohttp

from farebox.kernel.errors import Outage
from farebox.kernel.secret import Secret
from farebox.x402.headers import PAYMENT_REQUIRED, PAYMENT_RESPONSE, PAYMENT_SIGNATURE

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
_CONNECT_S: Final = 15.0
_MAX_HEADER_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class SellerRequest:
    """A request to the seller."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class SellerResponse:
    """The seller's response; the headers of x402 are None where absent."""

    status: int
    body: bytes
    content_type: str = ""
    payment_required: str | None = None
    payment_response: str | None = None
    location: str | None = None
    is_cut: bool = False  # the body is longer than is read


class SellerUnavailable(Outage):
    """No response arrived; `certainly_not_sent`: the seller has not received the request."""

    def __init__(self, message: str, *, certainly_not_sent: bool) -> None:
        super().__init__("seller", message)
        self.certainly_not_sent = certainly_not_sent


class SellerClient(Protocol):
    """Sends requests, each once."""

    async def send(
        self, request: SellerRequest, payment: Secret[str] | None = None
    ) -> SellerResponse:
        """Send the request once.

        Raises:
            SellerUnavailable: no response arrived.
        """
        ...


class HttpSellerClient:
    """Sends over HTTP without redirects, cookies, proxies or retries."""

    def __init__(self, *, timeout_s: float = 90.0, trust: ssl.SSLContext | None = None) -> None:
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=_CONNECT_S)
        self._trust = trust
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(force_close=True, ssl=self._trust or True)
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=self._timeout,
            max_line_size=_MAX_HEADER_BYTES,
            max_field_size=_MAX_HEADER_BYTES,
        )
        # aiohttp would repeat a GET on a dropped connection, and with it a payment
        self._session._retry_connection = False
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(
        self, request: SellerRequest, payment: Secret[str] | None = None
    ) -> SellerResponse:
        """Send the request once and read the whole response.

        Raises:
            SellerUnavailable: the seller cannot be reached, or stopped answering.
        """
        if self._session is None:
            raise RuntimeError("used outside its context")
        headers = dict(request.headers)
        if payment is not None:
            headers[PAYMENT_SIGNATURE] = payment.reveal()
        try:
            async with self._session.request(
                request.method,
                request.url,
                headers=headers,
                data=request.body,
                allow_redirects=False,
            ) as response:
                return await _read(response)
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise SellerUnavailable(
                "That is not an http or https URL.", certainly_not_sent=True
            ) from error
        except aiohttp.ClientConnectorError as error:
            raise SellerUnavailable(_cannot_connect(error), certainly_not_sent=True) from error
        except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError) as error:
            raise SellerUnavailable(
                "The seller closed the connection or timed out before its response was complete.",
                certainly_not_sent=isinstance(error, aiohttp.ConnectionTimeoutError),
            ) from error


def _cannot_connect(error: aiohttp.ClientConnectorError) -> str:
    where = f"{error.host}:{error.port}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return (
            f"The name {error.host} cannot be resolved: check the URL and this machine's network."
        )
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
        return f"The certificate of the seller at {where} is not trusted."
    return f"Nothing listens at {where}: check the URL, and that the seller is running."


async def _read(response: aiohttp.ClientResponse) -> SellerResponse:
    body = await response.content.read(MAX_BODY_BYTES + 1)
    while len(body) <= MAX_BODY_BYTES and (more := await response.content.readany()):
        body += more
    headers = response.headers
    return SellerResponse(
        status=response.status,
        body=body[:MAX_BODY_BYTES],
        content_type=headers.get("Content-Type", ""),
        payment_required=headers.get(PAYMENT_REQUIRED),
        payment_response=headers.get(PAYMENT_RESPONSE),
        location=headers.get("Location"),
        is_cut=len(body) > MAX_BODY_BYTES,
    )
