"""The shortest time between two runs of a plan, and the interval that its session enforces."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import islice, pairwise
from typing import Final

from farebox.automation.limits import SHORTEST_INTERVAL_S
from farebox.automation.plan_window import PlanWindow
from farebox.automation.schedules.cron import least_wall_gap
from farebox.automation.schedules.due_times import due_times, last_due_time, zone_of
from farebox.automation.schedules.local_time import clock_changes
from farebox.automation.schedules.missed_runs import MissedRuns
from farebox.automation.schedules.schedule import CronSchedule, Schedule, cadence_of

_MOST_STEPS: Final = 2_000  # due times that are walked; about 40 ms
_JUST_BEFORE: Final = timedelta(microseconds=1)
_LONGEST_LATENESS: Final = timedelta(hours=1)
_MADE_UP_SHARE: Final = 4  # of the gap: so much faster may missed runs follow each other


def shortest_gap(schedule: Schedule, window: PlanWindow) -> timedelta | None:
    """The shortest elapsed time between two due times in the window; None for fewer than two.

    Of a cron schedule with very many due times it may be a lower bound instead.
    """
    if len(list(islice(due_times(schedule, window), 2))) < 2:
        return None
    if isinstance(schedule, CronSchedule):
        plain = _shortest_plain_gap(schedule, window)
        return min([plain, *_gaps_at_clock_changes(schedule, window)])
    every_s = cadence_of(schedule)
    return None if every_s is None else timedelta(seconds=every_s)


def default_lateness(gap: timedelta | None) -> timedelta:
    """The lateness of a plan whose owner names none: half the shortest gap, an hour at most."""
    if gap is None:
        return _LONGEST_LATENESS
    return timedelta(seconds=min(gap / 2, _LONGEST_LATENESS) // timedelta(seconds=1))


def session_interval_s(gap: timedelta | None, missed: MissedRuns, lateness: timedelta) -> int:
    """The seconds between two runs that the session enforces on the chain (3.3 of the design).

    A run may land late by `lateness` and the next one in time; a policy that makes up for missed
    runs lets them follow each other faster than they come due.
    """
    if gap is None:
        return SHORTEST_INTERVAL_S
    if missed is not MissedRuns.SKIP:
        return max(1, min(SHORTEST_INTERVAL_S, gap // timedelta(seconds=_MADE_UP_SHARE)))
    return max(SHORTEST_INTERVAL_S, (gap - lateness) // timedelta(seconds=1))


def _shortest_plain_gap(schedule: CronSchedule, window: PlanWindow) -> timedelta:
    """The shortest gap, except that a change of the clocks may make one shorter."""
    least = least_wall_gap(schedule.expr)
    shortest = window.not_after - window.not_before
    pairs = pairwise(due_times(schedule, window))
    for earlier, later in islice(pairs, _MOST_STEPS):
        shortest = min(shortest, later.at - earlier.at)
        if shortest <= least:
            return shortest
    return shortest if next(pairs, None) is None else least


def _gaps_at_clock_changes(schedule: CronSchedule, window: PlanWindow) -> Iterator[timedelta]:
    """The gap over each change of the clocks, and the one after it."""
    for change in clock_changes(window, zone_of(schedule)):
        before = last_due_time(schedule, window, until=change.at - _JUST_BEFORE)
        after = islice(due_times(schedule, window, after=change.at - _JUST_BEFORE), 2)
        around = [due.at for due in (before, *after) if due is not None]
        yield from (later - earlier for earlier, later in pairwise(around))
