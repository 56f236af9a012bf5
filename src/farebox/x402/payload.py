"""The payload of a payment as a buyer sends it."""

import secrets
from collections.abc import Mapping

import msgspec

from farebox.kernel.secret import Secret
from farebox.x402.extensions import PAYMENT_IDENTIFIER, PAYMENT_IDENTIFIER_DECLARATION
from farebox.x402.wire import X402_VERSION


def build_payload(
    accepted: object,
    envelope: Secret[str],
    *,
    resource: object | None = None,
    extensions: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Build `paymentPayload` around the base64 `envelope`; PAYMENT-SIGNATURE is its base64.

    `accepted` is the seller's payment option, verbatim; `resource` and `extensions` are those of
    the seller's 402. Each is JSON, decoded or raw. The payload always has a payment identifier,
    drawn here: a payment is repeated with the very bytes of its first header, never built anew.
    """
    payload: dict[str, object] = {
        "x402Version": X402_VERSION,
        "accepted": accepted,
        "payload": {"transaction": envelope.reveal()},
    }
    if resource is not None:
        payload["resource"] = resource
    payload["extensions"] = _identified(extensions or {})
    return payload


def _identified(extensions: Mapping[str, object]) -> Mapping[str, object]:
    """Add a payment identifier, which is not on the ledger, to the seller's extensions.

    What the seller declared is kept (docs/decisions/0052): its own id stands, and so does a
    declaration of another form.
    """
    declared = extensions.get(PAYMENT_IDENTIFIER)
    if isinstance(declared, msgspec.Raw):
        declared = _decode(declared)
    if declared is None:
        declared = PAYMENT_IDENTIFIER_DECLARATION
    info = declared.get("info") if isinstance(declared, dict) else None
    if not isinstance(declared, dict) or not isinstance(info, dict):
        return extensions
    if not isinstance(info.get("required"), bool) or info.get("id") is not None:
        return extensions
    own = {**declared, "info": {**info, "id": f"pay_{secrets.token_hex(16)}"}}
    return {**extensions, PAYMENT_IDENTIFIER: own}


def _decode(text: msgspec.Raw) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return text
