"""The moments at which a schedule is due, forwards and backwards, inside a plan's window.

When the clocks change, a cron schedule with a wildcard in its minute or hour goes by the clock: it
keeps its interval in an hour that is repeated, and in one that is skipped nothing is due. A fixed
time runs once: in its first occurrence, or at the next valid moment (cron(8), Notes).
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final, assert_never
from zoneinfo import ZoneInfo

from farebox.automation.plan_window import PlanWindow
from farebox.automation.schedules.cron import (
    earlier_wall_times,
    has_wildcard,
    later_wall_times,
)
from farebox.automation.schedules.local_time import (
    ClockEffect,
    earliest_wall_time,
    find_zone,
    latest_wall_time,
    moment_of,
    occurrences_of,
)
from farebox.automation.schedules.schedule import (
    ConditionSchedule,
    CronSchedule,
    IntervalSchedule,
    OnceSchedule,
    Schedule,
)

_JUST_BEFORE: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class DueTime:
    """A moment (UTC) at which a run or a poll is due.

    `wall` is the local time that the cron expression names, where the schedule is one; with the
    effect SKIPPED it never happens.
    """

    at: datetime
    effect: ClockEffect = ClockEffect.NONE
    wall: datetime | None = None


def due_times(
    schedule: Schedule, window: PlanWindow, *, after: datetime | None = None
) -> Iterator[DueTime]:
    """The due times in the window, each once and rising; only those later than `after`.

    `schedule` has passed `check_schedule`. The iterator ends with the window.
    """
    beyond = max(after or window.not_before - _JUST_BEFORE, window.not_before - _JUST_BEFORE)
    match schedule:
        case OnceSchedule(at=at):
            found: Iterator[DueTime] = iter([DueTime(at)] if at > beyond else [])
        case IntervalSchedule(every_seconds=every_s, start_at=start):
            found = _steps(start, timedelta(seconds=every_s), beyond)
        case ConditionSchedule(every_seconds=every_s):
            found = _steps(window.not_before, timedelta(seconds=every_s), beyond)
        case CronSchedule():
            found = _cron_times(schedule, beyond)
        case _:
            assert_never(schedule)
    for due in found:
        if due.at > window.not_after:
            return
        yield due


def last_due_time(schedule: Schedule, window: PlanWindow, *, until: datetime) -> DueTime | None:
    """The latest due time in the window that is not later than `until`; None without one."""
    latest = min(until, window.not_after)
    match schedule:
        case OnceSchedule(at=at):
            found = DueTime(at) if at <= latest else None
        case IntervalSchedule(every_seconds=every_s, start_at=start):
            found = _last_step(start, timedelta(seconds=every_s), latest)
        case ConditionSchedule(every_seconds=every_s):
            found = _last_step(window.not_before, timedelta(seconds=every_s), latest)
        case CronSchedule():
            found = _last_cron_time(schedule, latest)
        case _:
            assert_never(schedule)
    return found if found is not None and found.at >= window.not_before else None


def zone_of(schedule: CronSchedule) -> ZoneInfo:
    """The time zone of a schedule that has passed `check_schedule`."""
    zone = find_zone(schedule.timezone)
    if zone is None:
        raise ValueError("a schedule whose time zone was not checked")
    return zone


def _steps(start: datetime, step: timedelta, beyond: datetime) -> Iterator[DueTime]:
    at = start if start > beyond else start + ((beyond - start) // step + 1) * step
    while True:
        yield DueTime(at)
        at += step


def _last_step(start: datetime, step: timedelta, until: datetime) -> DueTime | None:
    return DueTime(start + (until - start) // step * step) if until >= start else None


def _cron_times(schedule: CronSchedule, beyond: datetime) -> Iterator[DueTime]:
    last = beyond
    for due in _in_order(schedule, earliest_wall_time(beyond, zone_of(schedule))):
        if due.at > last:  # several skipped times are one run, and so is the one due at that moment
            last = due.at
            yield due


def _in_order(schedule: CronSchedule, after: datetime) -> Iterator[DueTime]:
    """The due times of the local times later than `after`, in the order of their moments."""
    zone, is_interval = zone_of(schedule), has_wildcard(schedule.expr)
    repeated = deque[DueTime]()  # second occurrences, which follow all the first ones
    for wall in later_wall_times(schedule.expr, after):
        found = _due_at(wall, zone, is_interval=is_interval)
        if found:
            while repeated and repeated[0].at < found[0].at:
                yield repeated.popleft()
            yield found[0]
            repeated.extend(found[1:])
    yield from repeated


def _due_at(wall: datetime, zone: ZoneInfo, *, is_interval: bool) -> list[DueTime]:
    """The due times that a matching local time stands for, rising."""
    if is_interval:
        return [DueTime(at, wall=wall) for at in occurrences_of(wall, zone)]
    at, effect = moment_of(wall, zone)
    return [DueTime(at, effect, wall)]


def _last_cron_time(schedule: CronSchedule, until: datetime) -> DueTime | None:
    zone, is_interval = zone_of(schedule), has_wildcard(schedule.expr)
    for wall in earlier_wall_times(schedule.expr, latest_wall_time(until, zone)):
        found = _due_at(wall, zone, is_interval=is_interval)
        if found and found[0].at <= until:
            since = found[0].at - _JUST_BEFORE  # second occurrences may follow
            due = takewhile(lambda each: each.at <= until, _cron_times(schedule, since))
            return deque(due, maxlen=1).pop()
    return None
