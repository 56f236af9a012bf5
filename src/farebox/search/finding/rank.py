"""In which order results stand: relevance, freshness, payers, time, id; the same everywhere."""

from bisect import bisect_left
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Final, TypeAlias

from farebox.search.version import payer_class


class Freshness(IntEnum):
    """How long ago the last settlement was, coarsely: within it, payers decide."""

    DAY = 0
    WEEK = 1
    MONTH = 2
    QUARTER = 3
    OLDER = 4


_FRESHNESS: Final = tuple(Freshness)

_AGES: Final = tuple(timedelta(days=days) for days in (1, 7, 30, 91))  # of all but the last
_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_MICROSECOND: Final = timedelta(microseconds=1)

# smaller stands first; every member a whole number, so that a cursor carries it exactly
Place: TypeAlias = tuple[int, int, int, int, int]


def place_of(
    relevance: int, *, updated_at: datetime, payers: int, listing_id: int, at: datetime
) -> Place:
    """Where a result stands in a walk that began `at`."""
    return (
        -relevance,
        int(freshness(updated_at, at=at)),
        -payer_class(payers),
        -((updated_at - _EPOCH) // _MICROSECOND),
        listing_id,
    )


def freshness(updated_at: datetime, *, at: datetime) -> Freshness:
    """The class of an age as of `at`."""
    return _FRESHNESS[bisect_left(_AGES, at - updated_at)]
