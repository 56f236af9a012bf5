"""What counts as delivered, by the upstream's status."""

from typing import Final

from farebox.gateway.payment import MAX_ATTEMPTS, GatewayPayment, PaymentState

EVENT_STREAM: Final = "text/event-stream"
_NOT_DELIVERED: Final = frozenset({401, 407, 408, 429})
_LEAST: Final = 200
_LAST: Final = 499


def is_delivered_status(status: int) -> bool:
    """Whether a complete response with this status is what the buyer paid for.

    Statuses of the gateway's own credential and of limits, redirects and failures of the upstream
    are not; neither is one that HTTP does not have.
    """
    return _LEAST <= status <= _LAST and status // 100 != 3 and status not in _NOT_DELIVERED


def state_after_failure(attempt: GatewayPayment, *, may_repeat: bool) -> PaymentState:
    """Return the state after an attempt that delivered nothing."""
    is_last = attempt.attempts >= MAX_ATTEMPTS or not may_repeat
    return PaymentState.OWED if is_last else PaymentState.PAID
