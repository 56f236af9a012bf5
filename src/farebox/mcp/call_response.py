"""The response to a paid call, and the result that an agent gets of it."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

from farebox.kernel.error_codes import ErrorCode
from farebox.mcp.jsonrpc import MAX_DEPTH, depth_of
from farebox.x402.headers import PAYMENT_REQUIRED, PAYMENT_RESPONSE, decode_header
from farebox.x402.reasons import Reason
from farebox.x402.wire import X402_VERSION

MAX_RESPONSE_BYTES: Final = 5 * 1024 * 1024
MAX_TEXT_CHARS: Final = 1024 * 1024  # of the text that repeats `structuredContent`
RECEIPT_META: Final = "x402/payment-response"  # x402's MCP transport
_PAYMENT_REQUIRED_STATUS: Final = 402
_FAILED: Final = 400
_PENDING: Final = "settlement_pending"
_SECONDS: Final = re.compile(r"[0-9]{1,5}")
_MAX_WAIT_S: Final = 86_400
_CHALLENGE: Final = ("x402Version", "error", "resource", "accepts", "extensions")
# Any other refusal may be of bytes around an authorization that is valid, and that has landed: a
# buyer, or who handed it the header, may have changed what is outside the signature.
_HOLDS_NOTHING: Final = Reason.NO_AUTH_ENTRIES
_UNSENT: Final = frozenset({ErrorCode.MONTHLY_QUOTA_USED})  # refused before a payment is reserved
_decode: Final = msgspec.json.Decoder().decode


class CallOutcome(StrEnum):
    """What a failed call did to the payment."""

    NOT_SENT = "not_sent"  # certainly no payment
    FAILED = "failed"  # the transaction moved nothing: it failed, or can no longer land
    UNKNOWN = "unknown"  # the payment may have been settled
    SETTLED_NOT_DELIVERED = "settled_not_delivered"


class NextAction(StrEnum):
    """What the agent does next."""

    COMPLETE = "COMPLETE"
    SIGN = "SIGN_PAYMENT_AND_RETRY"
    RETRY = "RETRY"  # nothing was paid: the same call may be repeated at once
    WAIT = "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT"
    RECONCILE = "RECONCILE_BEFORE_SIGNING_AGAIN"


class ReceiptFault(StrEnum):
    """Why a response is no proof of a payment."""

    MISSING = "missing"
    MALFORMED = "malformed"
    OTHER_NETWORK = "other_network"  # it is not of the payment's own network
    NOT_ON_LEDGER = "not_on_ledger"  # the ledger does not show this payment in that transaction
    LEDGER_UNAVAILABLE = "ledger_unavailable"


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
        """Return the `result` of the response; a text above 1 MB leaves outsiders' words out."""
        text = msgspec.json.encode(self.content).decode()
        if len(text) > MAX_TEXT_CHARS:
            words = {"body", *self.content.get("untrusted", ())}
            shown = {name: value for name, value in self.content.items() if name not in words}
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


def render_response(
    response: CallResponse,
    *,
    has_payment: bool,
    fault: ReceiptFault | None = ReceiptFault.NOT_ON_LEDGER,
    warnings: Sequence[dict[str, Any]] = (),
) -> ToolResult | None:
    """Render the result of a call; None for a 402 that is no challenge.

    `fault` is what the ledger says against an outsider's receipt of success: None where it shows
    the transfer, which alone counts as paid. `warnings` are of a challenge.
    """
    is_challenge = response.status == _PAYMENT_REQUIRED_STATUS
    receipt_text = response.header(PAYMENT_RESPONSE)
    receipt = read_receipt(response)
    if is_challenge and receipt is None:
        challenge = read_challenge(response)
        if challenge is None and not has_payment:
            return None
        if challenge is not None:
            shown = _shown_challenge(challenge, warnings)
            return _challenge_result(response, shown, has_payment=has_payment)
    is_own = response.is_own_gateway
    is_paid = has_payment and is_settled(receipt) and (is_own or fault is None)
    content: dict[str, Any] = {"status": response.status, "untrusted": _untrusted(response)}
    content |= {**_shown_body(response), "isPaid": is_paid}
    if receipt is not None:
        content |= {"paymentResponse": receipt, "paymentResponseHeader": receipt_text}
    if has_payment and receipt is None:
        missing = ReceiptFault.MISSING if receipt_text is None else ReceiptFault.MALFORMED
        content["receiptFault"] = missing.value
    elif has_payment and fault is not None and is_settled(receipt) and not is_own:
        content["receiptFault"] = fault.value
    is_error = response.status >= _FAILED
    content |= _advice(response, has_payment=has_payment, is_paid=is_paid)
    meta = None if receipt is None else {RECEIPT_META: receipt}
    return ToolResult(content, is_error, meta)


