"""The state machine of a run, or of one leg of it (3.6 of the design), as one table.

A run's row is `(proposal, run_index, leg_index)`. A run of several legs has a row for each leg, and
its own state follows from theirs (`legs.py`): only there is `partial`.
"""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from farebox.automation.refusal import AutomationRefused
from farebox.kernel.error_codes import ErrorCode


class RunState(StrEnum):
    """The state of a run."""

    SCHEDULED = "scheduled"
    CLAIMED = "claimed"  # a replica has its lease
    CHECKING = "checking"  # `autolayer_check`, the plan's state, window, credits and budgets
    BUILDING = "building"
    SUBMITTED = "submitted"  # an attempt's row is committed, and the attempt may be sent
    DEFERRED = "deferred"  # until the next poll, or the next window of a budget
    RETRY_WAIT = "retry_wait"
    RECONCILING = "reconciling"  # the outcome of an attempt is not known
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    MISSED = "missed"
    SKIPPED = "skipped"
    ABANDONED = "abandoned"  # the outcome cannot be found out any more


FINAL_RUN_STATES: Final = frozenset(
    (
        RunState.SUCCEEDED,
        RunState.PARTIAL,
        RunState.FAILED,
        RunState.MISSED,
        RunState.SKIPPED,
        RunState.ABANDONED,
    )
)
WAITING_STATES: Final = frozenset((RunState.SCHEDULED, RunState.DEFERRED, RunState.RETRY_WAIT))
LEASED_STATES: Final = frozenset((RunState.CLAIMED, RunState.CHECKING, RunState.BUILDING))
UNRESOLVED_STATES: Final = frozenset((RunState.SUBMITTED, RunState.RECONCILING))


class RunTrigger(StrEnum):
    """What happens to a run."""

    CLAIM = "claim"  # it is due, and a lease was taken
    BEGIN = "begin"
    CHECK_ACCEPTED = "check_accepted"  # of a condition: in two consecutive ledgers
    CHECK_DECLINED = "check_declined"  # of a run that a time schedules
    POLL_DECLINED = "poll_declined"  # of a condition
    DEFER = "defer"  # a budget or cap of this period is used up
    RETRY = "retry"  # a fault that may pass, and attempts and time are left
    GIVE_UP = "give_up"  # a fault that may pass, and no attempt or no time is left
    REFUSE = "refuse"  # a simulation, or a rule of ours, refuses the call for good
    REFUSE_SESSION = "refuse_session"  # the session is revoked, closed or used up
    SUBMIT = "submit"  # the attempt's row is committed
    LOSE_TRACK = "lose_track"  # the send or the poll gave no outcome, or its replica died
    SUCCEED = "succeed"  # by our transaction, or by another one that used the authorization
    FIND_USED = "find_used"  # before anything is sent again: another one used the authorization
    WITHDRAW = "withdraw"  # the plan was paused or ended before anything was sent
    MISS = "miss"  # the deadline has passed with no unresolved attempt
    LOSE_LEASE = "lose_lease"
    ABANDON = "abandon"  # unknown for longer than nodes remember
    REPEAT = "repeat"  # the owner asks for it again, inside its window


class RunEffect(StrEnum):
    """What the same transaction does besides the change of state."""

    RAISE_EPOCH = "raise_epoch"
    SET_NEXT_ATTEMPT = "set_next_attempt"  # by the backoff, the poll or the budget's window
    CONSUME_CREDIT = "consume_credit"  # once a run
    COUNT_AUTHORIZATION = "count_authorization"
    STORE_EFFECTS = "store_effects"
    RESET_FAILURES = "reset_failures"
    COUNT_FAILURE = "count_failure"  # the third in a row pauses the plan
    STOP_PLAN = "stop_plan"  # pause or fail it, by the reason
    NEXT_SLOT = "next_slot"  # by the missed-run policy
    RELEASE_CHANNEL = "release_channel"
    RAISE_ALARM = "raise_alarm"  # to the operator and to the owner
    RESET_ATTEMPTS = "reset_attempts"


@dataclass(frozen=True, slots=True)
class RunTransition:
    """The next state, and the effects that the same transaction has."""

    to: RunState
    effects: tuple[RunEffect, ...] = ()


