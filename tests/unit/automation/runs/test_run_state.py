"""The state machine of runs against a model written from the rows of 3.6 as text."""

from itertools import product
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.automation.plans.wire import OnLegError
from farebox.automation.refusal import AutomationRefused
from farebox.automation.runs.legs import next_leg, run_state_of, uses_credit
from farebox.automation.runs.run_state import (
    FINAL_RUN_STATES,
    RUN_TRANSITIONS,
    UNRESOLVED_STATES,
    RunEffect,
    RunState,
    RunTrigger,
    move_run,
)
from farebox.kernel.error_codes import ErrorCode
from support.promises import promise

END: Final = "next_slot, release_channel"
# states | trigger | to | effects
MODEL: Final = f"""
scheduled deferred retry_wait | claim | claimed | raise_epoch
claimed | begin | checking |
checking | check_accepted | building |
checking | check_declined | skipped | {END}
checking | poll_declined | deferred | set_next_attempt
checking building | defer | deferred | set_next_attempt
checking building submitted reconciling | retry | retry_wait | set_next_attempt
checking building submitted reconciling | give_up | failed | count_failure, {END}
checking building submitted reconciling | refuse | failed | count_failure, {END}
checking building submitted reconciling | refuse_session | failed | stop_plan, release_channel
building | submit | submitted |
submitted | lose_track | reconciling |
submitted reconciling | succeed | succeeded | consume_credit, count_authorization, store_effects, \
reset_failures, {END}
building | find_used | succeeded | consume_credit, count_authorization, store_effects, \
reset_failures, {END}
scheduled deferred retry_wait claimed checking building | withdraw | skipped | release_channel
scheduled deferred retry_wait claimed checking building | miss | missed | {END}
claimed checking building | lose_lease | scheduled |
reconciling | abandon | abandoned | stop_plan, raise_alarm
failed | repeat | scheduled | reset_attempts
"""


def read_model() -> dict[tuple[str, str], tuple[str, list[str]]]:
    """The rows of the model: (state, trigger) to (next state, effects)."""
    rows = {}
    for line in MODEL.strip().splitlines():
        states, trigger, to, effects = (part.strip() for part in line.split("|"))
        for state in states.split():
            rows[state, trigger] = (to, [each for each in effects.split(", ") if each])
    return rows


ROWS: Final = read_model()


def moved(state: RunState, trigger: RunTrigger) -> tuple[str, list[str]] | ErrorCode:
    """Where a trigger leads, with its effects, or the code of its refusal."""
    try:
        found = move_run(state, trigger)
    except AutomationRefused as refused:
        return refused.code
    return found.to.value, [each.value for each in found.effects]


@promise("automation:states")
def test_every_pair_of_state_and_trigger_is_as_in_the_model() -> None:
    pairs = list(product(RunState, RunTrigger))
    refused = ErrorCode.ILLEGAL_TRANSITION
    wanted = {pair: ROWS.get((pair[0].value, pair[1].value), refused) for pair in pairs}
    assert {pair: moved(*pair) for pair in pairs} == wanted


@given(st.lists(st.sampled_from(RunTrigger), max_size=40))
def test_walks_use_a_credit_at_most_once_and_only_after_a_submission(
    triggers: list[RunTrigger],
) -> None:
    state, used, was_submitted = RunState.SCHEDULED, 0, False
    for trigger in triggers:
        if (state, trigger) not in RUN_TRANSITIONS:
            continue
        before, found = state, move_run(state, trigger)
        state = found.to
        was_submitted |= state is RunState.SUBMITTED
        used += RunEffect.CONSUME_CREDIT in found.effects
        assert used == (state is RunState.SUCCEEDED)
        was_used = trigger is RunTrigger.FIND_USED
        assert state is not RunState.SUCCEEDED or was_submitted or was_used
        assert before not in FINAL_RUN_STATES or trigger is RunTrigger.REPEAT
        if before in UNRESOLVED_STATES:
            assert state is not RunState.SCHEDULED  # nothing starts over from the unknown
            assert state is not RunState.MISSED


def test_unknown_outcome_is_never_retried_by_the_service() -> None:
    assert not [trigger for state, trigger in RUN_TRANSITIONS if state is RunState.ABANDONED]


DONE, BAD, OPEN = RunState.SUCCEEDED, RunState.FAILED, RunState.SCHEDULED
STOP, GO = OnLegError.STOP, OnLegError.CONTINUE


@pytest.mark.parametrize(
    ("legs", "on_error", "state", "following"),
    [
        ([OPEN], STOP, OPEN, 0),
        ([DONE], STOP, DONE, None),
        ([BAD], GO, BAD, None),
        ([DONE, OPEN, OPEN], STOP, OPEN, 1),
        ([BAD, OPEN], STOP, BAD, None),
        ([BAD, OPEN], GO, OPEN, 1),
        ([DONE, BAD, OPEN], STOP, RunState.PARTIAL, None),
        ([DONE, BAD, DONE], GO, RunState.PARTIAL, None),
        ([BAD, BAD], GO, BAD, None),
        ([RunState.MISSED, BAD], GO, RunState.MISSED, None),
        ([DONE, RunState.ABANDONED, OPEN], GO, RunState.ABANDONED, None),
        ([DONE, RunState.SUBMITTED, OPEN], GO, RunState.SUBMITTED, 1),
        ([DONE, DONE], GO, DONE, None),
    ],
)
def test_state_of_a_run_follows_from_its_legs(
    legs: list[RunState], on_error: OnLegError, state: RunState, following: int | None
) -> None:
    assert run_state_of(legs, on_error) is state
    assert next_leg(legs, on_error) == following


@given(st.lists(st.sampled_from(RunState), min_size=1, max_size=5), st.sampled_from(OnLegError))
def test_run_is_over_exactly_when_no_leg_executes(
    legs: list[RunState], on_error: OnLegError
) -> None:
    legs = [leg for leg in legs if leg is not RunState.PARTIAL] or [OPEN]
    is_over = run_state_of(legs, on_error) in FINAL_RUN_STATES
    assert is_over == (next_leg(legs, on_error) is None or RunState.ABANDONED in legs)


def test_credit_is_used_once_by_a_run_whose_leg_is_repeated() -> None:
    assert uses_credit(RunState.SUBMITTED, RunState.SUCCEEDED)
    assert uses_credit(RunState.SUBMITTED, RunState.PARTIAL)
    assert not uses_credit(RunState.PARTIAL, RunState.SUCCEEDED)
    assert not uses_credit(RunState.SUBMITTED, RunState.FAILED)
