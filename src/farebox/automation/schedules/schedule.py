"""The four schedules of a plan, in the shape that callers send (3.3 of the design)."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from farebox.kernel.pages import Moment

MOST_SECONDS: Final = 2**31 - 1
MAX_EXPRESSION_CHARACTERS: Final = 128
MAX_ZONE_CHARACTERS: Final = 64

Seconds = Annotated[int, Meta(ge=0, le=MOST_SECONDS)]


class ScheduleShape(
    msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, tag_field="type"
):
    """How every schedule is read: by its `type`, and without further members."""


class OnceSchedule(ScheduleShape, frozen=True, tag="once"):
    """One run at a moment."""

    at: Moment


class IntervalSchedule(ScheduleShape, frozen=True, tag="interval"):
    """A run every so many seconds of elapsed time, from `start_at` on; clock changes shift none."""

    every_seconds: Seconds
    start_at: Moment


class CronSchedule(ScheduleShape, frozen=True, tag="cron"):
    """A run at each local time that matches the five fields of `expr`.

    With `*` or `*/n` for the minute or the hour it goes by the clock: in an hour that is repeated
    it keeps its interval. A fixed local time that the clocks skip runs at the next valid moment,
    together with whatever else is due then; one that they repeat runs at its first occurrence only.
    """

    expr: Annotated[str, Meta(max_length=MAX_EXPRESSION_CHARACTERS)]
    timezone: Annotated[str, Meta(max_length=MAX_ZONE_CHARACTERS)]  # IANA


class ConditionSchedule(ScheduleShape, frozen=True, tag="condition"):
    """A poll of the contract's `autolayer_check` every so many seconds; true makes a run."""

    every_seconds: Seconds


Schedule = OnceSchedule | IntervalSchedule | CronSchedule | ConditionSchedule


def cadence_of(schedule: Schedule) -> int | None:
    """The fixed seconds between two runs or polls; None for a single run and for local times."""
    if isinstance(schedule, IntervalSchedule | ConditionSchedule):
        return schedule.every_seconds
    return None
