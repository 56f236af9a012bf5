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
_COVERED: Final = 250
_PLACED: Final = 100
_BESIDE: Final = 20
_FULL: Final = 50  # every word that says something is there

# what speaks for a document: its likeness, and what it has of the words that say something
_SAID: Final = 100
_SAID_ALONE: Final = 700  # where nothing is known of its meaning
_A_WORD: Final = 20  # for each word that says something: long questions are like nothing much
_WORDS: Final = 6  # that count so
CONVINCING: Final = 410  # evidence of one document with which a search answers at all
PASSABLE: Final = 310  # with which others stand behind it


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


def meet(sought: Sequence[Sought], ranks: Sequence[float]) -> tuple[Met | None, ...]:
    """Each term's best probe; `ranks` begin with one a probe in the terms' order."""
    found: list[Met | None] = []
    at = 0
    for term in sought:
        end = at + len(term.probes)
        found.append(_meet(term, ranks[at:end]))
        at = end
    return tuple(found)


def _meet(term: Sought, ranks: Sequence[float]) -> Met | None:
    best, strength, percent = 0, 0.0, 0
    for number, (probe, rank) in enumerate(zip(term.probes, ranks, strict=True)):
        if rank > 0.0:
            whole = rank if probe.is_phrase else rank * _TS_RANK_OF_ONE
            own = min(whole, _MOST_OF_A_TERM) * probe.percent / 100
            if own > strength:
                best, strength = number, own
            percent = max(percent, probe.percent)
    return Met(best, strength, percent) if percent else None


def score(
    sought: Sequence[Sought],
    met: Sequence[Met | None],
    pairs: Sequence[float],
    likeness: int | None,
) -> Score:
    """The document's worth; every part of it a whole number."""
    cover, place = _share(sought, met), _share(sought, met, is_placed=True)
    beside = round(1000 * sum(rank > 0.0 for rank in pairs) / len(pairs)) if pairs else 0
    is_full = _is_full(sought, met)
    words = (_COVERED * cover + _PLACED * place + _BESIDE * beside) // 1000 + _FULL * is_full
    return Score(
        covered=cover,
        placed=place,
        beside=beside,
        is_full=is_full,
        likeness=likeness,
        relevance=words + max(likeness or 0, 0),
        evidence=_evidence(sought, met, likeness),
    )


def _share(sought: Sequence[Sought], met: Sequence[Met | None], *, is_placed: bool = False) -> int:
    """The part of the terms' weight that is there; where it counts, by the field."""
    weight = sum(term.weight for term in sought)
    there = sum(
        term.weight * (how.strength if is_placed else how.percent / 100)
        for term, how in zip(sought, met, strict=True)
        if how is not None
    )
    return round(1000 * there / weight) if weight else 0


def _evidence(sought: Sequence[Sought], met: Sequence[Met | None], likeness: int | None) -> int:
    content = [
        (term, how) for term, how in zip(sought, met, strict=True) if term.role is Role.CONTENT
    ]
    said = _share([term for term, _ in content], [how for _, how in content])
    length = _A_WORD * min(len(content), _WORDS)
    if likeness is None:
        return said * _SAID_ALONE // 1000 + length * (said > 0)
    return likeness + said * _SAID // 1000 + length


def _is_full(sought: Sequence[Sought], met: Sequence[Met | None]) -> bool:
    """Whether every content term is there itself, not by a word in its place."""
    content = [
        how is not None and how.percent == 100
        for term, how in zip(sought, met, strict=True)
        if term.role is Role.CONTENT
    ]
    return all(content) if content else any(how is not None for how in met)
