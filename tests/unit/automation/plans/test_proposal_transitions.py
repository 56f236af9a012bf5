"""The state machine of proposals against a model written from the rows of 3.5 as text."""

from dataclasses import replace
from itertools import product
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.automation.plans.proposal_state import (
    TERMINAL_STATES,
    ProposalEffect,
    ProposalFacts,
    ProposalGuard,
    ProposalState,
    ProposalTrigger,
    shown_state,
)
from farebox.automation.plans.proposal_transitions import (
    PROPOSAL_GUARDS,
    ProposalTransition,
    may_move,
    move_proposal,
)
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.error_codes import ErrorCode
from support.promises import promise

# from | trigger | to | effects; `same` stays, `open` is paid, active and paused, `ended` the rest
MODEL: Final = """
- | create | proposed | issue_material
proposed | submit_payment | payment_pending | record_payment
payment_pending | refute_payment | proposed | revise_quote
proposed, payment_pending | confirm_payment | paid | credit_runs
proposed | waive_payment | paid | credit_runs
paid | activate | active | install_session, materialise_runs
active | pause | paused | stop_runs
paused | resume | active | reset_failures, materialise_runs
active, paused | complete | completed | stop_runs, return_runs, offer_revocation
proposed, payment_pending | cancel | cancelled | offer_revocation
open | cancel | cancelled | stop_runs, return_runs, close_session, offer_revocation
active, paused | expire | expired | stop_runs, return_runs
active, paused | fail | failed | stop_runs, return_runs, offer_revocation
proposed | expire_unpaid | expired | shred_key
paid | expire_inactive | expired | return_runs, offer_revocation
open | offer_top_up | same |
open | confirm_top_up | same | credit_runs
ended | confirm_top_up | same | credit_owner
open, ended | confirm_payment | same | credit_owner
ended | shred | same | shred_key
"""
GROUPS: Final = {
    "open": ("paid", "active", "paused"),
    "ended": ("completed", "cancelled", "failed", "expired"),
}
# every condition holds, and every time has passed
WILLING: Final = ProposalFacts(
    price_is_zero=True,
    runs_left=1,
    schedule_is_exhausted=True,
    is_overdue=True,
    authority_is_gone=True,
)


def read_model() -> dict[tuple[str, str], tuple[str, list[str]]]:
    """The rows of the model: (state, trigger) to (next state, effects)."""
    rows = {}
    for line in MODEL.strip().splitlines():
        states, trigger, to, effects = (part.strip() for part in line.split("|"))
        for name in states.split(", "):
            for state in GROUPS.get(name, (name,)):
                following = state if to == "same" else to
                rows[state, trigger] = (following, [e for e in effects.split(", ") if e])
    return rows


ROWS: Final = read_model()


def moved(
    state: ProposalState | None, trigger: ProposalTrigger
) -> tuple[str, list[str]] | ErrorCode:
    """Where a trigger leads, with its effects, or the code of its refusal."""
    try:
        found = move_proposal(state, trigger, WILLING)
    except AutomationRefused as refused:
        return refused.code
    return found.to.value, [each.value for each in found.effects]


@promise("automation:states")
def test_every_pair_of_state_and_trigger_is_as_in_the_model() -> None:
    pairs = list(product([None, *ProposalState], ProposalTrigger))
    wanted: dict[object, object] = {
        (state, trigger): ROWS.get(
            (state.value if state else "-", trigger.value), ErrorCode.ILLEGAL_TRANSITION
        )
        for state, trigger in pairs
    }
    in_flight = ErrorCode.PAYMENT_IN_FLIGHT
    wanted[ProposalState.PAYMENT_PENDING, ProposalTrigger.SUBMIT_PAYMENT] = in_flight
    found = {pair: moved(*pair) for pair in pairs}
    assert found == wanted
    assert {code.status for code in found.values() if isinstance(code, ErrorCode)} == {409}
    for pair, move in found.items():
        assert may_move(*pair, WILLING) == (not isinstance(move, ErrorCode)), pair


