"""The offer of a wrapper: the `PAYMENT-REQUIRED` of one request (x402 version 2, HTTP)."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from farebox.gateway.offers.discovery_block import build_discovery_block
from farebox.gateway.wrapper import PricedCall, WrapperSettings, WrapperTerm
from farebox.x402.extensions import (
    BAZAAR,
    PAYMENT_IDENTIFIER,
    PAYMENT_IDENTIFIER_DECLARATION,
)
from farebox.x402.headers import encode_header
from farebox.x402.wire import SCHEME, X402_VERSION

MAX_TIMEOUT_S: Final = 60  # the life of a buyer's authorization
MAX_HEADER_CHARS: Final = 8 * 1024  # clients warn above it
PAYMENT_REQUIRED_TEXT: Final = "Payment required"
_MAX_PATH_CHARS: Final = 512  # of a request, in the offer's resource URL
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class GatewayUrl:
    """The public URL of the gateway, without a trailing slash: origin and path."""

    origin: str
    prefix: str = "/gateway"

    def endpoint(self, slug: str) -> str:
        """Return the URL that buyers of a wrapper pay at."""
        return f"{self.origin}{self.prefix}/{slug}"


@dataclass(frozen=True, slots=True)
class WrapperOffer:
    """The terms of one request, and the description of the resource that is paid for."""

    requirements: tuple[dict[str, Any], ...]
    resource: dict[str, Any]
    discovery: dict[str, Any]

    def header(self, error: str = PAYMENT_REQUIRED_TEXT) -> str:
        """Return the text of `PAYMENT-REQUIRED`."""
        return encode_header(self.to_json(error))

    def body(self, error: str = PAYMENT_REQUIRED_TEXT) -> bytes:
        """Return the same object as the body of the 402."""
        return _encode(self.to_json(error))

    def to_json(self, error: str) -> dict[str, Any]:
        """Return the PaymentRequired object; the same one for every such request."""
        return {
            "x402Version": X402_VERSION,
            "error": error,
            "resource": self.resource,
            "accepts": self.requirements,
            "extensions": {
                BAZAAR: self.discovery,
                PAYMENT_IDENTIFIER: PAYMENT_IDENTIFIER_DECLARATION,
            },
        }


def build_offer(
    slug: str,
    settings: WrapperSettings,
    call: PricedCall,
    gateway: GatewayUrl,
    *,
    method: str,
    path: str = "",
) -> WrapperOffer:
    """Build the offer for a request to a wrapper.

    Args:
        slug: the wrapper's slug.
        settings: the wrapper's settings.
        call: the request's price.
        gateway: the public URL of the gateway.
        method: the method that is paid for.
        path: the request's path after the slug, as it was sent; a long one is left out.
    """
    route = call.route
    shown = path if len(path) <= _MAX_PATH_CHARS else ""
    described = method if route is not None else settings.method or "GET"
    resource: dict[str, Any] = {
        "url": gateway.endpoint(slug) + (shown if shown != "/" else ""),
        "description": (route.description if route else "") or settings.description,
        "mimeType": settings.mime_type,
        "serviceName": settings.name,
        "tags": list(settings.tags),
    }
    return WrapperOffer(
        requirements=tuple(map(build_requirement, call.terms)),
        resource={name: value for name, value in resource.items() if value},
        discovery=build_discovery_block(described, route, slug=slug, prefix=gateway.prefix),
    )


def build_requirement(term: WrapperTerm) -> dict[str, Any]:
    """Build the PaymentRequirements of a term.

    The gateway settles before it calls the upstream, which `paymentFlow` announces
    (x402 version 2, section 6.1).
    """
    return {
        "scheme": SCHEME,
        "network": term.network.value,
        "asset": term.asset,
        "amount": str(term.amount),
        "payTo": term.pay_to,
        "maxTimeoutSeconds": MAX_TIMEOUT_S,
        "extra": {"areFeesSponsored": True, "paymentFlow": "upfront"},
    }
