"""The failures of a paid call: what they did to the payment, and what to do next."""

from typing import Final

from farebox.mcp.call_response import CallOutcome, NextAction
from farebox.mcp.rpc_error import RpcError, RpcReason
from farebox.outbound.faults import (
    CallNotSent,
    CallOutcomeUnknown,
    CallRefused,
    UnknownOutcomeReason,
)

REDIRECT: Final = "redirect_refused"
NO_CHALLENGE: Final = "challenge_unreadable"
BUSY: Final = "too_many_calls"
_WAIT_S: Final = 5
_RETRY_S: Final = 1


def paid_call_failed(
    cause: str, *, has_payment: bool, outcome: CallOutcome | None = None
) -> RpcError:
    """Make the error PAID_CALL_FAILED; without `outcome` the target may have received the call.

    A payment that was sent to the target may have been settled, now or by an earlier call; the same
    payment sent again is never charged twice.
    """
    known = outcome or (CallOutcome.UNKNOWN if has_payment else CallOutcome.NOT_SENT)
    is_open = known is not CallOutcome.NOT_SENT
    action = NextAction.WAIT if is_open or has_payment else NextAction.RETRY
    data = {
        "cause": cause,
        "outcome": known.value,
        "nextAction": action.value,
        "retryAfterSeconds": _WAIT_S if is_open else _RETRY_S,
    }
    return RpcError(RpcReason.PAID_CALL_FAILED, f"The call failed: {cause}.", data)


def failure_of(
    error: CallRefused | CallNotSent | CallOutcomeUnknown, *, has_payment: bool
) -> RpcError:
    """Make the error of a call that the outbound client did not complete."""
    outcome = None if isinstance(error, CallOutcomeUnknown) else CallOutcome.NOT_SENT
    return paid_call_failed(error.reason.value, has_payment=has_payment, outcome=outcome)


def too_late(*, has_payment: bool) -> RpcError:
    """Make the error of a call without a response in time."""
    return paid_call_failed(UnknownOutcomeReason.DEADLINE.value, has_payment=has_payment)
