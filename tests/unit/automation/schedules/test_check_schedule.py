"""Schedules that are refused, with code and field, and those that are not."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.automation.limits import LIMITS
from farebox.automation.refusal import AutomationRefused
from farebox.automation.schedules.check_schedule import CheckedSchedule, check_schedule
from farebox.automation.schedules.cron import is_cron
from farebox.automation.schedules.schedule import (
    ConditionSchedule,
    CronSchedule,
    IntervalSchedule,
    OnceSchedule,
    Schedule,
)
from farebox.kernel.error_codes import ErrorCode

NOW: Final = datetime(2026, 11, 25, 12, tzinfo=UTC)
DAY: Final = timedelta(days=1)
NEVER: Final = ErrorCode.SCHEDULE_NEVER_FIRES
UNREADABLE: Final = ErrorCode.INVALID_SCHEDULE
SHORT: Final = ErrorCode.INTERVAL_TOO_SHORT


def checked(schedule: Schedule, *, expires_at: datetime | None = None) -> CheckedSchedule:
    """The schedule of a plan that is proposed now."""
    return check_schedule(schedule, now=NOW, expires_at=expires_at, limits=LIMITS)


@pytest.mark.parametrize(
    ("schedule", "code", "field"),
    [
        (OnceSchedule(NOW - timedelta(seconds=1)), NEVER, "schedule"),
        (OnceSchedule(NOW + timedelta(days=171)), NEVER, "schedule"),
        (
            OnceSchedule(datetime(1, 1, 1, tzinfo=timezone(14 * timedelta(hours=1)))),
            UNREADABLE,
            "schedule.at",
        ),
        (OnceSchedule(datetime(9999, 12, 31, tzinfo=UTC)), UNREADABLE, "schedule.at"),
        (IntervalSchedule(59, NOW), SHORT, "schedule.everySeconds"),
        (IntervalSchedule(0, NOW), SHORT, "schedule.everySeconds"),
        (IntervalSchedule(60, NOW + timedelta(days=171)), NEVER, "schedule"),
        (IntervalSchedule(2**31 - 1, NOW - DAY), NEVER, "schedule"),
        (IntervalSchedule(60, datetime(1900, 1, 1, tzinfo=UTC)), UNREADABLE, "schedule.startAt"),
        (ConditionSchedule(29), SHORT, "schedule.everySeconds"),
        (CronSchedule("0 8 * * 1", "Europe/Nowhere"), UNREADABLE, "schedule.timezone"),
        (CronSchedule("0 8 * * 1", "localtime"), UNREADABLE, "schedule.timezone"),
        (CronSchedule("0 8 * * 1", "posix/Europe/Paris"), UNREADABLE, "schedule.timezone"),
        (CronSchedule("0 8 * * 1", "America"), UNREADABLE, "schedule.timezone"),
        (CronSchedule("0 8 * * 1", "../../etc/passwd"), UNREADABLE, "schedule.timezone"),
        (CronSchedule("* * * * * *", "UTC"), UNREADABLE, "schedule.expr"),
        (CronSchedule("0 8 * *", "UTC"), UNREADABLE, "schedule.expr"),
        (CronSchedule("@daily", "UTC"), UNREADABLE, "schedule.expr"),
        (CronSchedule("60 8 * * 1", "UTC"), UNREADABLE, "schedule.expr"),
        (CronSchedule("0 8 * * 1\n", "UTC"), UNREADABLE, "schedule.expr"),
        (CronSchedule("0 8 * * ١", "UTC"), UNREADABLE, "schedule.expr"),  # an Arabic 1
        (CronSchedule("5-5/10 * * * *", "UTC"), UNREADABLE, "schedule.expr"),
        (CronSchedule("0 8 31 2 *", "UTC"), UNREADABLE, "schedule.expr"),
        (CronSchedule("0 8 29 2 *", "UTC"), NEVER, "schedule"),  # no leap day in the horizon
        (CronSchedule("0 8 */31 * 1#5", "UTC"), NEVER, "schedule"),
        (CronSchedule("0 8 1 7 *", "UTC"), NEVER, "schedule"),
    ],
)
def test_schedule_is_refused_with_code_and_field(
    schedule: Schedule, code: ErrorCode, field: str
) -> None:
    with pytest.raises(AutomationRefused) as refused:
        checked(schedule)
    assert (refused.value.code, refused.value.field) == (code, field)
    assert code.status == 422
    assert refused.value.message.startswith(f"Look at {field}. ")


@pytest.mark.parametrize(
    ("expires_at", "code"),
    [
        (NOW, NEVER),
        (NOW + timedelta(days=170, seconds=1), ErrorCode.LIMIT_EXCEEDED),
        (datetime(9999, 1, 1, tzinfo=UTC), UNREADABLE),
    ],
)
def test_end_is_refused_when_it_is_past_or_beyond_the_horizon(
    expires_at: datetime, code: ErrorCode
) -> None:
    with pytest.raises(AutomationRefused) as refused:
        checked(CronSchedule("0 8 * * 1", "UTC"), expires_at=expires_at)
    assert (refused.value.code, refused.value.field) == (code, "expiresAt")


@pytest.mark.parametrize(
    "schedule",
    [
        OnceSchedule(NOW),
        IntervalSchedule(60, NOW),
        IntervalSchedule(86_400, NOW - timedelta(days=400)),
        ConditionSchedule(30),
        CronSchedule("0 8 * * 1", "Europe/Paris"),
        CronSchedule("30 2 L * *", "UTC"),
        CronSchedule("0 0 LW * *", "America/Argentina/Buenos_Aires"),
        CronSchedule("*/15 9-17 * JAN-MAR MON-FRI", "Asia/Kathmandu"),
        CronSchedule("0 8 * * 5#3", "UTC"),
    ],
)
def test_schedule_that_fires_is_taken_with_the_horizon_as_its_end(schedule: Schedule) -> None:
    assert checked(schedule).schedule == schedule
    assert checked(schedule).window.not_after == NOW + LIMITS.horizon
    assert checked(schedule).window.not_before == NOW


def test_checked_schedule_is_in_utc_whatever_the_offset_it_came_with() -> None:
    east = timezone(timedelta(hours=2))
    schedule = checked(OnceSchedule((NOW + DAY).astimezone(east))).schedule
    assert isinstance(schedule, OnceSchedule)
    assert schedule.at.tzinfo is UTC


def test_leap_day_is_due_when_the_year_has_one() -> None:
    now = datetime(2027, 11, 1, tzinfo=UTC)
    schedule = CronSchedule("0 8 29 2 *", "UTC")
    found = check_schedule(schedule, now=now, expires_at=None, limits=LIMITS)
    assert found.window.has(datetime(2028, 2, 29, 8, tzinfo=UTC))


@given(st.text("0123456789*/,-#LWMONSUJA ", min_size=9, max_size=40))
def test_every_text_is_a_cron_expression_or_not(text: str) -> None:
    assert is_cron(text) in (True, False)


@pytest.mark.parametrize(
    "body",
    [
        b'{"type":"interval","everySeconds":true,"startAt":"2026-11-25T12:00:00Z"}',
        b'{"type":"interval","everySeconds":60}',
        b'{"type":"once","at":"2026-11-25T12:00:00"}',
        b'{"type":"weekly"}',
        b'{"type":"condition","everySeconds":2147483648}',
        b'{"type":"cron","expr":"0 8 * * 1","timezone":"UTC","seconds":1}',
    ],
)
def test_schedule_of_another_shape_is_not_read(body: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=Schedule)