_State = RunState
_On = RunTrigger
_Do = RunEffect
_ENDED: Final = (_Do.NEXT_SLOT, _Do.RELEASE_CHANNEL)
_FAILURE: Final = RunTransition(_State.FAILED, (_Do.COUNT_FAILURE, *_ENDED))
_SESSION_GONE: Final = RunTransition(_State.FAILED, (_Do.STOP_PLAN, _Do.RELEASE_CHANNEL))
_LATER: Final = RunTransition(_State.RETRY_WAIT, (_Do.SET_NEXT_ATTEMPT,))
_SUCCESS: Final = RunTransition(
    _State.SUCCEEDED,
    (
        _Do.CONSUME_CREDIT,
        _Do.COUNT_AUTHORIZATION,
        _Do.STORE_EFFECTS,
        _Do.RESET_FAILURES,
        *_ENDED,
    ),
)


def _rows() -> dict[tuple[RunState, RunTrigger], RunTransition]:
    rows = {
        (_State.CLAIMED, _On.BEGIN): RunTransition(_State.CHECKING),
        (_State.CHECKING, _On.CHECK_ACCEPTED): RunTransition(_State.BUILDING),
        (_State.CHECKING, _On.CHECK_DECLINED): RunTransition(_State.SKIPPED, _ENDED),
        (_State.CHECKING, _On.POLL_DECLINED): RunTransition(
            _State.DEFERRED, (_Do.SET_NEXT_ATTEMPT,)
        ),
        (_State.BUILDING, _On.SUBMIT): RunTransition(_State.SUBMITTED),
        (_State.SUBMITTED, _On.LOSE_TRACK): RunTransition(_State.RECONCILING),
        (_State.RECONCILING, _On.ABANDON): RunTransition(
            _State.ABANDONED, (_Do.STOP_PLAN, _Do.RAISE_ALARM)
        ),
        (_State.FAILED, _On.REPEAT): RunTransition(_State.SCHEDULED, (_Do.RESET_ATTEMPTS,)),
    }
    for state in WAITING_STATES:
        rows[state, _On.CLAIM] = RunTransition(_State.CLAIMED, (_Do.RAISE_EPOCH,))
    for state in (_State.CHECKING, _State.BUILDING):
        rows[state, _On.DEFER] = RunTransition(_State.DEFERRED, (_Do.SET_NEXT_ATTEMPT,))
    for state in LEASED_STATES:
        rows[state, _On.LOSE_LEASE] = RunTransition(_State.SCHEDULED)
    # what is proven not to have happened may be tried again, whether or not it was sent
    for state in (_State.CHECKING, _State.BUILDING, *UNRESOLVED_STATES):
        rows[state, _On.RETRY] = _LATER
        rows[state, _On.GIVE_UP] = rows[state, _On.REFUSE] = _FAILURE
        rows[state, _On.REFUSE_SESSION] = _SESSION_GONE
    for state in UNRESOLVED_STATES:
        rows[state, _On.SUCCEED] = _SUCCESS
    rows[_State.BUILDING, _On.FIND_USED] = _SUCCESS
    for state in WAITING_STATES | LEASED_STATES:
        rows[state, _On.WITHDRAW] = RunTransition(_State.SKIPPED, (_Do.RELEASE_CHANNEL,))
        rows[state, _On.MISS] = RunTransition(_State.MISSED, _ENDED)
    return rows


RUN_TRANSITIONS: Final = MappingProxyType(_rows())


def move_run(state: RunState, trigger: RunTrigger) -> RunTransition:
    """The next state and the effects of a trigger.

    After an attempt was sent, RETRY, GIVE_UP, REFUSE and REFUSE_SESSION need the proof that it is
    dead or has failed (`attempt.py`). ABANDONED keeps its channel: nothing is known of it.

    Raises:
        AutomationRefused: the state does not take the trigger.
    """
    found = RUN_TRANSITIONS.get((state, trigger))
    if found is None:
        why = f"A run that is {state} does not take {trigger}."
        raise AutomationRefused(ErrorCode.ILLEGAL_TRANSITION, why)
    return found
