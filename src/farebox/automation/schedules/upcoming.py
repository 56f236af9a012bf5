"""The next runs of a plan for people: local time, UTC, and what the clocks do."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo

from farebox.automation.plan_window import PlanWindow
from farebox.automation.schedules.due_times import DueTime, due_times
from farebox.automation.schedules.local_time import ClockEffect, find_zone, offset_at
from farebox.automation.schedules.schedule import CronSchedule, Schedule

_UTC: Final = "UTC"


@dataclass(frozen=True, slots=True)
class UpcomingRun:
    """A run that is due at `at` (UTC); `local` is the same moment in the zone, with its offset.

    `notes` are sentences about changes of the clocks; most runs have none.
    """

    at: datetime
    local: datetime
    zone: str
    notes: tuple[str, ...] = ()


def next_runs(
    schedule: Schedule,
    window: PlanWindow,
    count: int,
    *,
    after: datetime | None = None,
    zone: str = _UTC,
) -> tuple[UpcomingRun, ...]:
    """The next `count` due times; fewer where the window ends before.

    A cron schedule is shown in its own zone, every other one in `zone`.

    Raises:
        ValueError: there is no such zone.
    """
    name = schedule.timezone if isinstance(schedule, CronSchedule) else zone
    found = find_zone(name)
    if found is None:
        raise ValueError("no such time zone")
    due = islice(due_times(schedule, window, after=after), count)
    return tuple(_describe_runs(due, found, name))


def _describe_runs(due: Iterator[DueTime], zone: ZoneInfo, name: str) -> Iterator[UpcomingRun]:
    offset: timedelta | None = None
    for each in due:
        local, before = each.at.astimezone(zone), offset
        offset = offset_at(each.at, zone)
        notes = list(_effect_notes(each, local, name))
        if before is not None and before != offset:
            notes.append(
                f"The clocks of {name} have changed since the run before:"
                f" from {_show_offset(before)} to {_show_offset(offset)}."
            )
        yield UpcomingRun(each.at.astimezone(UTC), local, name, tuple(notes))


def _effect_notes(due: DueTime, local: datetime, name: str) -> Iterator[str]:
    if due.wall is None or due.effect is ClockEffect.NONE:
        return
    wall = f"{due.wall:%H:%M} on {due.wall:%Y-%m-%d}"
    if due.effect is ClockEffect.SKIPPED:
        yield (
            f"{wall} does not exist in {name}, where the clocks go forward:"
            f" the run is at the next valid time, {local:%Y-%m-%d %H:%M}."
        )
    else:
        yield (
            f"{wall} happens twice in {name}, where the clocks go back:"
            f" the run is at the first of them, {_show_offset(local.utcoffset())}, and not again."
        )


def _show_offset(offset: timedelta | None) -> str:
    minutes = int((offset or timedelta(0)).total_seconds()) // 60
    sign = "-" if minutes < 0 else "+"
    return f"UTC{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
