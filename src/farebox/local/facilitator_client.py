"""A seller's line to a facilitator: the two calls, and what is known when no answer comes."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, Protocol, Self

import aiohttp
import msgspec

from farebox.kernel.errors import Outage

Json = dict[str, object]
_TIMEOUT_S: Final = 90.0
_LOOK_S: Final = 0.1


class _Listed(msgspec.Struct):
    resource: str


class _Found(msgspec.Struct):
    resources: list[_Listed]


class FacilitatorAway(Outage):
    """The facilitator gave no verdict."""

    def __init__(self, call: str) -> None:
        super().__init__("facilitator", f"the facilitator gave no answer to {call}")


class Facilitator(Protocol):
    """Judges a payment and settles it."""

    async def verify(self, payload: Mapping[str, object], terms: Mapping[str, object]) -> Json:
        """The verdict; nothing moves."""
        ...

    async def settle(self, payload: Mapping[str, object], terms: Mapping[str, object]) -> Json:
        """What became of the payment."""
        ...


class HttpFacilitator:
    """A facilitator over HTTP."""

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

    async def until_ready(self, *, wait_s: float) -> None:
        """Return once every part of it can be used.

        Raises:
            FacilitatorAway: it was not ready after `wait_s` seconds.
        """
        if self._session is None:
            raise RuntimeError("used outside its context")
        for _ in range(int(wait_s / _LOOK_S)):
            try:
                async with self._session.get(f"{self._url}/health/ready") as answer:
                    if answer.status == HTTPStatus.OK:
                        return
            except (aiohttp.ClientError, TimeoutError) as error:
                raise FacilitatorAway("health/ready") from error
            await asyncio.sleep(_LOOK_S)
        raise FacilitatorAway("health/ready")

    async def search(self, query: str) -> list[str]:
        """The URLs that its catalog finds, best first.

        Raises:
            FacilitatorAway: it gave no answer.
        """
        if self._session is None:
            raise RuntimeError("used outside its context")
        try:
            async with self._session.get(
                f"{self._url}/discovery/search", params={"query": query}
            ) as answer:
                found = msgspec.json.decode(await answer.read(), type=_Found)
        except (aiohttp.ClientError, TimeoutError, msgspec.MsgspecError) as error:
            raise FacilitatorAway("discovery/search") from error
        return [each.resource for each in found.resources]

    async def verify(self, payload: Mapping[str, object], terms: Mapping[str, object]) -> Json:
        """The verdict.

        Raises:
            FacilitatorAway: none came.
        """
        return await self._call("verify", "isValid", payload, terms)

    async def settle(self, payload: Mapping[str, object], terms: Mapping[str, object]) -> Json:
        """What became of the payment.

        Raises:
            FacilitatorAway: it is not known.
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
            ) as answer:
                said = msgspec.json.decode(await answer.read(), type=Json)
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            raise FacilitatorAway(call) from error
        if not isinstance(said.get(verdict), bool):
            raise FacilitatorAway(call)
        return said
