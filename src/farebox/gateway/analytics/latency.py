"""Latencies as counts of classes, from which percentiles are read within a fifth."""

from collections.abc import Sequence
from math import ceil, log2
from typing import Final

CLASSES: Final = 76
_PER_DOUBLING: Final = 4  # a class is 2^(1/4) times as wide as the one before


def latency_class(ms: int) -> int:
    """Return the class of a latency; the last one has everything above seven minutes."""
    if ms <= 1:
        return 0
    return min(CLASSES - 1, ceil(log2(ms) * _PER_DOUBLING))


def class_limit_ms(number: int) -> float:
    """Return the longest latency of a class."""
    return float(2.0 ** (number / _PER_DOUBLING))


def percentile_ms(counts: Sequence[int], percent: float) -> int | None:
    """Return the latency that `percent` of the requests do not exceed; None without requests."""
    total = sum(counts)
    if total == 0:
        return None
    wanted = ceil(total * percent / 100)
    seen = 0
    for number, count in enumerate(counts):
        seen += count
        if seen >= wanted:
            return round(class_limit_ms(number))
    return None


def add_counts(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """Add two lists of counts."""
    return [a + b for a, b in zip(one, other, strict=True)]
