"""The period of days in a request for usage."""

from datetime import date

import pytest

from farebox.ingress.usage_day import MAX_DAYS, BadPeriod, Period, read_period

TODAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("first", "last", "period"),
    [
        (None, None, Period(date(2026, 10, 23), TODAY)),
        ("2026-11-21", None, Period(TODAY, TODAY)),
        (None, "2026-01-30", Period(date(2026, 1, 1), date(2026, 1, 30))),
        ("2026-02-28", "2026-03-01", Period(date(2026, 2, 28), date(2026, 3, 1))),
        ("2026-08-22", "2026-11-21", Period(date(2026, 8, 22), TODAY)),
        ("2030-01-01", "2030-01-01", Period(date(2030, 1, 1), date(2030, 1, 1))),
    ],
)
def test_period_is_read_from_its_first_and_last_day(
    first: str | None, last: str | None, period: Period
) -> None:
    read = read_period(first, last, today=TODAY)
    assert read == period
    assert (read.last - read.first).days < MAX_DAYS


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("2026-11-22", None),
        ("2026-08-21", "2026-11-21"),
        ("0001-01-01", None),
        (None, "0001-01-01"),
        ("9999-12-31", "9999-12-31"),
        ("2026-02-29", None),
        ("2026-1-1", None),
        ("", None),
        ("today", None),
        ("2026-11-21T00:00", None),
        ("٢٠٢٦-11-21", None),
    ],
)
def test_invalid_or_long_period_is_refused(first: str | None, last: str | None) -> None:
    with pytest.raises(BadPeriod):
        read_period(first, last, today=TODAY)
