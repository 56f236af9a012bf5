"""The rules that a schedule must satisfy before a plan may have it, and the plan's window."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from farebox.automation.limits import SHORTEST_INTERVAL_S, SHORTEST_POLL_S, AutomationLimits
from farebox.automation.plan_window import PlanWindow
from farebox.automation.refusal import AutomationRefused
from farebox.automation.schedules.cron import is_cron
from farebox.automation.schedules.due_times import due_times
from farebox.automation.schedules.local_time import find_zone
from farebox.automation.schedules.schedule import (
    ConditionSchedule,
    CronSchedule,
    IntervalSchedule,
    OnceSchedule,
    Schedule,
)
from farebox.kernel.error_codes import ErrorCode

_YEARS: Final = range(2000, 2200)  # the arithmetic of dates cannot overflow inside these


@dataclass(frozen=True, slots=True)
class CheckedSchedule:
    """A schedule that fires in its window; all its moments are in UTC."""

    schedule: Schedule
    window: PlanWindow


def check_schedule(
    schedule: Schedule,
    *,
    now: datetime,
    expires_at: datetime | None,
    limits: AutomationLimits,
    starts_at: datetime | None = None,
) -> CheckedSchedule:
    """Check a schedule, and the window that the caller wishes, against the rules and limits of 3.3.

    Without `starts_at`, or with one that has passed, the window begins now; without `expires_at` it
    ends with the horizon.

    Raises:
        AutomationRefused: the schedule is not readable, too frequent, or never due in the window,
            or the end is past the horizon.
    """
    end = _choose_end(expires_at, now, limits)
    window = PlanWindow(_choose_start(starts_at, now, end), end)
    checked = _check_kind(schedule)
    if next(due_times(checked, window), None) is None:
        begin, end = window.not_before, window.not_after
        why = f"It is never due between {begin:%Y-%m-%d %H:%M} and {end:%Y-%m-%d %H:%M}."
        raise AutomationRefused(ErrorCode.SCHEDULE_NEVER_FIRES, why, field="schedule")
    return CheckedSchedule(checked, window)


def _choose_end(expires_at: datetime | None, now: datetime, limits: AutomationLimits) -> datetime:
    last = now + limits.horizon
    if expires_at is None:
        return last
    end = _in_utc(expires_at, "expiresAt")
    if end <= now:
        why = "It is not later than now."
        raise AutomationRefused(ErrorCode.SCHEDULE_NEVER_FIRES, why, field="expiresAt")
    if end > last:
        why = f"A plan lives at most {limits.horizon.days} days."
        raise AutomationRefused(ErrorCode.LIMIT_EXCEEDED, why, field="expiresAt")
    return end


def _choose_start(starts_at: datetime | None, now: datetime, end: datetime) -> datetime:
    if starts_at is None:
        return now
    start = max(now, _in_utc(starts_at, "startsAt"))
    if start >= end:
        why = "The plan would start when it has ended."
        raise AutomationRefused(ErrorCode.SCHEDULE_NEVER_FIRES, why, field="startsAt")
    return start


def _check_kind(schedule: Schedule) -> Schedule:
    match schedule:
        case OnceSchedule(at=at):
            return msgspec.structs.replace(schedule, at=_in_utc(at, "schedule.at"))
        case IntervalSchedule(every_seconds=every_s, start_at=start):
            _check_frequency(every_s, SHORTEST_INTERVAL_S)
            start = _in_utc(start, "schedule.startAt")
            return msgspec.structs.replace(schedule, start_at=start)
        case ConditionSchedule(every_seconds=every_s):
            _check_frequency(every_s, SHORTEST_POLL_S)
            return schedule
        case CronSchedule():
            _check_cron(schedule)
            return schedule


def _check_frequency(every_s: int, shortest_s: int) -> None:
    if every_s < shortest_s:
        why = f"It is at least {shortest_s} seconds."
        raise AutomationRefused(ErrorCode.INTERVAL_TOO_SHORT, why, field="schedule.everySeconds")


def _check_cron(schedule: CronSchedule) -> None:
    if find_zone(schedule.timezone) is None:
        why = "It is the name of an IANA time zone, as Europe/Paris."
        raise AutomationRefused(ErrorCode.INVALID_SCHEDULE, why, field="schedule.timezone")
    if not is_cron(schedule.expr):
        why = "It is five fields: minute, hour, day of month, month, day of week."
        raise AutomationRefused(ErrorCode.INVALID_SCHEDULE, why, field="schedule.expr")


def _in_utc(moment: datetime, field: str) -> datetime:
    if moment.year not in _YEARS:
        why = f"Its year is from {_YEARS.start} to {_YEARS.stop - 1}."
        raise AutomationRefused(ErrorCode.INVALID_SCHEDULE, why, field=field)
    return moment.astimezone(UTC)