REFUSALS: Final = [
    ("submit_payment", "proposed", {"quote_is_current": False}, "quote_expired"),
    ("waive_payment", "proposed", {"price_is_zero": False}, "illegal_transition"),
    ("activate", "paid", {"runs_left": 0}, "illegal_transition"),
    ("activate", "paid", {"session_matches": False}, "session_mismatch"),
    ("activate", "paid", {"code_is_unchanged": False}, "session_mismatch"),
    ("activate", "paid", {"session_outlives_first_run": False}, "session_expires_too_soon"),
    ("activate", "paid", {"preflight_passes": False}, "preflight_failed"),
    ("pause", "active", {"is_cancelling": True}, "illegal_transition"),
    ("resume", "paused", {"is_cancelling": True}, "illegal_transition"),
    ("resume", "paused", {"caller_may_resume": False}, "illegal_transition"),
    ("resume", "paused", {"cause_is_gone": False}, "preflight_failed"),
    ("resume", "paused", {"session_matches": False}, "session_mismatch"),
    ("resume", "paused", {"session_outlives_first_run": False}, "session_expires_too_soon"),
    ("resume", "paused", {"runs_left": 0}, "illegal_transition"),
    ("complete", "active", {"has_unresolved_run": True}, "illegal_transition"),
    ("complete", "paused", {"schedule_is_exhausted": False}, "illegal_transition"),
    ("expire", "active", {"is_overdue": False}, "illegal_transition"),
    ("expire", "paused", {"has_unresolved_run": True}, "illegal_transition"),
    ("fail", "active", {"has_unresolved_run": True}, "illegal_transition"),
    ("expire_unpaid", "proposed", {"is_overdue": False}, "illegal_transition"),
    ("expire_inactive", "paid", {"is_overdue": False}, "illegal_transition"),
    ("offer_top_up", "active", {"top_up_fits_limits": False}, "limit_exceeded"),
    ("offer_top_up", "paused", {"has_unresolved_run": True}, "illegal_transition"),
    ("offer_top_up", "paid", {"is_cancelling": True}, "illegal_transition"),
    ("shred", "cancelled", {"authority_is_gone": False}, "illegal_transition"),
    ("shred", "failed", {"has_unresolved_run": True}, "illegal_transition"),
]


@pytest.mark.parametrize(("trigger", "state", "change", "code"), REFUSALS)
def test_condition_that_does_not_hold_refuses_the_trigger(
    trigger: str, state: str, change: dict[str, bool | int], code: str
) -> None:
    facts = replace(WILLING, **change)  # type: ignore[arg-type]  # one member at a time
    pair = ProposalState(state), ProposalTrigger(trigger)
    assert may_move(*pair, WILLING)
    assert not may_move(*pair, facts)
    with pytest.raises(AutomationRefused) as refused:
        move_proposal(*pair, facts)
    assert refused.value.code == code


def test_every_condition_of_every_trigger_has_a_case() -> None:
    guards = {(trigger.value, guard) for trigger, all_ in PROPOSAL_GUARDS.items() for guard in all_}
    cases = set()
    for trigger, _, change, _ in REFUSALS:
        facts = replace(WILLING, **change)  # type: ignore[arg-type]  # one member at a time
        cases |= {(trigger, guard) for guard in ProposalGuard if not facts.hold(guard)}
    assert guards <= cases


@pytest.mark.parametrize("state", ["paid", "active", "paused"])
def test_cancel_with_an_unresolved_run_marks_the_plan_and_stops_its_runs(state: str) -> None:
    facts = replace(WILLING, has_unresolved_run=True)
    found = move_proposal(ProposalState(state), ProposalTrigger.CANCEL, facts)
    assert found == ProposalTransition(
        ProposalState(state), (ProposalEffect.MARK_CANCELLING, ProposalEffect.STOP_RUNS)
    )
    again = replace(WILLING, is_cancelling=True)
    assert (
        move_proposal(ProposalState(state), ProposalTrigger.CANCEL, again).to.value == "cancelled"
    )


facts_of_any_kind: Final = st.builds(
    ProposalFacts,
    **{name: st.booleans() for name in ProposalFacts.__slots__ if name != "runs_left"},
    runs_left=st.integers(0, 2),
)


@given(
    triggers=st.lists(st.tuples(st.sampled_from(ProposalTrigger), facts_of_any_kind), max_size=30)
)
def test_walks_keep_what_is_promised_of_every_plan(
    triggers: list[tuple[ProposalTrigger, ProposalFacts]],
) -> None:
    """No terminal state is left, and no plan is active that was not paid."""
    state: ProposalState | None = None
    was_paid = False
    for trigger, facts in triggers:
        assert may_move(state, trigger, facts) == _is_taken(state, trigger, facts)
        if not may_move(state, trigger, facts):
            continue
        before, found = state, move_proposal(state, trigger, facts)
        state = found.to
        was_paid |= ProposalEffect.CREDIT_RUNS in found.effects
        assert before not in TERMINAL_STATES or state is before
        assert state is not ProposalState.ACTIVE or was_paid
        if trigger is ProposalTrigger.ACTIVATE:
            assert facts.runs_left
            assert facts.session_matches


def _is_taken(state: ProposalState | None, trigger: ProposalTrigger, facts: ProposalFacts) -> bool:
    try:
        move_proposal(state, trigger, facts)
    except AutomationRefused:
        return False
    return True


def test_active_plan_with_an_unresolved_run_is_shown_as_executing() -> None:
    for state, unresolved in product(ProposalState, (False, True)):
        is_executing = state is ProposalState.ACTIVE and unresolved
        wanted = "executing" if is_executing else state.value
        assert shown_state(state, has_unresolved_run=unresolved) == wanted
