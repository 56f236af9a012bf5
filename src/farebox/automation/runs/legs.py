"""A run of several legs: its state follows from theirs, and its credit is used once (3.6)."""

from collections.abc import Sequence
from typing import Final

from farebox.automation.plans.wire import OnLegError
from farebox.automation.runs.run_state import FINAL_RUN_STATES, RunState

_HAPPENED: Final = frozenset((RunState.SUCCEEDED, RunState.PARTIAL))


def next_leg(legs: Sequence[RunState], on_error: OnLegError) -> int | None:
    """The index of the leg that executes next; None when the run is over, or a leg executes.

    Legs execute one after another, in the order of the plan.
    """
    for number, state in enumerate(legs):
        if state not in FINAL_RUN_STATES:
            return number
        if state is RunState.ABANDONED or _stops(state, on_error):
            return None
    return None


def run_state_of(legs: Sequence[RunState], on_error: OnLegError) -> RunState:
    """The state of a run from the states of its legs, one at least.

    It is final when no leg executes any more. Some legs that succeeded make it `partial`, none
    leave it in the state of the first leg that did not.
    """
    if any(state is RunState.ABANDONED for state in legs):
        return RunState.ABANDONED
    open_leg = next_leg(legs, on_error)
    if open_leg is not None:
        return legs[open_leg]
    if all(state is RunState.SUCCEEDED for state in legs):
        return RunState.SUCCEEDED
    if any(state is RunState.SUCCEEDED for state in legs):
        return RunState.PARTIAL
    return next(state for state in legs if state is not RunState.SUCCEEDED)


def uses_credit(before: RunState, after: RunState) -> bool:
    """Whether a run's change of state uses its credit: the first time that anything happened.

    A leg that is repeated by its owner and succeeds makes `partial` into `succeeded`, for the same
    credit.
    """
    return after in _HAPPENED and before not in _HAPPENED


def _stops(state: RunState, on_error: OnLegError) -> bool:
    return state is not RunState.SUCCEEDED and on_error is OnLegError.STOP
