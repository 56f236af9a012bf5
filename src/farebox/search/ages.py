"""Moments as lexemes, so that an index finds the freshest matches without reading the others.

A version's vectors hold, beside its words, the span of time its `updated_at` lies in, once for each
of six lengths. A query that also asks for any of a few spans is answered by intersecting lists.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self

_SHORTEST_S: Final = 225
_FACTOR: Final = 8
_LENGTHS: Final = tuple(_SHORTEST_S * _FACTOR**level for level in range(6))  # up to 85 days
_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
MOST_SPANS: Final = 4  # of a query: each costs as much as a common word


@dataclass(frozen=True, slots=True)
class Ages:
    """How many documents are as new as some moments: estimated, some minutes old."""

    documents: int = 0
    marks: tuple[tuple[int, datetime], ...] = ()  # so many are as new as that; from the newest on

    @classmethod
    def of(cls, documents: int, marks: Iterable[tuple[int, datetime]]) -> Self:
        """From marks in any order; what contradicts a newer mark is left out."""
        kept: list[tuple[int, datetime]] = []
        for count, moment in sorted(marks, key=lambda mark: mark[1], reverse=True):
            if not kept or count > kept[-1][0]:
                kept.append((count, moment))
        return cls(documents, tuple(kept))

    def since(self, needed: float) -> datetime | None:
        """A moment as new as which at least about `needed` documents are; None: look at all."""
        if needed * 2 >= self.documents:
            return None
        return next((moment for count, moment in self.marks if count >= needed), None)

    def as_new_as(self, moment: datetime) -> int:
        """About how many documents are."""
        older = (count for count, mark in self.marks if mark <= moment)
        return next(older, self.documents)


def age_lexemes(at: datetime) -> list[str]:
    """The spans a moment lies in, the shortest first. No word is written like them."""
    second = (at - _EPOCH) // timedelta(seconds=1)
    return [_lexeme(level, second // length) for level, length in enumerate(_LENGTHS)]


def begun(since: datetime, until: datetime) -> datetime:
    """When the first span begins, if from `since` to `until` there are to be few.

    Up to three times as long ago as `since`.
    """
    starts = (_started(since, length) for length in _LENGTHS)
    few = (start for start in starts if len(spans_between(start, until)) <= MOST_SPANS)
    return next(few, _started(since, _LENGTHS[-1]))


def _started(at: datetime, length: int) -> datetime:
    """When the span of that length began in which the moment lies."""
    return _EPOCH + timedelta(seconds=(at - _EPOCH) // timedelta(seconds=1) // length * length)


def spans_between(since: datetime, until: datetime) -> list[str]:
    """Spans that hold every moment from `since` to `until`, and next to none before.

    They may hold moments behind `until`: nothing lies in the future.
    """
    turn = ((since - _EPOCH) // timedelta(seconds=1)) // _SHORTEST_S
    last = ((until - _EPOCH) // timedelta(seconds=1)) // _SHORTEST_S
    spans = []
    while turn <= last:
        level = 0
        while level + 1 < len(_LENGTHS) and turn % _FACTOR ** (level + 1) == 0:
            level += 1
        spans.append(_lexeme(level, turn // _FACTOR**level))
        turn += _FACTOR**level
    return spans


def _lexeme(level: int, number: int) -> str:
    return f"~{level}.{number}"
