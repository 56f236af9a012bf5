"""Whatever times a caller names, a plan that is accepted has a run that can land."""

from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from farebox.automation.limits import LIMITS
from farebox.automation.plans.plan import Plan, transactions_per_run
from farebox.automation.proposing.run_times import RunTimes, time_runs
from farebox.automation.proposing.wire import ProposeRequest
from farebox.automation.refusal import AutomationRefused
from farebox.automation.schedules.check_schedule import CheckedSchedule, check_schedule
from farebox.automation.schedules.due_times import due_times
from farebox.automation.schedules.missed_runs import MissedRuns, next_slots
from farebox.automation.schedules.schedule import ConditionSchedule
from support.examples import examples
from support.manual_clock import START
from support.payments import Json
from support.plans import DISBURSEMENT, OWNER, account, contract, plan_of

LEG_S: Final = 10  # of a transaction: two ledgers of mainnet
CALL: Final[Json] = {"contract": contract(1), "autolayer": True, "effects": {}}


def _legs(count: int) -> Json:
    legs = [{"to": account(100 + number), "amount": "5"} for number in range(count)]
    return DISBURSEMENT | {"legs": legs}


def timed(
    kind: str, spec: Json, schedule: Json, **members: Any
) -> tuple[Plan, CheckedSchedule, RunTimes]:
    """A plan's times by the rules of proposing.

    Raises:
        AutomationRefused: they are refused.
    """
    body = {
        "kind": kind,
        "network": "stellar:testnet",
        "title": "a plan",
        "schedule": schedule,
        "spec": spec,
        "runLimit": 3,
    } | {name: value for name, value in members.items() if value is not None}
    request = msgspec.convert(body, ProposeRequest)
    plan = plan_of(kind, spec, OWNER)
    checked = check_schedule(
        request.schedule,
        now=START,
        expires_at=request.expires_at,
        limits=LIMITS,
        starts_at=request.starts_at,
    )
    return plan, checked, time_runs(plan, request, checked, now=START)


def at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat()


moments = st.integers(-600, 20_000).map(at)
schedules = st.one_of(
    moments.map(lambda when: {"type": "once", "at": when}),
    st.builds(
        lambda every, start: {"type": "interval", "everySeconds": every, "startAt": start},
        st.integers(60, 7_200),
        moments,
    ),
    st.sampled_from(["* * * * *", "*/5 * * * *", "0 * * * *", "30 2 * * *"]).map(
        lambda expr: {"type": "cron", "expr": expr, "timezone": "Europe/Berlin"}
    ),
    st.integers(30, 600).map(lambda every: {"type": "condition", "everySeconds": every}),
)


@settings(max_examples=examples(400))
@given(
    legs=st.none() | st.integers(1, 12),
    schedule=schedules,
    starts_at=st.none() | moments,
    expires_at=st.none() | moments,
    missed=st.none() | st.sampled_from(MissedRuns),
    late_s=st.none() | st.integers(0, 7_200),
)
def test_accepted_plan_has_a_run_that_can_land_and_makes_up_what_it_owes(
    legs: int | None,
    schedule: Json,
    starts_at: str | None,
    expires_at: str | None,
    missed: MissedRuns | None,
    late_s: int | None,
) -> None:
    """Every kind of schedule, start and end, with every policy and lateness."""
    kind, spec = ("contract_call", CALL) if legs is None else ("disbursement", _legs(legs))
    members = {
        "startsAt": starts_at,
        "expiresAt": expires_at,
        "missedRuns": missed,
        "maxLatenessSeconds": late_s,
    }
    try:
        plan, checked, times = timed(kind, spec, schedule, **members)
    except AutomationRefused as refused:
        event(f"refused: {refused.code}")
        return
    event(f"accepted: {schedule['type']}")
    takes = timedelta(seconds=LEG_S * transactions_per_run(plan))
    slots = next_slots(
        checked.schedule, checked.window, times.rule, after=None, now=START, count=20
    )
    assert slots[0].scheduled_for + takes <= slots[0].deadline_at <= checked.window.not_after
    if times.rule.missed is MissedRuns.CATCH_UP_ALL:
        assert _catches_up(checked, takes + timedelta(seconds=times.interval_s))


def _catches_up(checked: CheckedSchedule, follows: timedelta) -> bool:
    """Whether runs that are owed after an outage end in a run that begins when it is due."""
    if isinstance(checked.schedule, ConditionSchedule):
        return True
    starts: datetime | None = None
    for number, due in enumerate(due_times(checked.schedule, checked.window)):
        if starts is None:
            starts = due.at + timedelta(minutes=3)  # the outage
        elif due.at >= starts + follows:
            return True
        else:
            starts += follows
        if number > 500:
            return False
    return True  # the plan ends before


EVERY_MINUTE: Final[Json] = {"type": "interval", "everySeconds": 60, "startAt": at(0)}


@pytest.mark.parametrize(
    ("spec", "schedule", "members", "code"),
    [
        (CALL, {"type": "once", "at": at(600)}, {"expiresAt": at(600)}, "schedule_never_fires"),
        (CALL, {"type": "once", "at": at(600)}, {"expiresAt": at(620)}, "schedule_never_fires"),
        (CALL, EVERY_MINUTE, {"maxLatenessSeconds": 0}, "spec_mismatch"),
        (CALL, EVERY_MINUTE, {"maxLatenessSeconds": 29}, "spec_mismatch"),
        (_legs(6), EVERY_MINUTE, {}, "interval_too_short"),
        (_legs(5), EVERY_MINUTE, {"missedRuns": "catch_up_all"}, "interval_too_short"),
    ],
)
def test_plan_whose_runs_could_not_land_is_refused(
    spec: Json, schedule: Json, members: Json, code: str
) -> None:
    kind = "disbursement" if "legs" in spec else "contract_call"
    with pytest.raises(AutomationRefused) as refused:
        timed(kind, spec, schedule, **members)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("spec", "schedule", "members"),
    [
        (CALL, {"type": "once", "at": at(600)}, {"expiresAt": at(630)}),
        (CALL, EVERY_MINUTE, {"maxLatenessSeconds": 30}),
        (_legs(4), EVERY_MINUTE, {"missedRuns": "catch_up_all"}),
        (_legs(5), EVERY_MINUTE, {"missedRuns": "skip"}),
        (CALL, {"type": "condition", "everySeconds": 30}, {}),
    ],
)
def test_plan_whose_runs_can_just_land_is_accepted(
    spec: Json, schedule: Json, members: Json
) -> None:
    """The control: the same with a second or a transaction to spare."""
    timed("disbursement" if "legs" in spec else "contract_call", spec, schedule, **members)
