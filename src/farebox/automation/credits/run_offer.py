"""The offer of runs: the `PAYMENT-REQUIRED` of a quote (x402 version 2, HTTP)."""

from dataclasses import dataclass
from typing import Any, Final

from farebox.automation.credits.run_payment import RunPayment
from farebox.x402.extensions import PAYMENT_IDENTIFIER
from farebox.x402.headers import encode_header
from farebox.x402.wire import SCHEME, X402_VERSION

MAX_TIMEOUT_S: Final = 120  # the life of a payer's authorization
PAYMENT_REQUIRED_TEXT: Final = "Payment required"
_SCHEMA: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "required": {"type": "boolean"},
        "id": {"type": "string", "minLength": 16, "maxLength": 128, "pattern": "^[a-zA-Z0-9_-]+$"},
    },
    "required": ["required", "id"],
}


@dataclass(frozen=True, slots=True)
class RunOffer:
    """The terms of a quote; `url` is the route that takes the payment."""

    quote: RunPayment
    url: str

    def requirement(self) -> dict[str, Any]:
        """The one PaymentRequirements object."""
        return {
            "scheme": SCHEME,
            "network": self.quote.network.value,
            "asset": self.quote.quote.asset,
            "amount": str(self.quote.quote.total),
            "payTo": self.quote.pay_to or "",
            "maxTimeoutSeconds": MAX_TIMEOUT_S,
            "extra": {"areFeesSponsored": True},
        }

    def resource(self) -> dict[str, Any]:
        """The resource that is paid for."""
        runs = self.quote.quote.runs
        return {
            "url": self.url,
            "description": f"{runs} run{'s' if runs > 1 else ''} of an automation plan",
            "mimeType": "application/json",
        }

    def to_json(self, error: str = "") -> dict[str, Any]:
        """The PaymentRequired object; its payment has to carry the quote's identifier."""
        identifier = {"info": {"required": True, "id": self.quote.identifier}, "schema": _SCHEMA}
        return {
            "x402Version": X402_VERSION,
            "error": error or PAYMENT_REQUIRED_TEXT,
            "resource": self.resource(),
            "accepts": [self.requirement()],
            "extensions": {PAYMENT_IDENTIFIER: identifier},
        }

    def header(self, error: str = "") -> str:
        """The text of `PAYMENT-REQUIRED`."""
        return encode_header(self.to_json(error))
