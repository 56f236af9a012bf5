"""What a case has shown: its findings and its outcome, and what a proof counts of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Generic, Protocol, Self, TypeVar

C = TypeVar("C")
V = TypeVar("V", bound=StrEnum)
_NAMED: Final = 10  # failing cases, in the figures
_LABELS: Final = 10


@dataclass(frozen=True)
class Finding(Generic[V]):
    """A violation and its evidence; `size` is how much of it there is."""

    violation: V
    why: str
    size: int = 1

    def __str__(self) -> str:
        return f"{self.violation}: {self.why}"


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[C, V]):
    """The outcome of a case; `plays` is how often it was played until its fault was reached."""

    case: C
    findings: Sequence[Finding[V]] = ()
    is_reached: bool = True
    state: str = ""
    answers: Sequence[str] = ()
    took_s: float = 0.0
    plays: int = 1
    connections_max: int = 0

    @property
    def is_failed(self) -> bool:
        """Whether the case shows a defect."""
        return bool(self.findings)

    @property
    def why(self) -> str:
        """The findings in a line."""
        return "; ".join(map(str, self.findings)) or "no violation"

    def followed_by(self, again: Self) -> Self:
        """Return the outcome of both plays: all findings count."""
        return replace(
            again,
            case=self.case,
            findings=[*self.findings, *again.findings],
            connections_max=max(self.connections_max, again.connections_max),
            plays=self.plays + 1,
        )

    def __str__(self) -> str:
        return f"{self.case} -> {self.state}, answers {self.answers}: {self.why}"


class JudgedCase(Protocol):
    """The outcome of a case of any proof."""

    @property
    def case(self) -> object:
        """The case."""
        ...

    @property
    def is_failed(self) -> bool:
        """Whether the case shows a defect."""
        ...


def findings_of(found: Mapping[V, Iterable[str]]) -> list[Finding[V]]:
    """List the findings of each violation, in the order of the mapping."""
    return [Finding(violation, why) for violation, each in found.items() for why in each]


def count_violations(
    outcomes: Iterable[Outcome[Any, V]], violations: Iterable[V]
) -> dict[str, object]:
    """Sum up the findings of each violation, as figures."""
    sizes: Counter[V] = Counter()
    for outcome in outcomes:
        for each in outcome.findings:
            sizes[each.violation] += each.size
    return {violation.value: sizes[violation] for violation in violations}


def name_failing(outcomes: Iterable[JudgedCase]) -> list[str]:
    """Name the first cases that show a defect."""
    return [str(each.case) for each in outcomes if each.is_failed][:_NAMED]


def count_unreached(
    outcomes: Sequence[Outcome[Any, Any]], *, most: int = _LABELS
) -> dict[str, object]:
    """Count the cases whose fault was not reached, by the label of its call, as figures."""
    labels = Counter(each.case.boundary.label for each in outcomes if not each.is_reached)
    return {"not_reached": labels.total(), "not_reached_at": labels.most_common(most)}


def slowest_s(outcomes: Iterable[Outcome[Any, Any]]) -> float:
    """The seconds of the slowest case."""
    return round(max((each.took_s for each in outcomes), default=0.0), 1)


def times_in_ms(took_s: Iterable[float]) -> dict[str, object]:
    """The median, the 99th percentile and the longest of these times, as figures."""
    took = sorted(took_s) or [0.0]
    return {
        "p50_ms": round(1000 * took[len(took) // 2], 1),
        "p99_ms": round(1000 * took[int(len(took) * 0.99)], 1),
        "slowest_ms": round(1000 * took[-1], 1),
    }


def are_none(figures: Mapping[str, object], names: Iterable[str]) -> bool:
    """Whether none of these figures counts anything."""
    return not any(figures[name] for name in names)
