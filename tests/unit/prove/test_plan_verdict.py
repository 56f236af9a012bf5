"""The verdict on games: every rule that does not hold is found, and a sound plan has none."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
import pytest

from farebox.automation.paymaster.budget_store import AutomationBudgets
from farebox.kernel.amounts import Stroops
from prove.plan_chain import FEE
from prove.plan_rows import GameRows
from prove.plan_verdict import GameViolation, judge_books, judge_end
from support.table_rows import in_row

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
BEFORE, LATER, END = NOW - timedelta(hours=1), NOW + timedelta(hours=1), NOW + timedelta(days=1)
PRICE, HASH = 75, bytes(32)
Change = dict[str, Any]


def plan(**changes: Any) -> Change:
    """An active plan of two paid runs, of which one was made."""
    made = {
        "id": "auto",
        "status": "active",
        "is_cancelling": False,
        "runs_credited": 2,
        "runs_consumed": 1,
        "runs_succeeded": 1,
        "auths_used": 1,
        "credit_held": PRICE,
        "setup_held": 0,
        "overdue_at": END,
        "expires_at": END,
    }
    return made | changes


def leg(run: int = 0, number: int = 0, **changes: Any) -> Change:
    """A leg that has succeeded."""
    made = {
        "id": f"run_{run}_{number}",
        "proposal_id": "auto",
        "run_index": run,
        "leg_index": number,
        "owner": "owner",
        "state": "succeeded",
        "state_reason": None,
        "due_at": None,
        "deadline_at": LATER,
        "finished_at": BEFORE,
        "lease_epoch": 1,
        "error_class": None,
        "error_code": None,
        "is_charged": False,
    }
    return made | changes


def waiting(run: int = 1, number: int = 0, **changes: Any) -> Change:
    """A leg that is due."""
    made = {"state": "scheduled", "due_at": NOW, "finished_at": None, "lease_epoch": 0}
    return leg(run, number, **(made | changes))


def busy(state: str = "building", **changes: Any) -> Change:
    """The second run, in progress."""
    return waiting(state=state, lease_epoch=1, **changes)


def attempt(run: str = "run_0_0", **changes: Any) -> Change:
    """An envelope that has landed."""
    made = {
        "run_id": run,
        "tx_hash": HASH,
        "outcome": "success",
        "fee_limit": FEE,
        "fee_charged": 10,
        "budget_on": NOW.date(),
        "owner": "owner",
        "is_new_owner": False,
        "prepared_at": BEFORE,
    }
    return made | changes


def event(kind: str, **data: Any) -> Change:
    """An event of the plan."""
    return {"proposal_id": "auto", "kind": kind, "data": msgspec.json.encode(data).decode()}


def spend(scope: str, stroops: int, name: str = "owner") -> Change:
    """A counter of the budgets."""
    return {"day": NOW.date(), "scope": scope, "name": name, "stroops": stroops}


SPENT = (spend("total", 10, ""), spend("owner", 10))
CREDITS = ({"proposal_id": "auto", "kind": "consume", "amount": -2 * PRICE},)
SOUND = GameRows(
    now=NOW,
    plans=(plan(),),
    runs=(leg(), waiting()),
    attempts=(attempt(),),
    spend=SPENT,
    credits=CREDITS,
    payments=({"proposal_id": "auto", "per_run": PRICE},),
    landed=(HASH,),
)
LEASE = {"run_id": "run_1_0", "holder": "process", "until": LATER}
RETURNED = (*CREDITS, {"proposal_id": "auto", "kind": "return", "amount": PRICE})


def found(**changes: Any) -> set[GameViolation]:
    """What is found in a state that differs from a sound one."""
    return {each.violation for each in judge_books(replace(SOUND, **changes))}


def test_sound_plan_has_no_violation() -> None:
    assert judge_books(SOUND) == []


def test_sound_plan_whose_run_is_in_progress_has_no_violation() -> None:
    changes: Change = {
        "runs": (leg(), busy()),
        "leases": (LEASE,),
        "granted": {"process": {LATER}},
        "owners": ({"owner": "owner", "running": 1},),
        "channels": ({"run_id": "run_1_0"},),
    }
    assert found(**changes) == set()


def test_sound_plan_that_is_cancelled_has_no_violation() -> None:
    ended = plan(status="cancelled", runs_credited=1, credit_held=0, overdue_at=None)
    cancelled = event("plan.cancel", **{"from": "active", "to": "cancelled", "reason": "owner"})
    runs = (leg(), waiting(state="skipped", due_at=None))
    changes: Change = {"plans": (ended,), "runs": runs, "credits": RETURNED}
    assert found(**changes, events=(cancelled,)) == set()


@pytest.mark.parametrize(
    ("runs", "is_wrong"),
    [
        ((leg(), waiting()), True),
        ((leg(), waiting(due_at=LATER + timedelta(seconds=1))), True),
        ((leg(is_charged=True), waiting(0, 1, due_at=LATER + timedelta(seconds=1))), False),
        ((leg(is_charged=True), waiting(0, 1)), True),
        ((leg(), waiting(lease_epoch=1)), False),  # of a process that died: it is stopped
    ],
)
def test_leg_that_waits_while_its_plan_is_paused_is_found(
    runs: tuple[Change, ...], is_wrong: bool
) -> None:
    is_found = GameViolation.HELD in found(plans=(plan(status="paused"),), runs=runs)
    assert is_found == is_wrong


@pytest.mark.parametrize("counters", [(), (*SPENT, spend("owner", 5, "other"))])
def test_budget_that_differs_from_the_envelopes_is_found(counters: tuple[Change, ...]) -> None:
    assert found(spend=counters) == {GameViolation.BUDGET}


@pytest.mark.parametrize(("limit", "has_room"), [(FEE + 9, False), (FEE + 10, True)])
def test_run_that_waits_although_there_is_room_is_found(limit: int, has_room: bool) -> None:
    late = waiting(state="deferred", due_at=LATER, error_class="budget", error_code="budget_owner")
    budgets = AutomationBudgets(Stroops(limit), Stroops(limit))
    expected = {GameViolation.WAITS} if has_room else set()
    assert found(runs=(leg(), late), budgets=budgets) == expected


def moved(*moves: tuple[str, str, str]) -> tuple[Change, ...]:
    """Events of moves: their kind, the state after them, and why."""
    return tuple(
        event(f"plan.{kind}", **{"from": "active", "to": to, "reason": why})
        for kind, to, why in moves
    )


FOUND: Final[dict[GameViolation, list[Change]]] = {
    GameViolation.TWICE: [
        {"landed": ()},
        {"landed": (HASH, HASH)},
        {"runs": (leg(state="failed"), waiting())},
        {"attempts": (attempt(), attempt("run_1_0", tx_hash=b"1", outcome="sent"))},
    ],
    GameViolation.MONEY: [
        {"credits": RETURNED},
        {"plans": (plan(credit_held=0),)},
        {"plans": (plan(runs_credited=3),)},
        {"plans": (plan(runs_consumed=2),)},
    ],
    GameViolation.CONSUMED: [
        {"plans": (plan(runs_consumed=0),)},
        {"plans": (plan(runs_succeeded=0),)},
        {"plans": (plan(auths_used=2),)},
        {"runs": (leg(), waiting(0, 1))},  # a leg waits, and the run is charged already
        {"runs": (leg(state="abandoned"), waiting())},  # nothing of it has happened
    ],
    GameViolation.DUE: [
        {"runs": (leg(), waiting(due_at=None))},
        {"runs": (leg(), waiting(), waiting(2))},
        {"runs": (leg(), busy(), busy(id="other"))},
        {"plans": (plan(overdue_at=None),)},
        {"runs": (leg(), waiting(state="deferred", due_at=LATER + timedelta(seconds=1)))},
    ],
    GameViolation.KEPT: [
        {"runs": (leg(), busy())},
        {"leases": (LEASE,)},
        {"runs": (leg(), busy()), "leases": (LEASE,), "granted": {"process": {NOW}}},
        {"owners": ({"owner": "owner", "running": 1},)},
        {"channels": ({"run_id": "run_0_0"},)},
    ],
    GameViolation.CANCEL: [
        {"events": moved(("cancel", "active", "owner"), ("pause", "paused", "operator"))},
        {"events": moved(("cancel", "active", "owner"))},
        {"plans": (plan(is_cancelling=True),), "runs": (leg(),)},
    ],
}


@pytest.mark.parametrize("violation", FOUND)
def test_every_state_that_breaks_a_rule_of_the_books_is_found(violation: GameViolation) -> None:
    for changes in FOUND[violation]:
        with in_row(changes):
            assert violation in found(**changes)


@pytest.mark.parametrize(
    ("before", "paid_at", "is_wrong"),
    [
        ("active", None, True),
        ("paid", NOW - timedelta(days=6), True),
        ("paid", NOW - timedelta(days=8), False),
        ("proposed", NOW, True),
        ("proposed", None, False),
    ],
)
def test_plan_that_ends_before_its_time_is_found(
    before: str, paid_at: datetime | None, is_wrong: bool
) -> None:
    expired = event("plan.expire", **{"from": before, "to": "expired", "reason": "expired"})
    known = {} if paid_at is None else {"auto": paid_at}
    assert (GameViolation.EXPIRED in found(events=(expired,), paid_at=known)) == is_wrong


@pytest.mark.parametrize(
    ("reason", "at", "is_wrong"),
    [
        ("owner", BEFORE - timedelta(seconds=1), True),
        ("owner", BEFORE + timedelta(seconds=1), False),  # withdrawn by a cancellation later
        ("leg_before_failed", BEFORE - timedelta(seconds=1), False),
    ],
)
def test_leg_that_is_sent_after_others_were_withdrawn_is_found(
    reason: str, at: datetime, is_wrong: bool
) -> None:
    cut = leg(0, 1, state="skipped", state_reason=reason, finished_at=at)
    is_found = GameViolation.CUT in found(runs=(leg(), cut, waiting()))
    assert is_found == is_wrong


@pytest.mark.parametrize(
    ("events", "is_wrong"),
    [
        (moved(("pause", "paused", "owner"), ("resume", "active", "")), True),
        (moved(("pause", "paused", "owner")), False),
        (moved(("activate", "active", ""), ("cancel", "active", "owner")), False),
    ],
)
def test_run_that_is_skipped_after_the_resume_is_found(
    events: tuple[Change, ...], is_wrong: bool
) -> None:
    skipped = event("run.skipped", runIndex=1, legIndex=0, reason="plan_stopped")
    assert (GameViolation.SKIPPED in found(events=(*events, skipped))) == is_wrong


@pytest.mark.parametrize("is_paid", [True, False])
def test_run_that_is_skipped_for_want_of_a_paid_one_is_no_violation(is_paid: bool) -> None:
    """Runs that were repeated have used what was paid for it."""
    skipped = event("run.skipped", runIndex=1, legIndex=0, reason="plan_stopped")
    returned = (event("credit.returned"),) if is_paid else ()
    events = (*moved(("activate", "active", "")), skipped, *returned)
    ended = plan(status="completed", runs_credited=1, credit_held=0, overdue_at=None)
    runs = (leg(), leg(1, state="skipped", state_reason="plan_stopped"))
    is_found = GameViolation.SKIPPED in found(events=events, plans=(ended,), runs=runs)
    assert is_found == is_paid


def test_active_plan_with_a_run_whose_outcome_is_not_known_is_found() -> None:
    runs = (leg(), leg(1, state="abandoned"))
    kept = ({"run_id": "run_1_0"},)
    assert GameViolation.SEARCH in found(runs=runs, channels=kept)
    assert GameViolation.SEARCH not in found(runs=runs), "the operator has ended the search"


@pytest.mark.parametrize("is_released", [True, False])
def test_plan_that_is_resumed_while_the_operator_has_stopped_it_is_found(is_released: bool) -> None:
    released = (event("plan.released"),) if is_released else ()
    paused = moved(("pause", "paused", "operator"))
    events = (*paused, *released, *moved(("resume", "active", "")))
    assert (GameViolation.STOPPED in found(events=events)) != is_released


@pytest.mark.parametrize("state", ["completed", "cancelled", "failed", "expired"])
def test_plan_that_has_ended_and_holds_something_is_found(state: str) -> None:
    runs = (leg(),)
    assert GameViolation.UNENDED in found(plans=(plan(status=state),), runs=runs)
    empty = plan(status=state, runs_credited=1, credit_held=0)
    assert GameViolation.UNENDED in found(plans=(empty,)), "a leg waits"


@pytest.mark.parametrize(("state", "is_over"), [("completed", True), ("paused", False)])
def test_plan_that_does_not_end_is_found(state: str, is_over: bool) -> None:
    rows = replace(SOUND, plans=(plan(status=state),))
    assert bool(judge_end(rows)) != is_over
