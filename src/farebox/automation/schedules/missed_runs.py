"""The missed-run policies: which due times become runs, and until when each run may land.

A run is missed once its deadline has passed and no attempt of it is unresolved.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import chain, islice, pairwise
from typing import Final

from farebox.automation.plan_window import PlanWindow
from farebox.automation.schedules.due_times import due_times, last_due_time
from farebox.automation.schedules.schedule import ConditionSchedule, Schedule

LEAST_TO_LAND: Final = timedelta(seconds=30)  # of a run: it is built, sent and in a ledger by then
_JUST_BEFORE: Final = timedelta(microseconds=1)


class MissedRuns(StrEnum):
    """What a plan does about due times that it missed."""

    SKIP = "skip"  # nothing: the next run is the next due time in time
    CATCH_UP_ONE = "catch_up_one"  # one run for all of them: that of the latest due time
    CATCH_UP_ALL = "catch_up_all"  # a run for each of them, one after the other


@dataclass(frozen=True, slots=True)
class LatenessRule:
    """A plan's missed-run policy; under SKIP a run may land as late as `lateness`."""

    missed: MissedRuns
    lateness: timedelta


@dataclass(frozen=True, slots=True)
class RunSlot:
    """A run that the schedule asks for: due at `scheduled_for`, it may land until `deadline_at`."""

    scheduled_for: datetime
    deadline_at: datetime


def next_slots(
    schedule: Schedule,
    window: PlanWindow,
    rule: LatenessRule,
    *,
    after: datetime | None,
    now: datetime,
    count: int,
) -> tuple[RunSlot, ...]:
    """The next `count` due times that become runs, in their order; fewer where the window ends.

    `after` is the due time of the plan's newest run, None while it has none. Due times between it
    and the first slot returned are skipped by the policy: they become no rows, however many they
    are. The deadline is `lateness` after the due time under SKIP, the next due time under
    CATCH_UP_ONE (a later run supersedes an earlier one), and the end of the window under
    CATCH_UP_ALL. A condition is polled under SKIP, whatever the policy. A due time that the end of
    the window leaves too little time is none: nothing of it could land.
    """
    policy = MissedRuns.SKIP if isinstance(schedule, ConditionSchedule) else rule.missed
    effective = LatenessRule(policy, rule.lateness)
    begin = _begin(schedule, window, effective, now)
    if begin is not None:
        after = begin if after is None else max(after, begin)
    room = min(LEAST_TO_LAND, effective.lateness)
    found = (
        slot
        for slot in _slots(schedule, window, effective, after)
        if slot.deadline_at >= now and slot.deadline_at - slot.scheduled_for >= room
    )
    return tuple(islice(found, count))


def earliest_start(
    slot: RunSlot, *, last_landed_at: datetime | None, session_interval_s: int
) -> datetime:
    """The moment from which the slot's run may start, so that the session's interval allows it.

    A run that landed late is followed closely by the next due time.
    """
    if last_landed_at is None:
        return slot.scheduled_for
    return max(slot.scheduled_for, last_landed_at + timedelta(seconds=session_interval_s))


def _begin(
    schedule: Schedule, window: PlanWindow, rule: LatenessRule, now: datetime
) -> datetime | None:
    """A moment before which every deadline has passed; None where no due time can be skipped."""
    if rule.missed is MissedRuns.CATCH_UP_ALL:
        return None
    begin = now - rule.lateness
    if rule.missed is MissedRuns.CATCH_UP_ONE:
        latest = last_due_time(schedule, window, until=now)
        begin = begin if latest is None else min(begin, latest.at)
    return begin - _JUST_BEFORE


def _slots(
    schedule: Schedule, window: PlanWindow, rule: LatenessRule, after: datetime | None
) -> Iterator[RunSlot]:
    end = window.not_after
    moments = chain((due.at for due in due_times(schedule, window, after=after)), [end])
    for at, following in pairwise(moments):
        if rule.missed is MissedRuns.CATCH_UP_ALL:
            yield RunSlot(at, end)
        elif rule.missed is MissedRuns.CATCH_UP_ONE:
            yield RunSlot(at, min(max(at + rule.lateness, following), end))
        else:
            yield RunSlot(at, min(at + rule.lateness, end))
