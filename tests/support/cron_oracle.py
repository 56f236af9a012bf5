"""A slow oracle of cron schedules: every minute of a window is looked at on its own.

It shares no code with the package: it matches the fields itself, and finds the changes of the
clocks by comparing each minute with the one before.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


def field_matches(field: str, value: int, least: int, most: int) -> bool:
    """Whether a value is in a field of numbers, ranges, steps and lists."""
    return any(_term_matches(term, value, least, most) for term in field.split(","))


def _term_matches(term: str, value: int, least: int, most: int) -> bool:
    span, _, step = term.partition("/")
    if span == "*":
        first, last = least, most
    elif "-" in span:
        first, last = (int(end) for end in span.split("-"))
    else:
        first = int(span)
        last = most if step else first
    return first <= value <= last and (value - first) % int(step or 1) == 0


def matches(expression: str, wall: datetime) -> bool:
    """Whether a local time matches; either day field that begins with a star must match too."""
    minute, hour, day, month, weekday = expression.upper().split()
    for number, name in enumerate(_MONTHS, 1):
        month = month.replace(name, str(number))
    for number, name in enumerate(_DAYS):
        weekday = weekday.replace(name, str(number))
    on_day = field_matches(day, wall.day, 1, 31)
    number = wall.isoweekday()  # Sunday is 7, and 0 as well
    on_weekday = any(field_matches(weekday, each, 0, 7) for each in {number, number % 7})
    both = day.startswith("*") or weekday.startswith("*")
    return (
        field_matches(minute, wall.minute, 0, 59)
        and field_matches(hour, wall.hour, 0, 23)
        and field_matches(month, wall.month, 1, 12)
        and ((on_day and on_weekday) if both else (on_day or on_weekday))
    )


def _is_interval(expression: str) -> bool:
    """Whether cron(8) lets the schedule go by the clock: the minute or the hour is a wildcard."""
    return any(field[0] == "*" for field in expression.split()[:2])


def oracle_times(
    expression: str, zone: ZoneInfo, first: datetime, last: datetime
) -> Iterator[datetime]:
    """The moments in [first, last] at which the expression is due, by looking at every minute.

    `first` is a whole minute of a zone whose offsets are whole minutes.
    """
    at = first
    while at <= last:
        now, before = at.astimezone(zone), (at - MINUTE).astimezone(zone)
        walls = [now.replace(tzinfo=None)]
        if not _is_interval(expression):
            walls = [] if now.fold else walls
            skipped = before.replace(tzinfo=None) + MINUTE
            while skipped < now.replace(tzinfo=None):
                walls.append(skipped)
                skipped += MINUTE
        if any(matches(expression, wall.replace(fold=0)) for wall in walls):
            yield at.astimezone(UTC)
        at += MINUTE
