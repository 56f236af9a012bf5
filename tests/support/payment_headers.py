"""The objects of a gateway's two headers."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from support.asgi import Answer


def payment_header(accepted: Mapping[str, Any], envelope: str, **members: Any) -> str:
    """The value of `PAYMENT-SIGNATURE`: an envelope in base64 for terms of an offer."""
    payload = {
        "x402Version": 2,
        "accepted": accepted,
        "payload": {"transaction": envelope},
    } | members
    return base64.b64encode(json.dumps(payload).encode()).decode()


def required(answer: Answer) -> dict[str, Any]:
    """Return the PaymentRequired object of a 402."""
    return _decoded(answer, "payment-required")


def receipt(answer: Answer) -> dict[str, Any]:
    """Return the receipt of a response."""
    return _decoded(answer, "payment-response")


def _decoded(answer: Answer, header: str) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(base64.b64decode(answer.headers[header]))
    return decoded
