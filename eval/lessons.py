"""Batches to learn from: listings that are alike together, and which request is answered by which.

What is not written down is guessed from the model as it was published: a request that is nearer to
another listing than to its own, or to a listing of the same subject, teaches nothing about it.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eval.examples import Example, as_asked
from eval.lower import Lower

Rows = NDArray[np.float32]
LISTINGS: Final = 24  # of a lesson
REQUESTS: Final = 6  # of a listing: three that it answers, then three that are near
ANSWERED: Final = 3
_ALIKE: Final = 3  # listings of a subject that stand together
_SENTENCES: Final = 2  # of a listing's further passages
_SAME: Final = 0.6  # listings this near may answer the same requests
_UNSURE: Final = 0.45  # a near miss this near to another listing may be answered by it
_LIKELY, _EASY = 0.3, 0.05  # what a listing counts that is somewhat near, or not at all
_FAR: Final = 0.2
_SHORT, _LONG, _WHOLE, _SENTENCE = 12, 20, 56, 24  # word pieces


class Lesson(NamedTuple):
    """Arrays of the same shapes every time."""

    short: tuple[NDArray[np.float16], NDArray[np.bool_]]  # requests, shorter ones first
    long: tuple[NDArray[np.float16], NDArray[np.bool_]]
    order: NDArray[np.int64]  # where each request stands in them
    wholes: tuple[NDArray[np.float16], NDArray[np.bool_]]
    sentences: tuple[NDArray[np.float16], NDArray[np.bool_]]
    whose: NDArray[np.int64]  # each sentence's listing; LISTINGS for none
    answered: Rows  # a request a row, a listing a column
    counts: Rows
    lengths: Rows
    others: Rows  # which of all listings surely do not answer each request


@dataclass(frozen=True, slots=True)
class Known:
    """The examples, and how near they lie to each other for the model as it was published."""

    passages: list[list[str]]
    requests: list[list[str]]
    listing_to_listing: Rows
    request_to_listing: Rows  # REQUESTS rows a listing

    @staticmethod
    def of(examples: Sequence[Example], middles: Rows, asked: Rows) -> "Known":
        """`asked` has the vectors of `requests_of`, one listing behind the other."""
        return Known(
            [example.passages for example in examples],
            [requests_of(example) for example in examples],
            middles @ middles.T,
            asked @ middles.T,
        )


def requests_of(example: Example) -> list[str]:
    """Three that are answered and three that are near; some twice where there are fewer."""
    filled = [*(example.fits * ANSWERED)[:ANSWERED], *(example.near * ANSWERED)[:ANSWERED]]
    return [as_asked(each) for each in filled]


class Lessons:
    """Draws lessons from the examples that may be learned from."""

    def __init__(self, known: Known, lower: Lower, learned: Sequence[int], *, seed: int) -> None:
        self._known, self._lower = known, lower
        self._learned, self._dice = list(learned), random.Random(seed)
        near = np.argsort(-known.listing_to_listing, axis=1, kind="stable")
        allowed = set(learned)
        self._alike = [[x for x in row[:40].tolist() if x in allowed] for row in near]
        self._not_learned = [x for x in range(len(known.passages)) if x not in allowed]

    @property
    def per_round(self) -> int:
        """How many lessons go through every example once, but for a rest."""
        return len(self._learned) // LISTINGS

    def round(self) -> Iterator[Lesson]:
        """Every example once, in a new order."""
        left = dict.fromkeys(self._dice.sample(self._learned, len(self._learned)))
        while len(left) >= LISTINGS:
            chosen: list[int] = []
            while len(chosen) < LISTINGS:
                one = next(iter(left))
                alike = [x for x in self._alike[one] if x in left and x != one][:_ALIKE]
                for each in [one, *alike][: LISTINGS - len(chosen)]:
                    chosen.append(each)
                    del left[each]
            yield self._lesson(chosen)

    def _lesson(self, chosen: Sequence[int]) -> Lesson:
        known, lower = self._known, self._lower
        requests = [text for own in chosen for text in known.requests[own]]
        by_length = sorted(range(len(requests)), key=lambda x: lower.length(requests[x]))
        order = np.empty(len(requests), np.int64)
        order[by_length] = np.arange(len(requests))
        sorted_requests = [requests[x] for x in by_length]
        cut = 2 * len(requests) // 3
        sentences = [
            (text, place)
            for place, own in enumerate(chosen)
            for text in self._some(known.passages[own][1:])
        ]
        whose = np.full(_SENTENCES * LISTINGS, LISTINGS)
        whose[: len(sentences)] = [place for _, place in sentences]
        answered, counts = self._judged(chosen)
        words = [min(max(len(text.split()), 2), 12) for text in requests]
        return Lesson(
            lower.rows(sorted_requests[:cut], long=_SHORT, count=cut),
            lower.rows(sorted_requests[cut:], long=_LONG, count=len(requests) - cut),
            order,
            lower.rows([known.passages[x][0] for x in chosen], long=_WHOLE, count=LISTINGS),
            lower.rows([text for text, _ in sentences], long=_SENTENCE, count=len(whose)),
            whose,
            answered,
            counts,
            np.array([math.log(count / 4) for count in words], np.float32),
            self._others(chosen),
        )

    def _some(self, sentences: list[str]) -> list[str]:
        return self._dice.sample(sentences, min(_SENTENCES, len(sentences)))

    def _judged(self, chosen: Sequence[int]) -> tuple[Rows, Rows]:
        """Which request is answered by which listing of the lesson, and what that counts."""
        answered = np.zeros((REQUESTS * LISTINGS, LISTINGS), np.float32)
        sure = self._sure(chosen)[:, chosen]
        near = self._likeness(chosen)[:, chosen]
        counts = np.where(sure, np.where(near > _FAR, _LIKELY, _EASY), 0.0).astype(np.float32)
        for place in range(LISTINGS):
            own = slice(place * REQUESTS, (place + 1) * REQUESTS)
            counts[own, place] = 1
            answered[place * REQUESTS : place * REQUESTS + ANSWERED, place] = 1
        return answered, counts

    def _others(self, chosen: Sequence[int]) -> Rows:
        others = self._sure(chosen)
        others[:, self._not_learned] = False
        return others.astype(np.float32)

    def _sure(self, chosen: Sequence[int]) -> NDArray[np.bool_]:
        """Which listings surely do not answer each request, their own apart."""
        near = self._likeness(chosen)
        sure = near <= _UNSURE
        for place, own in enumerate(chosen):
            fits = slice(place * REQUESTS, place * REQUESTS + ANSWERED)
            alike = self._known.listing_to_listing[own] > _SAME
            sure[fits] = ~alike & (near[fits] <= near[fits, own : own + 1])
            sure[place * REQUESTS : (place + 1) * REQUESTS, own] = False
        return sure

    def _likeness(self, chosen: Sequence[int]) -> Rows:
        return self._known.request_to_listing[self._rows(chosen)]

    def _rows(self, chosen: Sequence[int]) -> list[int]:
        return [own * REQUESTS + each for own in chosen for each in range(REQUESTS)]
