"""The next runs, with what the clocks do spelled out."""

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import pytest

from farebox.automation.plan_window import PlanWindow
from farebox.automation.schedules import due_times
from farebox.automation.schedules.schedule import CronSchedule, IntervalSchedule, OnceSchedule
from farebox.automation.schedules.upcoming import next_runs

SPRING: Final = PlanWindow(datetime(2026, 3, 27, tzinfo=UTC), datetime(2026, 4, 10, tzinfo=UTC))
AUTUMN: Final = PlanWindow(datetime(2026, 10, 24, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC))


def test_skipped_local_time_is_shown_at_the_next_valid_time_with_its_reason() -> None:
    runs = next_runs(CronSchedule("30 2 * * *", "Europe/Berlin"), SPRING, 4)
    assert [f"{run.local:%d. %H:%M}" for run in runs] == [
        "27. 02:30",
        "28. 02:30",
        "29. 03:00",
        "30. 02:30",
    ]
    assert [run.at for run in runs[2:]] == [
        datetime(2026, 3, 29, 1, tzinfo=UTC),
        datetime(2026, 3, 30, 0, 30, tzinfo=UTC),
    ]
    assert runs[0].notes == ()
    assert runs[2].notes == (
        (
            "02:30 on 2026-03-29 does not exist in Europe/Berlin, where the clocks go forward:"
            " the run is at the next valid time, 2026-03-29 03:00."
        ),
        (
            "The clocks of Europe/Berlin have changed since the run before:"
            " from UTC+01:00 to UTC+02:00."
        ),
    )
    assert runs[3].notes == ()


def test_repeated_local_time_is_shown_once_with_its_reason() -> None:
    runs = next_runs(CronSchedule("30 2 * * *", "Europe/Berlin"), AUTUMN, 3)
    assert [run.at.day for run in runs] == [24, 25, 26]
    assert runs[1].notes == (
        (
            "02:30 on 2026-10-25 happens twice in Europe/Berlin, where the clocks go back:"
            " the run is at the first of them, UTC+02:00, and not again."
        ),
    )
    assert runs[1].at == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


# the moment at which the clocks go back, and by how many minutes
BACK: Final = (
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC), 60),
    ("Australia/Sydney", datetime(2026, 4, 4, 16, tzinfo=UTC), 60),
    ("America/Santiago", datetime(2026, 4, 5, 3, tzinfo=UTC), 60),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC), 30),
)
FORTH: Final = (
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC), 60),
    ("Australia/Sydney", datetime(2026, 10, 3, 16, tzinfo=UTC), 60),
    ("America/Santiago", datetime(2026, 9, 6, 4, tzinfo=UTC), 60),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC), 30),
)


def elapsed(expression: str, zone: str, around: datetime) -> list[int]:
    """The minutes from the change of the clocks to each run within two hours of it."""
    span = timedelta(hours=2)
    window = PlanWindow(around - span, around + span)
    runs = next_runs(CronSchedule(expression, zone), window, 1_000)
    return [(run.at - around) // timedelta(minutes=1) for run in runs]


@pytest.mark.parametrize(("zone", "change", "shift"), [*BACK, *FORTH])
def test_wildcard_keeps_its_interval_when_the_clocks_change(
    zone: str, change: datetime, shift: int
) -> None:
    assert elapsed("*/10 * * * *", zone, change) == [*range(-120, 121, 10)]
    assert elapsed("*/10 0-23 * * *", zone, change) == [*range(-120, 121, 10)]
    assert elapsed("0,30 * * * *", zone, change) == [*range(-120, 121, 30)]
    if shift == 60:
        assert elapsed("15 * * * *", zone, change) == [-105, -45, 15, 75]


@pytest.mark.parametrize(("zone", "change", "shift"), BACK)
def test_fixed_time_runs_once_where_the_clocks_repeat_it(
    zone: str, change: datetime, shift: int
) -> None:
    wall = (change - timedelta(minutes=shift)).astimezone(ZoneInfo(zone))  # the first time
    assert elapsed(f"{wall.minute} {wall.hour} * * *", zone, change) == [-shift]
    assert elapsed(f"{wall.minute} {wall.hour}-{wall.hour} * * *", zone, change) == [-shift]


def test_control_a_wildcard_read_as_a_fixed_time_is_silent_for_an_hour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(due_times, "has_wildcard", lambda expression: False)
    assert elapsed("*/30 * * * *", *BACK[1][:2]) == [-120, -90, -60, -30, 60, 90, 120]


def test_run_of_a_repeated_hour_says_that_the_clocks_have_changed() -> None:
    change = BACK[1][1]
    hourly = CronSchedule("30 * * * *", "Australia/Sydney")
    window = PlanWindow(change - timedelta(hours=1), change + timedelta(hours=2))
    runs = next_runs(hourly, window, 3)
    assert [f"{run.local:%H:%M%z}" for run in runs] == ["02:30+1100", "02:30+1000", "03:30+1000"]
    assert [len(run.notes) for run in runs] == [0, 1, 0]


def test_interval_is_shown_in_the_zone_asked_for() -> None:
    daily = IntervalSchedule(86_400, datetime(2026, 3, 28, 6, tzinfo=UTC))
    runs = next_runs(daily, SPRING, 2, zone="America/New_York")
    assert [run.local.hour for run in runs] == [2, 2]
    berlin = next_runs(daily, SPRING, 2, zone="Europe/Berlin")
    assert [run.local.hour for run in berlin] == [7, 8]
    assert len(berlin[1].notes) == 1
    assert next_runs(daily, SPRING, 1)[0].zone == "UTC"


def test_runs_end_with_the_window() -> None:
    once = OnceSchedule(datetime(2026, 3, 28, tzinfo=UTC))
    assert len(next_runs(once, SPRING, 10)) == 1
    assert next_runs(once, AUTUMN, 10) == ()


def test_unknown_zone_of_the_reader_is_refused() -> None:
    with pytest.raises(ValueError, match="no such time zone"):
        next_runs(OnceSchedule(SPRING.not_before), SPRING, 1, zone="Mars/Olympus")
