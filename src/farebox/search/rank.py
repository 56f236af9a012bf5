"""In which order results stand: relevance, freshness, payers, time, id; the same everywhere."""

from dataclasses import dataclass
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


_AGES: Final = (
    (timedelta(days=1), Freshness.DAY),
    (timedelta(days=7), Freshness.WEEK),
    (timedelta(days=30), Freshness.MONTH),
    (timedelta(days=91), Freshness.QUARTER),
)

# smaller stands first; every member a whole number, so that a cursor carries it exactly
Place: TypeAlias = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Standing:
    """What decides a result's place."""

    relevance: int
    freshness: Freshness
    payer_class: int
    updated_us: int  # microseconds since 1970
    listing_id: int

    @property
    def place(self) -> Place:
        """As it is sorted."""
        return (
            -self.relevance,
            int(self.freshness),
            -self.payer_class,
            -self.updated_us,
            self.listing_id,
        )


_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def standing(
    relevance: int, *, updated_at: datetime, payers: int, listing_id: int, at: datetime
) -> Standing:
    """A result's standing in a walk that began `at`."""
    return Standing(
        relevance,
        freshness(updated_at, at=at),
        payer_class(payers),
        (updated_at - _EPOCH) // timedelta(microseconds=1),
        listing_id,
    )


def freshness(updated_at: datetime, *, at: datetime) -> Freshness:
    """The class of an age as of `at`."""
    age = at - updated_at
    return next((name for most, name in _AGES if age <= most), Freshness.OLDER)
