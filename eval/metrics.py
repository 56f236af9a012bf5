"""How good rankings are: graded gain, first hit, silence, each with an interval."""

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

DEPTH: Final = 10
_RESAMPLES: Final = 1_000
_SEED: Final = 20_261_121


def ndcg(found: Sequence[str], grades: Mapping[str, int], *, depth: int = DEPTH) -> float:
    """Discounted gain of the first `depth`, as a share of the best possible; gain 2^grade - 1."""
    best = sorted(grades.values(), reverse=True)[:depth]
    ideal = sum(_gain(grade, place) for place, grade in enumerate(best))
    got = sum(_gain(grades.get(each, 0), place) for place, each in enumerate(found[:depth]))
    return got / ideal if ideal else 0.0


def _gain(grade: int, place: int) -> float:
    return ((1 << grade) - 1) / math.log2(place + 2)


def reciprocal_rank(found: Sequence[str], grades: Mapping[str, int]) -> float:
    """1 over the place of the first one that is of use, 0 when there is none."""
    for place, each in enumerate(found, start=1):
        if each in grades:
            return 1 / place
    return 0.0


def precision_at_1(found: Sequence[str], grades: Mapping[str, int]) -> float:
    """1 when the first one is of use."""
    return float(bool(found) and found[0] in grades)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and the interval in which 95 of 100 resamples lie."""

    mean: float
    low: float
    high: float

    def rounded(self) -> list[float]:
        """Mean, low, high as they are printed."""
        return [round(each, 3) for each in (self.mean, self.low, self.high)]


def estimate(values: Sequence[float]) -> Estimate:
    """The mean over queries with a bootstrap interval, the same for the same values.

    Raises:
        ValueError: there is no value.
    """
    if not values:
        raise ValueError("there is nothing to estimate from")
    dice = random.Random(_SEED)
    means = sorted(
        sum(dice.choices(values, k=len(values))) / len(values) for _ in range(_RESAMPLES)
    )
    tail = _RESAMPLES // 40
    return Estimate(sum(values) / len(values), means[tail], means[-tail - 1])


Measure = Callable[[Sequence[str], Mapping[str, int]], float]
MEASURES: Final[Mapping[str, Measure]] = {
    "ndcg10": ndcg,
    "mrr": reciprocal_rank,
    "p1": precision_at_1,
}


def told_apart(higher: Sequence[float], lower: Sequence[float]) -> float:
    """How often a number that should be higher is, of all pairs: 0.5 by chance."""
    ordered = sorted(lower)
    below = sum(bisect_left(ordered, each) + bisect_right(ordered, each) for each in higher)
    return round(below / (2 * len(higher) * len(ordered)), 3)
