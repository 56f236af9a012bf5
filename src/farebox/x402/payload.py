"""The payload of a payment as a buyer sends it."""

from farebox.kernel.secret import Secret
from farebox.x402.wire import X402_VERSION


def build_payload(
    accepted: object,
    envelope: Secret[str],
    *,
    resource: object | None = None,
    extensions: object | None = None,
) -> dict[str, object]:
    """Build `paymentPayload` around the base64 `envelope`; PAYMENT-SIGNATURE is its base64.

    `accepted` is the seller's payment option, verbatim; `resource` and `extensions` are those of
    the seller's 402. Each is JSON, decoded or raw.
    """
    payload: dict[str, object] = {
        "x402Version": X402_VERSION,
        "accepted": accepted,
        "payload": {"transaction": envelope.reveal()},
    }
    if resource is not None:
        payload["resource"] = resource
    if extensions is not None:
        payload["extensions"] = extensions
    return payload
