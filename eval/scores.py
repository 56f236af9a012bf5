"""What the answers of one engine are worth, by half and by kind of query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from eval.labelled import Half, Kind, Query
from eval.metrics import MEASURES, Estimate, estimate

_PLACES: Final = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """One query and the ids found for it, best first."""

    query: Query
    found: tuple[str, ...]

    @property
    def is_asked_in_vain(self) -> bool:
        """Whether nothing in the set fits the query."""
        return self.query.kind is Kind.NONE

    @property
    def is_oblique(self) -> bool:
        """Whether the query is a riddle, which counts in no estimate."""
        return self.query.kind is Kind.OBLIQUE

    def worth(self, measure: str) -> float:
        """The value of one measure."""
        return MEASURES[measure](self.found, self.query.grades)


@dataclass(frozen=True, slots=True)
class Scores:
    """Estimates over a set of answers; `silence` and `answered` are shares of queries."""

    ndcg10: Estimate
    mrr: Estimate
    p1: Estimate
    silence: Estimate
    answered: Estimate

    def rounded(self) -> dict[str, list[float]]:
        """Mean, low and high of each, as printed."""
        return {name: getattr(self, name).rounded() for name in self.__slots__}


def score(answers: Sequence[Answer]) -> Scores:
    """All estimates over these answers, riddles left out.

    Raises:
        ValueError: there is no query that something fits, or none that nothing does.
    """
    asked = [each for each in answers if not each.is_asked_in_vain and not each.is_oblique]
    in_vain = [each for each in answers if each.is_asked_in_vain]
    return Scores(
        **{name: estimate([each.worth(name) for each in asked]) for name in MEASURES},
        silence=estimate([float(not each.found) for each in in_vain]),
        answered=estimate([float(bool(each.found)) for each in asked]),
    )


def of_half(answers: Sequence[Answer], half: Half) -> list[Answer]:
    """Those whose query belongs to a half."""
    return [each for each in answers if each.query.half is half]


def by_kind(answers: Sequence[Answer]) -> Mapping[str, float]:
    """Mean nDCG@10 of each kind; of queries that nothing fits the share that got nothing."""
    found = {}
    for kind in Kind:
        own = [each for each in answers if each.query.kind is kind]
        if own:
            values = [
                float(not each.found) if each.is_asked_in_vain else each.worth("ndcg10")
                for each in own
            ]
            found[kind.value] = round(sum(values) / len(values), _PLACES)
    return found


def misses(answers: Sequence[Answer], *, below: float = 0.8) -> list[str]:
    """A line for each answer that is worth less, the worst first."""
    lines = []
    for each in answers:
        value = float(not each.found) if each.is_asked_in_vain else each.worth("ndcg10")
        if value < below:
            lines.append((value, _told(each, value)))
    return [line for _, line in sorted(lines)]


def _told(answer: Answer, value: float) -> str:
    query = answer.query
    wanted = sorted(query.grades.items(), key=lambda pair: -pair[1])[:4]
    head = f"{value:.2f} {query.half} {query.kind} {query.text!r}"
    return f"{head}\n     found {list(answer.found[:6])}\n     wanted {wanted}"
