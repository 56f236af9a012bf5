"""Cron expressions of five fields: read, and walked over local times without a zone.

`cronsim` reads the fields and walks them. It only sees local times without a zone here:
`due_times.py` has the DST rule.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from cronsim import CronSim, CronSimError

_FIELDS: Final = 5
_TEXT: Final = re.compile(r"[0-9A-Za-z*/,#\- ]{9,128}\Z", re.ASCII)
_STEPPED: Final = re.compile(r"([0-9A-Z]+)-([0-9A-Z]+)/", re.ASCII)
_ANY_DAY: Final = datetime(2026, 1, 1)  # noqa: DTZ001 - a local time without a zone
_DAY_MINUTES: Final = 24 * 60


def is_cron(expression: str) -> bool:
    """Whether the text is a cron expression of five fields that some date can match.

    Names of days and months, `L`, `LW` and `#` are read as cronsim reads them; seconds, `@daily`
    and random fields are no part of it. A step over a range of one number is refused: cronsim
    reads `5-5/10` as `5/10`, and cron as `5`.
    """
    if not _TEXT.match(expression) or len(expression.split()) != _FIELDS:
        return False
    if any(_is_one_number(*ends) for ends in _STEPPED.findall(expression.upper())):
        return False
    try:
        CronSim(expression, _ANY_DAY)
    except (CronSimError, AssertionError):
        return False
    return True


def _is_one_number(first: str, last: str) -> bool:
    """Whether a range has one number, or mixes a name and a number."""
    if first.isdigit() and last.isdigit():
        return int(first) == int(last)
    return first == last or first.isdigit() or last.isdigit()


def has_wildcard(expression: str) -> bool:
    """Whether the minute or the hour begins with `*`: the schedule is an interval (cron(8))."""
    minute, hour, *_ = expression.split()
    return minute.startswith("*") or hour.startswith("*")


def later_wall_times(expression: str, after: datetime) -> Iterator[datetime]:
    """The local times that match and are later than `after`, rising; ends after 50 empty years."""
    return CronSim(expression, after)


def earlier_wall_times(expression: str, before: datetime) -> Iterator[datetime]:
    """The local times that match and are not later than `before`, falling."""
    return CronSim(expression, before + timedelta(seconds=1), reverse=True)


def least_wall_gap(expression: str) -> timedelta:
    """A lower bound of the local time between two matches: that between two times of a day."""
    read = CronSim(expression, _ANY_DAY)
    minutes = sorted(hour * 60 + minute for hour in read.hours for minute in read.minutes)
    around = [*minutes, minutes[0] + _DAY_MINUTES]
    return timedelta(minutes=min(later - earlier for earlier, later in pairwise(around)))
