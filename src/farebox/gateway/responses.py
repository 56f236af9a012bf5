"""The responses of the gateway itself: offers, refusals and receipts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, assert_never

import msgspec

from farebox.facilitator.settlement import NotSettled, Pending
from farebox.gateway.analytics.recorded_request import RequestOutcome
from farebox.gateway.delivery.attempt import DeliveryFault, NotDelivered
from farebox.gateway.delivery.outcome import (
    AttemptInProgress,
    LandingNotRecorded,
    LimitKind,
    LimitReached,
    NoAttemptLeft,
    NotPaid,
    NotServed,
    PaymentPending,
    PaymentUsed,
    Replayed,
)
from farebox.gateway.offers.offer import WrapperOffer
from farebox.gateway.payment import UNPROVEN_EVERY, GatewayPayment, PaymentState
from farebox.gateway.relay.response_headers import RawHeader
from farebox.kernel.error_codes import ErrorCode
from farebox.x402.headers import encode_header
from farebox.x402.reasons import OF_THE_PAYER, Reason, Retry, explain

RETRY_S: Final = 5
UNPROVEN_S: Final = round(UNPROVEN_EVERY.total_seconds())
_AGAIN: Final = (
    " Send the same request with the same PAYMENT-SIGNATURE again: it is not charged again."
)
_AGAIN_BY_HTTP: Final = _AGAIN.replace(" again:", " over HTTP:")  # this door cannot carry it
_OWED: Final = " The payment is owed: its URL shows its state."
_UNPROVEN: Final = (
    "Whether the payment has landed cannot be proven. It is looked at every hour: send the same"
    " request with the same payment again, and sign no other."
)
_FAILED: Final = (
    "The transaction of the payment moved nothing: it failed, or can no longer land. Whoever has"
    " seen its authorization may still land that until it expires: sign no other one before."
)
_RECEIPT: Final = b"payment-response"
_REQUIRED: Final = b"payment-required"
_JSON: Final = (b"content-type", b"application/json")
_PRIVATE: Final = (b"cache-control", b"private, no-store")
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class GatewayResponse:
    """A response: its status, headers and body; and how the request ended, for its record."""

    status: int
    headers: tuple[RawHeader, ...]
    body: bytes
    outcome: RequestOutcome = RequestOutcome.REFUSED
    code: str | None = None
    tx_hash: str = ""


def error_response(
    request_id: str,
    code: ErrorCode,
    message: str | None = None,
    *,
    headers: tuple[RawHeader, ...] = (),
    details: Mapping[str, object] | None = None,
    outcome: RequestOutcome = RequestOutcome.REFUSED,
) -> GatewayResponse:
    """Render the uniform error body, with details where there are some."""
    shown: dict[str, object] = {
        "code": code,
        "message": message or code.sentence,
        "requestId": request_id,
    }
    if details is not None:
        shown["details"] = details
    body, own = _encode({"error": shown}), (_JSON, _PRIVATE, *headers)
    return GatewayResponse(code.status, own, body, outcome, code)


@dataclass(frozen=True, slots=True)
class ResponseContext:
    """What the responses of one request share: its offer, its id and the payments' public URL."""

    offer: WrapperOffer
    request_id: str
    payments_url: str  # of `/v1/payments`

    def offer_response(self, error: str = "") -> GatewayResponse:
        """Render the 402 with the offer; `error` says why a presented payment was not taken."""
        header = self.offer.header(error) if error else self.offer.header()
        body = self.offer.body(error) if error else self.offer.body()
        outcome = RequestOutcome.VERIFY_FAILED if error else RequestOutcome.CHALLENGED
        headers = (_JSON, _PRIVATE, (_REQUIRED, header.encode()))
        return GatewayResponse(402, headers, body, outcome, error or None)

    def error(
        self,
        code: ErrorCode,
        message: str | None = None,
        *,
        headers: tuple[RawHeader, ...] = (),
        details: Mapping[str, object] | None = None,
        outcome: RequestOutcome = RequestOutcome.REFUSED,
    ) -> GatewayResponse:
        """Render the uniform error body, with details where there are some."""
        return error_response(
            self.request_id, code, message, headers=headers, details=details, outcome=outcome
        )

    def nothing_sent(self, retry_after_s: int) -> GatewayResponse:
        """Render the 503 of a service that could not act; nothing was charged."""
        return self.error(
            ErrorCode.SERVICE_UNAVAILABLE,
            headers=(_retry_after(retry_after_s),),
            outcome=RequestOutcome.GATEWAY_ERROR,
        )

    def settled_error(
        self, payment: GatewayPayment, code: ErrorCode, message: str, *, attempts_left: int
    ) -> GatewayResponse:
        """Render the failure of a paid request: with the receipt, and how to get the response."""
        details = {
            "transaction": payment.tx_hash,
            "attemptsLeft": attempts_left,
            "payment": f"{self.payments_url}/{payment.tx_hash}",
        }
        is_repeatable = attempts_left > 0 or code is ErrorCode.SERVICE_UNAVAILABLE
        retry = (_retry_after(RETRY_S),) if is_repeatable else ()
        headers = (receipt_header(payment), *retry)
        outcome = RequestOutcome.UPSTREAM_ERROR
        rendered = self.error(code, message, headers=headers, details=details, outcome=outcome)
        return replace(rendered, tx_hash=payment.tx_hash)

    def not_delivered(self, failed: NotDelivered) -> GatewayResponse:
        """Render an attempt without a delivery: 504 after the upstream's time, else 502."""
        is_late = failed.fault is DeliveryFault.TIMEOUT
        code = ErrorCode.UPSTREAM_TIMEOUT if is_late else ErrorCode.UPSTREAM_FAILED
        left = 0
        if failed.state is PaymentState.PAID:
            left = failed.payment.unused_attempts
        message = f"The request is paid and was not delivered: {failed.fault.value}."
        again = _AGAIN_BY_HTTP if failed.fault is DeliveryFault.ABOVE_LIMIT else _AGAIN
        message += again if left else _OWED
        return self.settled_error(failed.payment, code, message, attempts_left=left)

    def render(
        self,
        outcome: Replayed
        | PaymentUsed
        | LimitReached
        | NotPaid
        | PaymentPending
        | LandingNotRecorded
        | NotServed
        | NoAttemptLeft
        | AttemptInProgress,
    ) -> GatewayResponse:
        """Render an outcome without an attempt to deliver."""
        match outcome:
            case Replayed(payment, response):
                kept = (*response.headers, receipt_header(payment))
                return GatewayResponse(
                    response.status,
                    kept,
                    response.body,
                    RequestOutcome.REPLAYED,
                    tx_hash=payment.tx_hash,
                )
            case PaymentUsed(tx_hash):
                return self._payment_used(tx_hash)
            case LimitReached(kind, retry_after_s):
                is_quota = kind is LimitKind.QUOTA
                code = ErrorCode.MONTHLY_QUOTA_USED if is_quota else ErrorCode.TOO_MANY_REQUESTS
                met = RequestOutcome.QUOTA_EXCEEDED if is_quota else RequestOutcome.RATE_LIMITED
                return self.error(code, headers=(_retry_after(retry_after_s),), outcome=met)
            case NotPaid(refusal):
                return self._not_paid(refusal)
            case PaymentPending(pending, reason):
                return self._pending(pending, reason)
            case LandingNotRecorded() | NotServed() | NoAttemptLeft() | AttemptInProgress():
                return self._not_attempted(outcome)
            case _:
                assert_never(outcome)

    def _payment_used(self, tx_hash: str) -> GatewayResponse:
        """Render the refusal of another request's payment, or of one that was delivered."""
        named = f"Its transaction is {tx_hash}." if tx_hash else "No transaction of it is known."
        message = f"{ErrorCode.PAYMENT_USED.sentence} {named}"
        details = {"transaction": tx_hash or None}
        return self.error(ErrorCode.PAYMENT_USED, message, details=details)

    def identifier_used(self) -> GatewayResponse:
        """Render the refusal of another payment under a used identifier: a 402 would invite one."""
        message = "The payment identifier names another payment. Nothing was sent for this one."
        details = {"reason": Reason.PAYMENT_IDENTIFIER_REUSED, "transaction": None}
        return self.error(ErrorCode.PAYMENT_USED, message, details=details)

    def _not_attempted(
        self, outcome: LandingNotRecorded | NotServed | NoAttemptLeft | AttemptInProgress
    ) -> GatewayResponse:
        """Render a paid request that this call did not attempt to deliver."""
        payment, left = outcome.payment, outcome.payment.unused_attempts
        match outcome:
            case LandingNotRecorded():
                code = ErrorCode.SERVICE_UNAVAILABLE
                message = "The request is paid, and the service cannot deliver it now." + _AGAIN
            case NotServed():
                code = ErrorCode.UPSTREAM_FAILED
                message = "The request is paid, and the upstream cannot be called now." + _AGAIN
            case NoAttemptLeft():
                code, left = ErrorCode.UPSTREAM_FAILED, 0
                message = "The request is paid, and no attempt to deliver is left."
                message += " Its URL shows its state."
            case AttemptInProgress():
                code = ErrorCode.UPSTREAM_TIMEOUT
                message = "The request is paid, and another one like it waits for the upstream."
            case _:
                assert_never(outcome)
        return self.settled_error(payment, code, message, attempts_left=left)

    def _not_paid(self, refusal: NotSettled) -> GatewayResponse:
        """Render a payment without effect: with a receipt once a transaction was sent."""
        if not refusal.tx_hash:
            is_ours = refusal.reason not in OF_THE_PAYER
            if is_ours and explain(refusal.reason).retry is Retry.LATER:
                message = explain(refusal.reason).sentence
                return self.error(
                    ErrorCode.SERVICE_UNAVAILABLE,
                    message,
                    headers=(_retry_after(RETRY_S),),
                    outcome=RequestOutcome.GATEWAY_ERROR,
                )
            return self.offer_response(refusal.reason.value)
        has_failed = refusal.reason is Reason.TRANSACTION_FAILED
        receipt = {
            "success": False,
            "errorReason": refusal.reason.value,
            "errorMessage": _FAILED if has_failed else explain(refusal.reason).sentence,
            "transaction": refusal.tx_hash,
            "network": refusal.network.value,
            "payer": refusal.payer,
        }
        headers = (_JSON, _PRIVATE, _receipt(receipt))
        return GatewayResponse(
            402,
            headers,
            _encode({"error": refusal.reason.value}),
            RequestOutcome.SETTLE_FAILED,
            refusal.reason.value,
            refusal.tx_hash,
        )

    def _pending(self, pending: Pending, reason: Reason) -> GatewayResponse:
        """Render an unknown outcome: no offer, which would invite a second signature."""
        is_unproven = reason is Reason.OUTCOME_UNPROVEN
        receipt = {
            "success": False,
            "errorReason": reason.value,
            "errorMessage": explain(reason).sentence,
            "transaction": pending.tx_hash,
            "network": pending.network.value,
            "payer": pending.payer,
        }
        rendered = self.error(
            ErrorCode.SETTLEMENT_UNKNOWN,
            _UNPROVEN if is_unproven else None,
            headers=(_receipt(receipt), _retry_after(UNPROVEN_S if is_unproven else RETRY_S)),
            details={"transaction": pending.tx_hash},
            outcome=RequestOutcome.SETTLE_PENDING,
        )
        return replace(rendered, tx_hash=pending.tx_hash)


def receipt_header(payment: GatewayPayment) -> RawHeader:
    """Return `PAYMENT-RESPONSE` for a payment that has landed."""
    identity = payment.identity
    return _receipt(
        {
            "success": True,
            "transaction": payment.tx_hash,
            "network": identity.network.value,
            "payer": identity.payer,
        }
    )


def _receipt(members: Mapping[str, Any]) -> RawHeader:
    known = {name: value for name, value in members.items() if value is not None}
    return _RECEIPT, encode_header(known).encode()


def _retry_after(seconds: int) -> RawHeader:
    return b"retry-after", b"%d" % seconds
