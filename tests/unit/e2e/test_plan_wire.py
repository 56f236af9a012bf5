"""What the cases of plans call a fault: a repeated hour without its runs is found."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from e2e.plan_wire import ZONES, PlanTargets, Repeat, find_repeat, plan_cases
from e2e.wire import WireCase
from farebox.automation.plan_body import upcoming_bodies
from farebox.automation.plan_window import PlanWindow
from farebox.automation.schedules import due_times
from farebox.automation.schedules.schedule import CronSchedule
from farebox.automation.schedules.upcoming import next_runs

NOW: Final = datetime(2026, 11, 29, tzinfo=UTC)
TARGETS: Final = PlanTargets("C" * 56, "C" * 56, "G" * 56)


@pytest.mark.parametrize(
    ("zone", "at", "minutes"),
    [
        ("Australia/Sydney", datetime(2027, 4, 3, 16, tzinfo=UTC), 60),
        ("America/Santiago", datetime(2027, 4, 4, 3, tzinfo=UTC), 60),
        ("Australia/Lord_Howe", datetime(2027, 4, 3, 15, tzinfo=UTC), 30),
    ],
)
def test_repeated_hour_is_found(zone: str, at: datetime, minutes: int) -> None:
    assert find_repeat(zone, NOW) == Repeat(zone, at, timedelta(minutes=minutes))


def test_repeated_hour_after_the_horizon_is_none() -> None:
    assert find_repeat("Europe/Berlin", NOW) is None
    assert find_repeat("UTC", NOW) is None


def test_most_days_have_a_zone_whose_clocks_go_back() -> None:
    days = [NOW + timedelta(days=day) for day in range(0, 365, 7)]
    without = [day for day in days if not any(find_repeat(zone, day) for zone in ZONES)]
    assert {day.month for day in without} <= {4, 5}


def clock_cases() -> Iterator[tuple[WireCase, dict[str, Any]]]:
    """The cases about clocks, with the answer that the service's own rules give."""
    for case in plan_cases(TARGETS, "key", NOW):
        body = json.loads(case.body)
        if body["schedule"]["type"] == "cron":
            schedule = CronSchedule(body["schedule"]["expr"], body["schedule"]["timezone"])
            begin, end = (datetime.fromisoformat(body[each]) for each in ("startsAt", "expiresAt"))
            runs = next_runs(schedule, PlanWindow(begin, end), body["runLimit"])
            shown = [{"at": each.at.isoformat()} for each in upcoming_bodies(runs, is_polled=False)]
            yield case, {"schedule": shown}


def faults() -> list[str]:
    return [case.judge(shown) for case, shown in clock_cases() if case.judge is not None]


def test_runs_of_a_repeated_hour_have_no_fault() -> None:
    assert faults() == [""] * 7  # three zones by two schedules, and one that is recorded


def test_control_a_wildcard_read_as_a_fixed_time_is_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(due_times, "has_wildcard", lambda expression: False)
    kept = [fault for fault in faults() if fault]
    assert len(kept) == 4
    assert all(fault.startswith("runs at") for fault in kept)


def test_control_a_fixed_time_read_as_a_wildcard_is_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(due_times, "has_wildcard", lambda expression: True)
    assert len([fault for fault in faults() if fault]) == 3
