"""A caller's usage of one day, and the period that may be asked for."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network

MAX_DAYS: Final = 92
DEFAULT_DAYS: Final = 30
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z", re.ASCII)

DayKey = tuple[date, Network]


class BadPeriod(Refusal):
    """The period is malformed, reversed or too long."""

    def __init__(self) -> None:
        message = (
            "from and to are days (2026-11-21, UTC), each given once, in this order and at most "
            f"{MAX_DAYS} of them."
        )
        super().__init__(ErrorCode.INVALID_PERIOD, message)


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Requests by result."""

    verify_accepted: int = 0
    verify_refused: int = 0
    settle_refused: int = 0  # nothing was sent


@dataclass(frozen=True, slots=True)
class SettlementCounts:
    """Settlements by status; `fees` are the network fees in stroops."""

    confirmed: int = 0
    failed: int = 0
    pending: int = 0
    fees: int = 0


@dataclass(frozen=True, slots=True)
class UsageDay:
    """One UTC day on one network."""

    used_on: date
    network: Network
    requests: RequestCounts
    settlements: SettlementCounts


@dataclass(frozen=True, slots=True)
class Period:
    """UTC days, both included."""

    first: date
    last: date


def read_period(first: str | None, last: str | None, *, today: date) -> Period:
    """Read a period: by default it ends today and has thirty days.

    Raises:
        BadPeriod: a day is malformed, or the period is reversed or too long.
    """
    try:
        end = today if last is None else _parse_day(last)
        begin = end - timedelta(days=DEFAULT_DAYS - 1) if first is None else _parse_day(first)
        days = (end - begin).days + 1
        end + timedelta(days=1)  # the period has an end
    except (ValueError, OverflowError):
        raise BadPeriod from None
    if not 1 <= days <= MAX_DAYS:
        raise BadPeriod
    return Period(begin, end)


def _parse_day(text: str) -> date:
    if not _DATE.match(text):
        raise ValueError
    return date.fromisoformat(text)
