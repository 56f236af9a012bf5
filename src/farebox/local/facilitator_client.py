"""A facilitator's client, as a seller uses it."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, Protocol, Self

import aiohttp
import msgspec

from farebox.kernel.errors import Outage

Json = dict[str, object]
_TIMEOUT_S: Final = 90.0
_POLL_S: Final = 0.1


class _ListedResource(msgspec.Struct):
    resource: str


class _SearchResult(msgspec.Struct):
    resources: list[_ListedResource]


class FacilitatorUnavailable(Outage):
    """The facilitator gave no valid response."""

    def __init__(self, call: str) -> None:
        super().__init__("facilitator", f"the facilitator gave no answer to {call}")


class Facilitator(Protocol):
    """Verifies and settles payments."""

    async def verify(self, payload: Mapping[str, object], terms: Mapping[str, object]) -> Json:
        """Verify a payment; returns the response body."""
        ...

    async def settle(self, payload: Mapping[str, object], terms: Mapping[str, object]) -> Json:
        """Settle a payment; returns the response body."""
        ...


class HttpFacilitator:
    """A facilitator behind HTTP."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        self._session = aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def wait_until_ready(self, *, wait_s: float) -> None:
        """Wait until `/health/ready` answers 200.

        Raises:
            FacilitatorUnavailable: it is not ready after `wait_s` seconds.
        """
        if self._session is None:
            raise RuntimeError("used outside its context")
        for _ in range(int(wait_s / _POLL_S)):
            try:
                async with self._session.get(f"{self._url}/health/ready") as response:
                    if response.status == HTTPStatus.OK:
                        return
            except (aiohttp.ClientError, TimeoutError) as error:
                raise FacilitatorUnavailable("health/ready") from error
            await asyncio.sleep(_POLL_S)
        raise FacilitatorUnavailable("health/ready")

    async def search(self, query: str) -> list[str]:
        """Search the catalog; returns the URLs, best first.

        Raises:
            FacilitatorUnavailable: no valid response arrived.
        """
        if self._session is None:
            raise RuntimeError("used outside its context")
        try:
            async with self._session.get(
                f"{self._url}/discovery/search", params={"query": query}
            ) as response:
                result = msgspec.json.decode(await response.read(), type=_SearchResult)
        except (aiohttp.ClientError, TimeoutError, msgspec.MsgspecError) as error:
            raise FacilitatorUnavailable("discovery/search") from error
        return [each.resource for each in result.resources]

    async def verify(self, payload: Mapping[str, object], terms: Mapping[str, object]) -> Json:
        """Verify a payment; returns the response body.

        Raises:
            FacilitatorUnavailable: no valid response arrived.
        """
        return await self._call("verify", "isValid", payload, terms)

    async def settle(self, payload: Mapping[str, object], terms: Mapping[str, object]) -> Json:
        """Settle a payment; returns the response body.

        Raises:
            FacilitatorUnavailable: the outcome is not known.
        """
        return await self._call("settle", "success", payload, terms)

    async def _call(
        self, call: str, verdict: str, payload: Mapping[str, object], terms: Mapping[str, object]
    ) -> Json:
        if self._session is None:
            raise RuntimeError("used outside its context")
        body = {"x402Version": 2, "paymentPayload": payload, "paymentRequirements": terms}
        try:
            async with self._session.post(
                f"{self._url}/{call}",
                data=msgspec.json.encode(body),
                headers={"Content-Type": "application/json"},
            ) as response:
                reply = msgspec.json.decode(await response.read(), type=Json)
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            raise FacilitatorUnavailable(call) from error
        if not isinstance(reply.get(verdict), bool):
            raise FacilitatorUnavailable(call)
        return reply
