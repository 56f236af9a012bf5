"""The objects of a gateway's two headers."""

import base64
import json
from typing import Any

from support.asgi import Answer


def required(answer: Answer) -> dict[str, Any]:
    """Return the PaymentRequired object of a 402."""
    return _decoded(answer, "payment-required")


def receipt(answer: Answer) -> dict[str, Any]:
    """Return the receipt of a response."""
    return _decoded(answer, "payment-response")


def _decoded(answer: Answer, header: str) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(base64.b64decode(answer.headers[header]))
    return decoded
