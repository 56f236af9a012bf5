"""The outcomes of presenting a payment: an attempt to deliver, or the reason against one."""

from dataclasses import dataclass
from enum import StrEnum

from farebox.facilitator.settlement import NotSettled, Pending
from farebox.gateway.delivery.kept_response import KeptResponse
from farebox.gateway.payment import GatewayPayment


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
    """The payment belongs to another request, or its response was delivered and is not stored."""

    tx_hash: str  # empty while nothing is known to have landed


@dataclass(frozen=True, slots=True)
class LimitReached:
    """The wrapper has no room for the request; nothing was settled for it."""

    kind: LimitKind
    retry_after_s: int


@dataclass(frozen=True, slots=True)
class WrapperChanged:
    """The wrapper was disabled, deleted or changed since it was read; nothing was settled."""


@dataclass(frozen=True, slots=True)
class NotPaid:
    """The payment was refused, or failed on the ledger."""

    refusal: NotSettled


@dataclass(frozen=True, slots=True)
class PaymentPending:
    """The payment may have been sent; the same request continues it."""

    pending: Pending


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
    | NoAttemptLeft
    | AttemptInProgress
)
