"""Local times of a time zone as moments, and the zone's clock changes (`fold` as in PEP 495)."""

import re
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from farebox.automation.plan_window import PlanWindow

_SECOND: Final = timedelta(seconds=1)
_STEP: Final = timedelta(hours=6)  # no zone has changed its clocks twice in so short a time
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}\Z", re.ASCII)
_OF_THE_MACHINE: Final = frozenset({"localtime", "Factory", "posixrules"})


class ClockEffect(StrEnum):
    """What a change of the clocks does to a local time."""

    NONE = "none"
    SKIPPED = "skipped"
    REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A moment from which local time has another offset from UTC."""

    at: datetime
    before: timedelta
    after: timedelta


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """The names of all IANA zones; those that mean another zone on another machine are left out."""
    return frozenset(zoneinfo.available_timezones()) - _OF_THE_MACHINE


def find_zone(name: str) -> ZoneInfo | None:
    """The IANA time zone of this name; None when there is none."""
    if not _NAME.match(name) or name not in zone_names():
        return None
    return ZoneInfo(name)


def moment_of(wall: datetime, zone: ZoneInfo) -> tuple[datetime, ClockEffect]:
    """The moment (UTC) that stands for a local time; `wall` has no zone of its own.

    A local time that the clocks skip stands for the next valid moment, one that they repeat for its
    first occurrence (3.3 of the design).
    """
    first, second = (_offset(wall.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
    if first == second:
        return (wall - first).replace(tzinfo=UTC), ClockEffect.NONE
    if first > second:
        return (wall - first).replace(tzinfo=UTC), ClockEffect.REPEATED
    before, after = ((wall - offset).replace(tzinfo=UTC) for offset in (second, first))
    return _find_change(before, after, zone), ClockEffect.SKIPPED


def occurrences_of(wall: datetime, zone: ZoneInfo) -> tuple[datetime, ...]:
    """The moments (UTC) at which the clocks show a local time: none, one or two."""
    first, second = (_offset(wall.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
    if first < second:
        return ()
    offsets = (first,) if first == second else (first, second)
    return tuple((wall - offset).replace(tzinfo=UTC) for offset in offsets)


def wall_time(moment: datetime, zone: ZoneInfo) -> datetime:
    """The local time of a moment, without its zone."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def earliest_wall_time(moment: datetime, zone: ZoneInfo) -> datetime:
    """A local time that none shown after `moment` is earlier than, without its zone.

    It is earlier than the present one before the clocks repeat an hour.
    """
    repeated = _repeated_time(moment, zone)
    return wall_time(moment, zone) - (timedelta(0) if moment.astimezone(zone).fold else repeated)


def latest_wall_time(moment: datetime, zone: ZoneInfo) -> datetime:
    """A local time that none shown up to `moment` is later than, without its zone.

    It is later than the present one while the clocks repeat an hour.
    """
    repeated = _repeated_time(moment, zone)
    return wall_time(moment, zone) + (repeated if moment.astimezone(zone).fold else timedelta(0))


def _repeated_time(moment: datetime, zone: ZoneInfo) -> timedelta:
    """How much the clocks go back around a moment whose local time they show twice; else 0."""
    local = moment.astimezone(zone)
    repeated = _offset(local.replace(fold=0)) - _offset(local.replace(fold=1))
    return max(repeated, timedelta(0))


def offset_at(moment: datetime, zone: ZoneInfo) -> timedelta:
    """The zone's offset from UTC at a moment."""
    return _offset(moment.astimezone(zone))


def clock_changes(window: PlanWindow, zone: ZoneInfo) -> Iterator[ClockChange]:
    """The changes of the zone's clocks in a window, in their order."""
    at, before = window.not_before, offset_at(window.not_before, zone)
    while at < window.not_after:
        then = min(at + _STEP, window.not_after)
        after = offset_at(then, zone)
        if after != before:
            yield ClockChange(_find_change(at, then, zone), before, after)
        at, before = then, after


def _find_change(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The first second in (before, after] that has the offset of `after`."""
    wanted = offset_at(after, zone)
    while after - before > _SECOND:
        middle = before + timedelta(seconds=int((after - before).total_seconds()) // 2)
        if offset_at(middle, zone) == wanted:
            after = middle
        else:
            before = middle
    return after


def _offset(local: datetime) -> timedelta:
    offset = local.utcoffset()
    if offset is None:  # ZoneInfo always has one
        raise ValueError("a local time without an offset")
    return offset
