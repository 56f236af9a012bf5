"""The response to a paid call, and the result that an agent gets of it."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

from farebox.mcp.jsonrpc import MAX_DEPTH, depth_of
from farebox.x402.headers import PAYMENT_REQUIRED, PAYMENT_RESPONSE, decode_header
from farebox.x402.wire import X402_VERSION

MAX_RESPONSE_BYTES: Final = 5 * 1024 * 1024
MAX_TEXT_CHARS: Final = 1024 * 1024  # of the text that repeats `structuredContent`
RECEIPT_META: Final = "x402/payment-response"  # x402's MCP transport
_PAYMENT_REQUIRED_STATUS: Final = 402
_FAILED: Final = 400
_PENDING: Final = "settlement_pending"
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
_decode: Final = msgspec.json.Decoder().decode


class CallOutcome(StrEnum):
    """What a failed call did to the payment."""

    NOT_SENT = "not_sent"  # certainly no payment
    FAILED = "failed"  # the transaction is on the ledger and moved nothing
    UNKNOWN = "unknown"  # the payment may have been settled
    SETTLED_NOT_DELIVERED = "settled_not_delivered"


class NextAction(StrEnum):
    """What the agent does next."""

    COMPLETE = "COMPLETE"
    SIGN = "SIGN_PAYMENT_AND_RETRY"
    RETRY = "RETRY"  # nothing was paid: the same call may be repeated at once
    WAIT = "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT"
    RECONCILE = "RECONCILE_BEFORE_SIGNING_AGAIN"


@dataclass(frozen=True, slots=True)
class CallResponse:
    """A complete response; `is_own_gateway` where this service itself settled the payment."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes
    is_own_gateway: bool = False

    def header(self, name: str) -> str | None:
        """Return the value of the one header of that name; None without one or with several."""
        found = [value for each, value in self.headers if each.lower() == name.lower()]
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool: text and `structuredContent` are the same JSON."""

    content: dict[str, Any]
    is_error: bool = False
    meta: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the `result` of the response; the text leaves a body above 1 MB out."""
        text = msgspec.json.encode(self.content).decode()
        if len(text) > MAX_TEXT_CHARS:
            shown = {name: value for name, value in self.content.items() if name != "body"}
            text = msgspec.json.encode({**shown, "bodyOmitted": True}).decode()
        result: dict[str, Any] = {
            "content": [{"type": "text", "text": text}],
            "structuredContent": self.content,
            "isError": self.is_error,
        }
        return result if self.meta is None else result | {"_meta": self.meta}


def read_challenge(response: CallResponse) -> dict[str, Any] | None:
    """Read the PaymentRequired object of a 402: its header, or a body of the same shape."""
    found = _read_header(response.header(PAYMENT_REQUIRED)) or _read_json(response.body)
    if not isinstance(found, dict) or found.get("x402Version") != X402_VERSION:
        return None
    accepts = found.get("accepts")
    return found if isinstance(accepts, list) and accepts else None


def render_response(response: CallResponse, *, has_payment: bool) -> ToolResult | None:
    """Render the result of a call; None for a 402 that is no challenge.

    Nothing counts as paid but a receipt that says so and names a transaction.
    """
    is_challenge = response.status == _PAYMENT_REQUIRED_STATUS
    receipt_text = response.header(PAYMENT_RESPONSE)
    receipt = _read_header(receipt_text)
    if is_challenge and receipt is None:
        challenge = read_challenge(response)
        if challenge is None and not has_payment:
            return None
        if challenge is not None:
            return _challenge_result(response, challenge, has_payment=has_payment)
    content: dict[str, Any] = {"status": response.status, **_shown_body(response)}
    content["isPaid"] = _is_settled(receipt)
    if receipt is not None:
        content |= {"paymentResponse": receipt, "paymentResponseHeader": receipt_text}
    elif has_payment:
        content["receiptFault"] = "missing" if receipt_text is None else "malformed"
    is_error = response.status >= _FAILED
    content |= _advice(response, receipt, has_payment=has_payment, is_error=is_error)
    meta = None if receipt is None else {RECEIPT_META: receipt}
    return ToolResult(content, is_error, meta)


def _challenge_result(
    response: CallResponse, challenge: dict[str, Any], *, has_payment: bool
) -> ToolResult:
    if not has_payment:
        return ToolResult(challenge | {"nextAction": NextAction.SIGN.value}, is_error=True)
    outcome = CallOutcome.NOT_SENT if response.is_own_gateway else CallOutcome.UNKNOWN
    action = NextAction.SIGN if response.is_own_gateway else NextAction.RECONCILE
    own = {"isPaid": False, "outcome": outcome.value, "nextAction": action.value}
    return ToolResult(challenge | own, is_error=True)


def _advice(
    response: CallResponse, receipt: dict[str, Any] | None, *, has_payment: bool, is_error: bool
) -> dict[str, Any]:
    """Say what happened to the payment where the call failed, and what to do next."""
    waiting = _waiting(response.header("retry-after") or "")
    if not has_payment:
        action = NextAction.RETRY if is_error else NextAction.COMPLETE
        outcome = {"outcome": CallOutcome.NOT_SENT.value} if is_error else {}
        return {**outcome, "nextAction": action.value, **waiting}
    if _is_settled(receipt):
        if not is_error:
            return {"nextAction": NextAction.COMPLETE.value}
        action = NextAction.WAIT if waiting else NextAction.RECONCILE
        outcome_of = CallOutcome.SETTLED_NOT_DELIVERED
    elif receipt is not None and receipt.get("errorReason") == _PENDING:
        action, outcome_of = NextAction.WAIT, CallOutcome.UNKNOWN
    elif response.is_own_gateway:  # its word on its own payments is proof
        action = NextAction.WAIT if waiting else NextAction.SIGN
        outcome_of = CallOutcome.NOT_SENT if receipt is None else CallOutcome.FAILED
    else:
        action, outcome_of = NextAction.RECONCILE, CallOutcome.UNKNOWN
    return {"outcome": outcome_of.value, "nextAction": action.value, **waiting}


def _waiting(text: str) -> dict[str, Any]:
    """Read a Retry-After in seconds (RFC 9110, section 10.2.3); nothing for any other text."""
    return {"retryAfterSeconds": int(text)} if _SECONDS.fullmatch(text) else {}


def _is_settled(receipt: dict[str, Any] | None) -> bool:
    return (
        receipt is not None
        and receipt.get("success") is True
        and isinstance(receipt.get("transaction"), str)
        and receipt["transaction"] != ""
    )


def _shown_body(response: CallResponse) -> dict[str, Any]:
    """Return the body as JSON or text where it is that, else in base64."""
    kind = response.header("content-type") or ""
    known: dict[str, Any] = {"contentType": kind[:256]} if kind else {}
    try:
        text = response.body.decode()
    except UnicodeDecodeError:
        encoded = base64.b64encode(response.body).decode()
        return known | {"bodyEncoding": "base64", "body": encoded}
    value = _read_json(response.body) if "json" in kind.lower() else None
    if value is not None:
        return known | {"bodyEncoding": "json", "body": value}
    return known | {"bodyEncoding": "text", "body": text}


def _read_header(text: str | None) -> dict[str, Any] | None:
    value = None if text is None else decode_header(text)
    return None if value is None or depth_of(value) > MAX_DEPTH else value


def _read_json(body: bytes) -> Any:
    """Read a JSON value; None for all else, and for one that is nested too deep to be passed on."""
    try:
        value = _decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return None if depth_of(value) > MAX_DEPTH else value
