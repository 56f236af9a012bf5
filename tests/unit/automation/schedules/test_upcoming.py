"""The next runs, with what the clocks do spelled out."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from farebox.automation.plan_window import PlanWindow
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


def test_hourly_schedule_runs_a_repeated_hour_once_and_a_skipped_one_with_the_next() -> None:
    hourly = CronSchedule("30 * * * *", "Europe/Berlin")
    before = datetime(2026, 10, 25, 0, tzinfo=UTC)
    gaps = [run.at - before for run in next_runs(hourly, AUTUMN, 3, after=before)]
    assert gaps == [timedelta(minutes=30), timedelta(minutes=150), timedelta(minutes=210)]
    before = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
    gaps = [run.at - before for run in next_runs(hourly, SPRING, 2, after=before)]
    assert gaps == [timedelta(minutes=30), timedelta(minutes=60)]


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
