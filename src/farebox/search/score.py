"""How well one document answers one query: a whole number that depends on nothing else.

Two judges: the words (how much of what was asked for is there, and in which field) and, where there
is a language model, the meaning. What fits by neither is not shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from farebox.search.terms import Role, Sought

_TS_RANK_OF_ONE: Final = 1.64493406685  # ts_rank divides a single word's weight by this
_MOST_OF_A_TERM: Final = 1.2  # a word said often counts little more than once

# what each judgement adds to the relevance, in thousandths of itself
_COVERED: Final = 300
_PLACED: Final = 100
_BESIDE: Final = 20
_FULL: Final = 50  # every word that says something is there

# what speaks for a document: its likeness, and what it has of the words that say something
_SAID: Final = 100
_SAID_ALONE: Final = 700  # where nothing is known of its meaning
_A_WORD: Final = 10  # for each word that says something: long questions are like nothing much
_WORDS: Final = 6  # that count so
CONVINCING: Final = 375  # evidence of one document with which a search answers at all
PASSABLE: Final = 225  # with which others stand behind it


@dataclass(frozen=True, slots=True)
class Met:
    """How a document met one term."""

    probe: int  # which of the term's probes was best
    strength: float  # 0 to 1.2: the field it stands in, times the probe's percent
    percent: int  # of the nearest probe that is there at all


@dataclass(frozen=True, slots=True)
class Score:
    """What both judges say, in thousandths."""

    covered: int  # the part of the query's weight that is there
    placed: int  # the same, by the fields it stands in
    beside: int  # the part of neighbouring words that stand side by side
    is_full: bool  # every word that says something is there
    likeness: int | None  # cosine; None: no vector or no model
    relevance: int
    evidence: int

    @property
    def fits(self) -> bool:
        """Whether it may stand among results."""
        return self.is_full or self.evidence >= PASSABLE

    @property
    def convinces(self) -> bool:
        """Whether it is reason enough to answer; without any such document there is silence."""
        return self.is_full or self.evidence >= CONVINCING


@dataclass(frozen=True, slots=True)
class _Said:
    """What follows from which words are there, wherever they stand."""

    covered: int
    is_full: bool
    said: int  # the part of the words that say something, in thousandths
    length: int  # what their number adds to the evidence


class Judge:
    """Judges documents against the terms of one query."""

    def __init__(self, sought: Sequence[Sought]) -> None:
        self._sought = tuple(sought)
        self._weight = sum(term.weight for term in sought)
        self._said: dict[tuple[int, ...], _Said] = {}

    def meet(self, ranks: Sequence[float]) -> tuple[Met | None, ...]:
        """Each term's best probe; `ranks` begin with one a probe in the terms' order."""
        found: list[Met | None] = []
        at = 0
        for term in self._sought:
            end = at + len(term.probes)
            found.append(_meet(term, ranks[at:end]))
            at = end
        return tuple(found)

    def score(
        self, met: Sequence[Met | None], pairs: Sequence[float], likeness: int | None
    ) -> Score:
        """The document's worth; every part of it a whole number."""
        percents = tuple([0 if how is None else how.percent for how in met])
        said = self._said.get(percents)
        if said is None:
            said = self._said[percents] = self._read(percents)
        place = self._placed(met)
        beside = round(1000 * sum(rank > 0.0 for rank in pairs) / len(pairs)) if pairs else 0
        words = (_COVERED * said.covered + _PLACED * place + _BESIDE * beside) // 1000
        return Score(
            covered=said.covered,
            placed=place,
            beside=beside,
            is_full=said.is_full,
            likeness=likeness,
            relevance=words + _FULL * said.is_full + max(likeness or 0, 0),
            evidence=_evidence(said, likeness),
        )

    def _placed(self, met: Sequence[Met | None]) -> int:
        """The part of the terms' weight that is there, by the field where it counts."""
        there = 0.0
        for term, how in zip(self._sought, met, strict=True):
            if how is not None:
                there += term.weight * how.strength
        return round(1000 * there / self._weight) if self._weight else 0

    def _read(self, percents: Sequence[int]) -> _Said:
        pairs = list(zip(self._sought, percents, strict=True))
        content = [pair for pair in pairs if pair[0].role is Role.CONTENT]
        return _Said(
            covered=_share(pairs),
            is_full=all(percent == 100 for _, percent in content) if content else any(percents),
            said=_share(content),
            length=_A_WORD * min(len(content), _WORDS),
        )


def _meet(term: Sought, ranks: Sequence[float]) -> Met | None:
    best, strength, percent = 0, 0.0, 0
    for number, rank in enumerate(ranks):
        if rank > 0.0:
            probe = term.probes[number]
            whole = rank if probe.is_phrase else rank * _TS_RANK_OF_ONE
            own = min(whole, _MOST_OF_A_TERM) * probe.percent / 100
            if own > strength:
                best, strength = number, own
            percent = max(percent, probe.percent)
    return Met(best, strength, percent) if percent else None


def _share(terms: Sequence[tuple[Sought, int]]) -> int:
    """The part of the terms' weight that is there."""
    weight = sum(term.weight for term, _ in terms)
    there = sum(term.weight * percent / 100 for term, percent in terms)
    return round(1000 * there / weight) if weight else 0


def _evidence(said: _Said, likeness: int | None) -> int:
    if likeness is None:
        return said.said * _SAID_ALONE // 1000 + said.length * (said.said > 0)
    return likeness + said.said * _SAID // 1000 + said.length
