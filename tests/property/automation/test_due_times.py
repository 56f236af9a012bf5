"""Due times against a slow oracle, over changes of the clocks, leap days and time zones."""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farebox.automation.plan_window import PlanWindow
from farebox.automation.schedules.cron import is_cron
from farebox.automation.schedules.due_times import due_times, last_due_time
from farebox.automation.schedules.gaps import shortest_gap
from farebox.automation.schedules.local_time import clock_changes
from farebox.automation.schedules.schedule import CronSchedule
from support.cron_oracle import oracle_times
from support.examples import examples

# clocks that change by an hour, by half an hour, at midnight, on a Friday, backwards in their
# spring, never; a day that did not exist; offsets of 30 and 45 minutes
ZONES: Final = (
    *("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Beirut"),
    *("Africa/Casablanca", "Asia/Gaza", "America/Santiago", "Australia/Sydney", "Europe/Dublin"),
    *("Pacific/Chatham", "Asia/Kathmandu", "Asia/Kolkata", "UTC"),
)
_EDGES: Final = (
    datetime(2026, 3, 29, tzinfo=UTC),
    datetime(2026, 10, 25, tzinfo=UTC),
    datetime(2026, 3, 8, tzinfo=UTC),
    datetime(2026, 11, 1, tzinfo=UTC),
    datetime(2026, 4, 5, tzinfo=UTC),
    datetime(2026, 10, 4, tzinfo=UTC),
    datetime(2027, 2, 28, tzinfo=UTC),
    datetime(2028, 2, 29, tzinfo=UTC),
    datetime(2100, 2, 28, tzinfo=UTC),
    datetime(2026, 12, 31, tzinfo=UTC),
)


def _field(least: int, most: int) -> st.SearchStrategy[str]:
    numbers = st.integers(least, most).map(str)
    spans = st.tuples(st.integers(least, most), st.integers(least, most)).map(
        lambda ends: f"{min(ends)}-{max(ends)}"
    )
    wide = spans.filter(lambda span: len(set(span.split("-"))) == 2)
    steps = st.tuples(st.one_of(st.just("*"), wide, numbers), st.integers(1, 30)).map(
        lambda both: f"{both[0]}/{both[1]}"
    )
    one = st.one_of(numbers, spans, steps, st.just("*"))
    return st.one_of(one, st.lists(numbers, min_size=1, max_size=4).map(",".join))


_fields: Final = st.tuples(
    _field(0, 59),
    st.one_of(_field(0, 23), st.sampled_from(["1", "2", "*", "0", "2,3", "*/2"])),
    st.one_of(st.just("*"), _field(1, 31), st.just("29")),
    st.one_of(st.just("*"), _field(1, 12)),
    st.one_of(st.just("*"), _field(0, 7), st.sampled_from(["MON", "SUN", "1-5"])),
)
expressions: Final = _fields.map(" ".join).filter(is_cron)  # no 30 February


@cache
def _changes(zone: ZoneInfo) -> tuple[datetime, ...]:
    """When the clocks of a zone change in two years."""
    years = PlanWindow(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 12, 31, tzinfo=UTC))
    return tuple(change.at for change in clock_changes(years, zone))


@st.composite
def windows(draw: st.DrawFn) -> tuple[ZoneInfo, PlanWindow]:
    """A zone, and a window of up to three days around an edge of the calendar or of its clocks."""
    zone = ZoneInfo(draw(st.sampled_from(ZONES)))
    edge = draw(st.sampled_from([*_changes(zone), *_EDGES]))
    start = edge - timedelta(minutes=draw(st.integers(0, 900)))
    return zone, PlanWindow(start, start + timedelta(minutes=draw(st.integers(0, 1_800))))


@settings(max_examples=examples(150))
@given(expression=expressions, place=windows(), share=st.floats(0, 1))
def test_due_times_are_those_of_the_oracle(
    expression: str, place: tuple[ZoneInfo, PlanWindow], share: float
) -> None:
    """All of a window, and those after and before a moment in it."""
    zone, window = place
    schedule = CronSchedule(expression, zone.key)
    moment = window.not_before + (window.not_after - window.not_before) * share
    wanted = list(oracle_times(expression, zone, window.not_before, window.not_after))
    assert [due.at for due in due_times(schedule, window)] == wanted
    gaps = [later - earlier for earlier, later in pairwise(wanted)]
    assert shortest_gap(schedule, window) == (min(gaps) if gaps else None)
    found = [due.at for due in due_times(schedule, window, after=moment)]
    assert found == [at for at in wanted if at > moment]
    last = last_due_time(schedule, window, until=moment)
    before = [at for at in wanted if at <= moment]
    assert (last.at if last else None) == (before[-1] if before else None)


@pytest.mark.parametrize("zone", ZONES)
def test_clock_changes_are_those_of_every_minute(zone: str) -> None:
    local = ZoneInfo(zone)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    window = PlanWindow(start, start + timedelta(days=400))
    found = {change.at: (change.before, change.after) for change in clock_changes(window, local)}
    at, before, wanted = start, start.astimezone(local).utcoffset(), {}
    while at < window.not_after:
        at += timedelta(minutes=15)
        offset = at.astimezone(local).utcoffset()
        if offset != before:
            wanted[at] = before, offset
        before = offset
    assert found == wanted
