"""How well one document answers one query: a whole number that depends on nothing else.

Two judges: the words (how much of what was asked for is there, and in which field) and, where there
is a language model, the meaning. What fits by neither is not shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Final, NamedTuple

from farebox.search.query.terms import Role, Sought

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
CONVINCING: Final = 375  # evidence of one document's words with which a search answers at all
PASSABLE: Final = 225  # with which others stand behind it

# the same where meaning speaks too, for a query of some words in a catalog of some hundreds
_BAR: Final = 475
_NEARBY: Final = 250  # with which others stand behind it
_BAR_WORDS: Final = 4
_BAR_DOCUMENTS: Final = 400
_OF_CHANCE: Final = 150  # the nearest of many strangers is nearer than the nearest of few
_OF_LENGTH: Final = 75  # a sentence says more than the listing that answers it
_SIZES: Final = (20, 1_000)  # documents; beyond them nothing was measured
_LENGTHS: Final = (2, 12)  # words


@dataclass(frozen=True, slots=True)
class Met:
    """How a document met one term."""

    probe: int  # which of the term's probes was best
    strength: float  # 0 to 1.2: the field it stands in, times the probe's percent
    percent: int  # of the nearest probe that is there at all


class Worth(NamedTuple):
    """What decides where a document stands, and whether it does."""

    relevance: int
    evidence: int
    is_full: bool  # every word that says something is there
    likeness: int | None  # cosine in thousandths; None: no vector or no model

    @property
    def fits(self) -> bool:
        """Whether it may stand among results."""
        return self.is_full or self.evidence >= (PASSABLE if self.likeness is None else _NEARBY)

    def above(self, bar: int) -> float:
        """How far it is above the evidence with which a query is answered; infinite either way
        where nothing else is asked for.
        """
        if self.is_full:
            return inf
        if self.likeness is None:
            return inf if self.evidence >= CONVINCING else -inf
        return self.evidence - bar


@dataclass(frozen=True, slots=True)
class Score:
    """What both judges say, in thousandths."""

    covered: int  # the part of the query's weight that is there
    placed: int  # the same, by the fields it stands in
    beside: int  # the part of neighbouring words that stand side by side
    worth: Worth

    @property
    def is_full(self) -> bool:
        """Whether every word that says something is there."""
        return self.worth.is_full

    @property
    def likeness(self) -> int | None:
        """The cosine; None without a vector or a model."""
        return self.worth.likeness

    @property
    def relevance(self) -> int:
        """The number that decides first."""
        return self.worth.relevance


def bar_of(words: int, documents: int) -> int:
    """The evidence with which a query of so many words is answered, where meaning is known."""
    length = min(max(words, _LENGTHS[0]), _LENGTHS[1])
    size = min(max(documents, _SIZES[0]), _SIZES[1])
    chance = sqrt(2 * log(size)) - sqrt(2 * log(_BAR_DOCUMENTS))
    return round(_BAR + _OF_CHANCE * chance - _OF_LENGTH * log(length / _BAR_WORDS))


@dataclass(frozen=True, slots=True)
class _Said:
    """What follows from which words are there, wherever they stand."""

    covered: int
    is_full: bool
    said: int  # the part of the words that say something, in thousandths
    length: int  # what their number adds to the evidence


class Judge:
    """Judges documents against the terms of one query.

    A document is held against them by its ranks: one a probe in the terms' order, and behind those
    one a pair of neighbours.
    """

    def __init__(self, sought: Sequence[Sought]) -> None:
        self._sought = tuple(sought)
        self._weight = sum(term.weight for term in sought)
        self._said: dict[tuple[int, ...], _Said] = {}
        self._words: dict[Sequence[float], tuple[int, _Said]] = {}  # many meet it in one way
        self._plan: list[tuple[int, list[tuple[int, float, int]]]] = []
        at = 0
        for term in sought:
            probes = [
                (at + turn, 1.0 if probe.is_phrase else _TS_RANK_OF_ONE, probe.percent)
                for turn, probe in enumerate(term.probes)
            ]
            self._plan.append((term.weight, probes))
            at += len(probes)
        self._pairs_from = at

    def worth(self, ranks: tuple[float, ...], likeness: int | None) -> Worth:
        """The worth that `score` says, for the many that are never shown."""
        known = self._words.get(ranks)
        if known is None:
            known = self._words[ranks] = self._worded(ranks)
        return _worth(*known, likeness)

    def _worded(self, ranks: Sequence[float]) -> tuple[int, _Said]:
        """What the words add to the relevance, and what is said by their being there."""
        percents: list[int] = []
        there = 0.0
        for weight, probes in self._plan:  # as `_meet`; that is asked for few, this for hundreds
            strength, percent = 0.0, 0
            for at, scale, own in probes:
                rank = ranks[at]
                if rank > 0.0:
                    met = rank * scale
                    met = (met if met < _MOST_OF_A_TERM else _MOST_OF_A_TERM) * own / 100
                    if met > strength:
                        strength = met
                    if own > percent:
                        percent = own
            percents.append(percent)
            there += weight * strength
        said = self._known(tuple(percents))
        beside = _beside(ranks[self._pairs_from :])
        return _of_words(said, self._of_weight(there), beside), said

    def meet(self, ranks: Sequence[float]) -> tuple[Met | None, ...]:
        """Each term's best probe."""
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
        said = self._known(tuple([0 if how is None else how.percent for how in met]))
        there = 0.0
        for term, how in zip(self._sought, met, strict=True):
            there += term.weight * (0.0 if how is None else how.strength)
        place, beside = self._of_weight(there), _beside(pairs)
        worth = _worth(_of_words(said, place, beside), said, likeness)
        return Score(said.covered, place, beside, worth)

    def _of_weight(self, there: float) -> int:
        """The part of the terms' weight that is there, by the field where it counts."""
        return round(1000 * there / self._weight) if self._weight else 0

    def _known(self, percents: tuple[int, ...]) -> _Said:
        said = self._said.get(percents)
        if said is None:
            said = self._said[percents] = self._read(percents)
        return said

    def _read(self, percents: Sequence[int]) -> _Said:
        pairs = list(zip(self._sought, percents, strict=True))
        content = [pair for pair in pairs if pair[0].role is Role.CONTENT]
        return _Said(
            covered=_share(pairs),
            is_full=all(percent == 100 for _, percent in content) if content else any(percents),
            said=_share(content),
            length=_A_WORD * min(len(content), _WORDS),
        )


def _of_words(said: _Said, place: int, beside: int) -> int:
    words = (_COVERED * said.covered + _PLACED * place + _BESIDE * beside) // 1000
    return words + _FULL * said.is_full


def _beside(pairs: Sequence[float]) -> int:
    there = len([rank for rank in pairs if rank > 0.0])
    return round(1000 * there / len(pairs)) if pairs else 0


def _worth(words: int, said: _Said, likeness: int | None) -> Worth:
    if likeness is None:
        evidence = said.said * _SAID_ALONE // 1000 + said.length * (said.said > 0)
        return Worth(words, evidence, said.is_full, None)
    evidence = likeness + said.said * _SAID // 1000 + said.length
    return Worth(words + max(likeness, 0), evidence, said.is_full, likeness)


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
