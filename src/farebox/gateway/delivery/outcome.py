"""The outcomes of presenting a payment: an attempt to deliver, or the reason against one."""

from dataclasses import dataclass
from enum import StrEnum

from farebox.facilitator.settlement import NotSettled, Pending
from farebox.gateway.delivery.kept_response import KeptResponse
from farebox.gateway.payment import GatewayPayment
from farebox.x402.reasons import Reason


class LimitKind(StrEnum):
    """The limit of a wrapper that a request has met."""

    RATE = "rate"
    QUOTA = "quota"
    CONCURRENCY = "concurrency"


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """The request is paid, and this call alone may send it to the upstream now."""

    payment: GatewayPayment


@dataclass(frozen=True, slots=True)
class Replayed:
    """The response was delivered before and is stored."""

    payment: GatewayPayment
    response: KeptResponse


@dataclass(frozen=True, slots=True)
class PaymentUsed:
    """The payment belongs to another request, or its response is not given again."""

    tx_hash: str  # empty while no transaction of it is known


@dataclass(frozen=True, slots=True)
class LimitReached:
    """The wrapper has no room for the request; nothing was settled for it."""

    kind: LimitKind
    retry_after_s: int


@dataclass(frozen=True, slots=True)
class WrapperChanged:
    """The payment is not for the wrapper's terms of now; nothing was settled for it.

    The wrapper was disabled, deleted or changed since it was read, or the payment was made for
    other terms and continues nothing.
    """


@dataclass(frozen=True, slots=True)
class NotPaid:
    """The payment was refused, failed on the ledger, or can no longer land."""

    refusal: NotSettled


@dataclass(frozen=True, slots=True)
class PaymentPending:
    """The payment may have been sent; the same request continues it.

    `reason` is `OUTCOME_UNPROVEN` when nobody can prove whether it has landed.
    """

    pending: Pending
    reason: Reason = Reason.SETTLEMENT_PENDING


@dataclass(frozen=True, slots=True)
class LandingNotRecorded:
    """The payment has landed, and the database was lost before its delivery could begin."""

    payment: GatewayPayment


@dataclass(frozen=True, slots=True)
class NotServed:
    """The request is paid and not delivered, and cannot be sent to its upstream now."""

    payment: GatewayPayment


@dataclass(frozen=True, slots=True)
class NoAttemptLeft:
    """The request is paid, its response was not delivered, and no attempt is left."""

    payment: GatewayPayment


@dataclass(frozen=True, slots=True)
class AttemptInProgress:
    """The request is paid, and another call still waits for its response."""

    payment: GatewayPayment


PayOutcome = (
    AttemptStarted
    | Replayed
    | PaymentUsed
    | LimitReached
    | WrapperChanged
    | NotPaid
    | PaymentPending
    | LandingNotRecorded
    | NotServed
    | NoAttemptLeft
    | AttemptInProgress
)
