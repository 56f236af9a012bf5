"""Whether the runs of a plan can land in their times: how late, and how fast after one another."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from farebox.automation.plans.plan import DisbursementPlan, Plan, transactions_per_run
from farebox.automation.proposing.wire import ProposeRequest
from farebox.automation.refusal import AutomationRefused, spec_mismatch
from farebox.automation.schedules.check_schedule import CheckedSchedule
from farebox.automation.schedules.gaps import default_lateness, session_interval_s, shortest_gap
from farebox.automation.schedules.missed_runs import (
    LEAST_TO_LAND,
    LatenessRule,
    MissedRuns,
    next_slots,
)
from farebox.automation.schedules.schedule import ConditionSchedule
from farebox.kernel.error_codes import ErrorCode

_CAUGHT_UP: Final = MissedRuns.CATCH_UP_ALL  # the default of payments that are owed
_LEG_TIME: Final = timedelta(seconds=10)  # two ledgers: of one transaction of a run, after another
_SECOND: Final = timedelta(seconds=1)


def time_of_run(legs: int) -> timedelta:
    """How long a run of so many transactions takes where nothing is in its way."""
    return max(LEAST_TO_LAND, _LEG_TIME * legs)


@dataclass(frozen=True, slots=True)
class RunTimes:
    """How late a plan's runs may land, and the seconds between two that its session enforces."""

    rule: LatenessRule
    interval_s: int


def time_runs(
    plan: Plan, request: ProposeRequest, timed: CheckedSchedule, *, now: datetime
) -> RunTimes:
    """The times of a plan's runs, each of which can land.

    Raises:
        AutomationRefused: `interval_too_short`, `schedule_never_fires` or `spec_mismatch`.
    """
    gap, legs = shortest_gap(timed.schedule, timed.window), transactions_per_run(plan)
    rule = choose_lateness(plan, request, gap)
    interval_s = session_interval_s(gap, rule.missed, rule.lateness)
    check_runs(timed, rule, gap, now=now, interval_s=interval_s, legs=legs)
    return RunTimes(rule, interval_s)


def choose_lateness(plan: Plan, request: ProposeRequest, gap: timedelta | None) -> LatenessRule:
    """The missed-run policy of a plan, and how late a run may land; `gap` is between two runs.

    Polls of a condition do not overlap: a run may land later than the next poll would be.

    Raises:
        AutomationRefused: no run could land in time, or a run could land after the next is due.
    """
    default = _CAUGHT_UP if isinstance(plan, DisbursementPlan) else MissedRuns.SKIP
    least, late_s = time_of_run(transactions_per_run(plan)), request.max_lateness_seconds
    is_apart = gap is not None and not isinstance(request.schedule, ConditionSchedule)
    if gap is not None and is_apart and gap <= least:
        why = f"A run takes about {least // _SECOND} seconds, and the next one is due before."
        raise AutomationRefused(ErrorCode.INTERVAL_TOO_SHORT, why, field="schedule")
    lateness = max(least, default_lateness(gap))
    if late_s is not None:
        lateness = timedelta(seconds=late_s)
        if lateness < least:
            why = f"A run takes about {least // _SECOND} seconds: it may be so late at least."
            raise spec_mismatch("maxLatenessSeconds", why)
        if gap is not None and is_apart and lateness >= gap:
            why = "It is shorter than the time between two runs."
            raise spec_mismatch("maxLatenessSeconds", why)
    return LatenessRule(request.missed_runs or default, lateness)


def check_runs(
    timed: CheckedSchedule,
    rule: LatenessRule,
    gap: timedelta | None,
    *,
    now: datetime,
    interval_s: int,
    legs: int,
) -> None:
    """Check that a run can land before the plan ends, and that missed ones can be made up.

    Raises:
        AutomationRefused: `schedule_never_fires` or `interval_too_short`.
    """
    least = time_of_run(legs)
    slots = next_slots(timed.schedule, timed.window, rule, after=None, now=now, count=1)
    if not slots or slots[0].deadline_at - slots[0].scheduled_for < least:
        why = f"The plan ends before a run of {least // _SECOND} seconds could land."
        raise AutomationRefused(ErrorCode.SCHEDULE_NEVER_FIRES, why, field="schedule")
    if rule.missed is not MissedRuns.CATCH_UP_ALL or gap is None:
        return
    follows = timedelta(seconds=interval_s) + _LEG_TIME * legs
    if follows >= gap and not isinstance(timed.schedule, ConditionSchedule):
        why = (
            f"Missed runs would follow each other after {follows // _SECOND} seconds, and are due"
            f" after {gap // _SECOND}: they could not be made up. Choose skip or catch_up_one."
        )
        raise AutomationRefused(ErrorCode.INTERVAL_TOO_SHORT, why, field="missedRuns")
