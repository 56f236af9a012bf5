"""What a caller has used in a day, and which days may be asked for."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network

LONGEST_DAYS: Final = 92
USUAL_DAYS: Final = 30
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z", re.ASCII)

DayKey = tuple[date, Network]


class BadPeriod(Refusal):
    """What is asked for is no period of days."""

    def __init__(self) -> None:
        words = (
            "from and to are days (2026-11-21, UTC), each given once, in this order and at most "
            f"{LONGEST_DAYS} of them."
        )
        super().__init__("invalid_period", words)


@dataclass(frozen=True, slots=True)
class Answered:
    """Requests by how they were answered."""

    verify_accepted: int = 0
    verify_refused: int = 0
    settle_refused: int = 0  # nothing was sent


@dataclass(frozen=True, slots=True)
class Settled:
    """Settlements by what became of them; `fees` is what the network charged, stroops."""

    confirmed: int = 0
    failed: int = 0
    pending: int = 0
    fees: int = 0


@dataclass(frozen=True, slots=True)
class UsageDay:
    """One UTC day on one network."""

    used_on: date
    network: Network
    answered: Answered
    settled: Settled


@dataclass(frozen=True, slots=True)
class Period:
    """UTC days, both included."""

    first: date
    last: date

    @property
    def since(self) -> datetime:
        """When it begins."""
        return datetime.combine(self.first, time(), UTC)

    @property
    def before(self) -> datetime:
        """When it is over."""
        return datetime.combine(self.last, time(), UTC) + timedelta(days=1)


def read_period(first: str | None, last: str | None, *, today: date) -> Period:
    """The days asked for: up to today where no end is named, thirty where no beginning is.

    Raises:
        BadPeriod: they are not days, or too many.
    """
    try:
        end = today if last is None else _day(last)
        begin = end - timedelta(days=USUAL_DAYS - 1) if first is None else _day(first)
        days = (end - begin).days + 1
        end + timedelta(days=1)  # the period has an end
    except (ValueError, OverflowError):
        raise BadPeriod from None
    if not 1 <= days <= LONGEST_DAYS:
        raise BadPeriod
    return Period(begin, end)


def _day(text: str) -> date:
    if not _DATE.match(text):
        raise ValueError
    return date.fromisoformat(text)
