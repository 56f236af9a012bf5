"""An example of a paid API: the code that a seller adds to be paid through a facilitator.

One route is free and one costs money. The order is verify, work, settle, respond.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.local.facilitator_client import Facilitator, FacilitatorUnavailable, Json
from farebox.stellar.known_tokens import USDC
from farebox.x402.headers import (
    PAYMENT_REQUIRED,
    PAYMENT_RESPONSE,
    PAYMENT_SIGNATURE,
    decode_header,
    encode_header,
)

PAID_PATH: Final = "/weather"
MAX_TIMEOUT_S: Final = 300
# The discovery metadata of the paid route; the buyer sends it to the facilitator.
_EXTENSIONS: Final = {
    "bazaar": {
        "info": {
            "input": {"type": "http", "method": "GET", "queryParams": {"city": "Lisbon"}},
            "output": {"type": "json", "example": {"city": "Lisbon", "sky": "clear"}},
        },
        "schema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "input": {
                    "type": "object",
                    "properties": {
                        "type": {"const": "http"},
                        "method": {"enum": ["GET"]},
                        "queryParams": {
                            "type": "object",
                            "properties": {
                                "city": {"type": "string", "description": "Where to look"}
                            },
                        },
                    },
                    "required": ["type", "method"],
                },
                "output": {"type": "object"},
            },
            "required": ["input"],
        },
    }
}
_PENDING: Final = "settlement_pending"
_NOT_STORED: Final = {"Cache-Control": "no-store"}


class FacilitatorWatcher(Protocol):
    """Observes the facilitator's responses."""

    def on_verified(self, verdict: Json) -> None:
        """Called with the response of `/verify`."""
        ...

    def on_settled(self, receipt: Json) -> None:
        """Called with the response of `/settle`."""
        ...


def requirements(network: Network, *, pay_to: Address, price: BaseUnits) -> Json:
    """The payment requirements for one network: the price in USDC, network fees sponsored."""
    return {
        "scheme": "exact",
        "network": network.value,
        "asset": USDC[network].contract,
        "amount": str(price),
        "payTo": pay_to,
        "maxTimeoutSeconds": MAX_TIMEOUT_S,
        "extra": {"areFeesSponsored": True},
    }


def example_api(
    facilitator: Facilitator, accepts: Sequence[Json], watcher: FacilitatorWatcher
) -> Starlette:
    """Make the application; `accepts` are its payment requirements, in order of preference."""
    seller = _Seller(facilitator, accepts, watcher)
    return Starlette(routes=[Route("/", _free), Route(PAID_PATH, seller.weather, methods=["GET"])])


async def _free(request: Request) -> JSONResponse:
    return JSONResponse(
        {"free": str(request.url), "paid": str(request.url.replace(path=PAID_PATH))}
    )


class _Seller:
    def __init__(
        self, facilitator: Facilitator, accepts: Sequence[Json], watcher: FacilitatorWatcher
    ) -> None:
        self._facilitator, self._accepts, self._watcher = facilitator, accepts, watcher

    async def weather(self, request: Request) -> JSONResponse:
        """Return the forecast for a settled payment."""
        header = request.headers.get(PAYMENT_SIGNATURE)
        if header is None:
            return self._payment_required(request, "Payment required")
        payload = decode_header(header)
        if payload is None:
            return JSONResponse({"error": f"{PAYMENT_SIGNATURE} cannot be read"}, status_code=400)
        terms = self._matching(payload)
        if terms is None:
            return self._payment_required(request, "No matching payment requirements")
        try:
            verdict = await self._facilitator.verify(payload, terms)
            self._watcher.on_verified(verdict)
            if verdict["isValid"] is not True:
                return self._payment_required(
                    request, str(verdict.get("invalidReason", "not valid"))
                )
            forecast = {"city": "Lisbon", "sky": "clear", "degrees_celsius": 21}
            receipt = await self._settle(payload, terms)
        except FacilitatorUnavailable as error:
            return JSONResponse({"error": error.message}, status_code=502, headers=_NOT_STORED)
        headers = {PAYMENT_RESPONSE: encode_header(receipt)} | _NOT_STORED
        if receipt["success"] is not True:
            return JSONResponse({}, status_code=402, headers=headers)
        return JSONResponse(forecast, headers=headers)

    async def _settle(self, payload: Json, terms: Json) -> Json:
        """Settle the payment; a pending settlement is requested once more with the same body."""
        receipt = await self._facilitator.settle(payload, terms)
        if receipt.get("errorReason") == _PENDING:
            receipt = await self._facilitator.settle(payload, terms)
        self._watcher.on_settled(receipt)
        return receipt

    def _payment_required(self, request: Request, error: str) -> JSONResponse:
        body: Json = {
            "x402Version": 2,
            "error": error,
            "resource": {
                "url": str(request.url),
                "description": "Tomorrow's weather",
                "mimeType": "application/json",
                "serviceName": "Example Weather",
                "tags": ["weather", "forecast"],
            },
            "accepts": list(self._accepts),
            "extensions": _EXTENSIONS,
        }
        headers = {PAYMENT_REQUIRED: encode_header(body)} | _NOT_STORED
        return JSONResponse(body, status_code=402, headers=headers)

    def _matching(self, payload: Json) -> Json | None:
        accepted = payload.get("accepted")
        if not isinstance(accepted, dict):
            return None
        return next((terms for terms in self._accepts if _is_same(accepted, terms)), None)


def _is_same(accepted: Mapping[str, object], terms: Json) -> bool:
    """Whether the buyer accepted these terms exactly; it may add members to `extra`."""
    offered, echoed = dict(terms), dict(accepted)
    required, extra = offered.pop("extra"), echoed.pop("extra", None)
    if offered != echoed or not isinstance(required, dict) or not isinstance(extra, dict):
        return False
    return all(name in extra and extra[name] == value for name, value in required.items())
