"""The samples of the search bench and their figures."""

import math
import sys
from collections.abc import Iterable, Iterator

import msgspec
import structlog

from bench.search_queries import KEYWORDS, Kind


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """The latency of one answer."""

    side: str  # ours, tantivy or plain
    kind: str
    filter_kind: str
    page: int  # from 1
    ms: float
    hits: int


def log_to_stderr() -> None:
    """Log to standard error; standard output is for the samples."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))


def percentile(values: Iterable[float], share: float) -> float | None:
    """Return the smallest value that `share` of all do not exceed; None for no values."""
    ordered = sorted(values)
    if not ordered:
        return None
    return round(ordered[max(0, math.ceil(len(ordered) * share) - 1)], 2)


class Samples:
    """The answers of one run on one size."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._samples = tuple(samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._samples)

    def of(
        self,
        side: str,
        *,
        kinds: Iterable[Kind] = tuple(Kind),
        page: int | None = None,
        filter_kind: str | None = None,
    ) -> "Samples":
        """Select the samples of one side, these kinds, this page and filter."""
        wanted = {kind.value for kind in kinds}
        return Samples(
            each
            for each in self._samples
            if each.side == side
            and each.kind in wanted
            and page in (None, each.page)
            and filter_kind in (None, each.filter_kind)
        )

    @property
    def p50_ms(self) -> float | None:
        """The median latency."""
        return percentile((each.ms for each in self._samples), 0.5)

    @property
    def p95_ms(self) -> float | None:
        """The 95th percentile of the latency."""
        return percentile((each.ms for each in self._samples), 0.95)

    def figures(self) -> dict[str, object]:
        """Latencies, how many answers, and how many of them were empty."""
        return {
            "p50_ms": self.p50_ms,
            "p95_ms": self.p95_ms,
            "max_ms": percentile((each.ms for each in self._samples), 1.0),
            "answers": len(self._samples),
            "empty": sum(each.hits == 0 for each in self._samples),
        }

    def by_kind(self, side: str) -> dict[str, object]:
        """Every class: all of it, its first page, its tenth, and each filter's first page."""
        return {kind.value: self._of_kind(side, kind) for kind in Kind}

    def _of_kind(self, side: str, kind: Kind) -> dict[str, object]:
        mine = self.of(side, kinds=(kind,))
        filters = dict.fromkeys(each.filter_kind for each in mine)
        return {
            **mine.figures(),
            "first_page": _both(mine.of(side, page=1)),
            "tenth_page": _both(mine.of(side, page=10)),
            "filters": {name: _both(mine.of(side, page=1, filter_kind=name)) for name in filters},
        }

    def keywords(self, side: str) -> "Samples":
        """Select all classes but sentences."""
        return self.of(side, kinds=KEYWORDS)

    def worst(self, side: str) -> tuple[float, float]:
        """The highest median and the highest 95th percentile of a keyword class."""
        each = [self.of(side, kinds=(kind,)) for kind in KEYWORDS]
        return max(c.p50_ms or 0.0 for c in each), max(c.p95_ms or 0.0 for c in each)


def _both(samples: Samples) -> list[float | None]:
    return [samples.p50_ms, samples.p95_ms]
