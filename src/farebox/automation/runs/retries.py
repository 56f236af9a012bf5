"""Errors of a run by class, and what each class leads to (3.9 of the design)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from farebox.automation.runs.run_state import RunTrigger

MAX_ATTEMPTS: Final = 5  # of one run
_FIRST_WAIT: Final = timedelta(seconds=10)
_LONGEST_WAIT: Final = timedelta(minutes=5)


class ErrorClass(StrEnum):
    """The class of a run's error, as its row and the responses have it."""

    TRANSPORT = "transport"  # no usable answer of a node
    ADMISSION = "admission"  # a node's queue, or its fee of now
    SEQUENCE = "sequence"  # of the channel account
    TOO_LATE = "too_late"  # the time bound passed before it landed
    ARCHIVED = "archived"  # an entry must be restored, above the fee ceiling
    MARKET = "market"  # the price or the liquidity of now, or a check that failed
    DEADLINE = "deadline"  # of the call itself, as a router has it
    BUDGET = "budget"  # a cap of this period is used up
    SESSION = "session"  # revoked, closed, expired or used up
    USER_FUNDS = "user_funds"  # balance, trustline or allowance
    PROGRAM = "program"  # an error of the contract, or effects that were not declared


class Reaction(StrEnum):
    """What the executor does about an error."""

    RESEND = "resend"  # the same bytes, if they were sent; else build them again
    RAISE_FEE = "raise_fee"  # of the same inner transaction, below the ceiling
    RESOLVE_FIRST = "resolve_first"  # the older attempt, then the channel is read again
    BUILD_AGAIN = "build_again"  # with a new quote, after older attempts are dead
    DEFER = "defer"  # to the next window of the budget: no failure
    FAIL_RUN = "fail_run"
    STOP_PLAN = "stop_plan"


REACTIONS: Final = MappingProxyType(
    {
        ErrorClass.TRANSPORT: Reaction.RESEND,
        ErrorClass.ADMISSION: Reaction.RAISE_FEE,
        ErrorClass.SEQUENCE: Reaction.RESOLVE_FIRST,
        ErrorClass.TOO_LATE: Reaction.BUILD_AGAIN,
        ErrorClass.ARCHIVED: Reaction.FAIL_RUN,
        ErrorClass.MARKET: Reaction.BUILD_AGAIN,
        ErrorClass.DEADLINE: Reaction.BUILD_AGAIN,
        ErrorClass.BUDGET: Reaction.DEFER,
        ErrorClass.SESSION: Reaction.STOP_PLAN,
        ErrorClass.USER_FUNDS: Reaction.FAIL_RUN,
        ErrorClass.PROGRAM: Reaction.FAIL_RUN,
    }
)
_IS_FINAL: Final = MappingProxyType(
    {
        Reaction.DEFER: RunTrigger.DEFER,
        Reaction.FAIL_RUN: RunTrigger.REFUSE,
        Reaction.STOP_PLAN: RunTrigger.REFUSE_SESSION,
    }
)


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """The trigger for the run, and when it is tried again; None where it is not."""

    trigger: RunTrigger
    next_attempt_at: datetime | None = None


def backoff(attempts: int, share: float) -> timedelta:
    """The wait after so many failed attempts (1 at least): full jitter of 10 s × 2ⁿ, 5 min at most.

    `share` is the jitter, from 0 to 1: the caller draws it.
    """
    whole = min(_LONGEST_WAIT, _FIRST_WAIT * (1 << min(attempts - 1, 10)))
    return whole * share


def plan_retry(
    error: ErrorClass, *, attempts: int, now: datetime, deadline: datetime, share: float
) -> RetryPlan:
    """Decide what follows an error of a run that made `attempts` attempts, this one included.

    A run is tried again while attempts are left and the next one begins before its deadline. After
    something was sent, the caller first proves that it is dead (`attempt.py`). For DEFER the caller
    knows when the budget's window ends.
    """
    final = _IS_FINAL.get(REACTIONS[error])
    if final is not None:
        return RetryPlan(final)
    then = now + backoff(attempts, share)
    if attempts >= MAX_ATTEMPTS or then >= deadline:
        return RetryPlan(RunTrigger.GIVE_UP)
    return RetryPlan(RunTrigger.RETRY, then)