def read_receipt(response: CallResponse) -> dict[str, Any] | None:
    """Read the receipt of a response; None without a readable one."""
    return _read_header(response.header(PAYMENT_RESPONSE))


def _untrusted(response: CallResponse) -> list[str]:
    """Name the members that hold an outsider's words."""
    names = ["contentType", "body"]
    receipt = [] if response.is_own_gateway else ["paymentResponse", "paymentResponseHeader"]
    return [*names, *receipt]


def _shown_challenge(
    challenge: dict[str, Any], warnings: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the members of x402's PaymentRequired, each an outsider's, and no other."""
    known: dict[str, Any] = {name: challenge[name] for name in _CHALLENGE if name in challenge}
    marked = {"untrusted": [name for name in known if name != "x402Version"]}
    return {**known, **marked, **({"warnings": list(warnings)} if warnings else {})}


def _challenge_result(
    response: CallResponse, shown: dict[str, Any], *, has_payment: bool
) -> ToolResult:
    if not has_payment:
        return ToolResult(shown | {"nextAction": NextAction.SIGN.value}, is_error=True)
    own = {"isPaid": False, **_advice(response, has_payment=True, is_paid=False)}
    return ToolResult(shown | own, is_error=True)


def _advice(response: CallResponse, *, has_payment: bool, is_paid: bool) -> dict[str, Any]:
    """Say what happened to the payment where the call failed, and what to do next."""
    waiting = _waiting(response.header("retry-after") or "")
    is_error = response.status >= _FAILED
    if not has_payment:
        action = NextAction.RETRY if is_error else NextAction.COMPLETE
        outcome = {"outcome": CallOutcome.NOT_SENT.value} if is_error else {}
        return {**outcome, "nextAction": action.value, **waiting}
    later = NextAction.WAIT if waiting else NextAction.RECONCILE
    if is_paid:
        if not is_error:
            return {"nextAction": NextAction.COMPLETE.value}
        outcome_of, action = CallOutcome.SETTLED_NOT_DELIVERED, later
    elif response.is_own_gateway:
        outcome_of, action = _judge_code(_own_code(response), later)
    else:
        receipt = read_receipt(response)
        is_pending = receipt is not None and receipt.get("errorReason") == _PENDING
        action = NextAction.WAIT if is_pending else NextAction.RECONCILE
        outcome_of = CallOutcome.UNKNOWN
    return {"outcome": outcome_of.value, "nextAction": action.value, **waiting}


def _judge_code(code: str, later: NextAction) -> tuple[CallOutcome, NextAction]:
    """Judge a payment by the code with which our own gateway refused it.

    Only a code can say that nothing was sent, and only the one by which the header holds no
    authorization of anybody says to sign anew; without such a code the payment may have been
    settled, now or by an earlier call.
    """
    if code == _HOLDS_NOTHING:
        return CallOutcome.NOT_SENT, NextAction.SIGN
    if code in _UNSENT:
        return CallOutcome.NOT_SENT, NextAction.WAIT
    if code == Reason.TRANSACTION_FAILED:  # others may have its authorization, which may land yet
        return CallOutcome.FAILED, NextAction.RECONCILE
    if code == Reason.SETTLEMENT_PENDING:
        return CallOutcome.UNKNOWN, NextAction.WAIT
    return CallOutcome.UNKNOWN, later


def _own_code(response: CallResponse) -> str:
    """Return the code of our gateway's refusal: of its receipt, its offer or its error body."""
    receipt, challenge = read_receipt(response), read_challenge(response)
    if receipt is not None:
        code = receipt.get("errorReason")
    elif challenge is not None:
        code = challenge.get("error")
    else:
        body = _read_json(response.body)
        error = body.get("error") if isinstance(body, dict) else None
        code = error.get("code") if isinstance(error, dict) else error
    return code if isinstance(code, str) else ""


def _waiting(text: str) -> dict[str, Any]:
    """Read a Retry-After of a day at most (RFC 9110, section 10.2.3); nothing for other texts."""
    seconds = int(text) if _SECONDS.fullmatch(text) else _MAX_WAIT_S + 1
    return {"retryAfterSeconds": seconds} if seconds <= _MAX_WAIT_S else {}


def is_settled(receipt: dict[str, Any] | None) -> bool:
    """Whether a receipt says that the payment was settled, and names a transaction."""
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
