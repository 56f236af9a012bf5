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

# what the words may add, in thousandths
_COVERED: Final = 450
_PLACED: Final = 500
_BESIDE: Final = 50
_FULL: Final = 150  # every word that says something is there
_LIKE_FROM: Final = 150  # a cosine, in thousandths, that means nothing
_LIKE_TO: Final = 700  # and one that means everything


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
    fits: bool


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
    """The document's relevance: up to about 1000 for the words and as much for the meaning."""
    weight = sum(term.weight for term in sought)
    covered = placed = 0.0
    for term, how in zip(sought, met, strict=True):
        if how is not None:
            covered += term.weight * how.percent / 100
            placed += term.weight * how.strength
    cover = round(1000 * covered / weight) if weight else 0
    place = round(1000 * placed / weight) if weight else 0
    beside = round(1000 * sum(rank > 0.0 for rank in pairs) / len(pairs)) if pairs else 0
    is_full = _is_full(sought, met)
    words = (_COVERED * cover + _PLACED * place + _BESIDE * beside) // 1000 + _FULL * is_full
    meaning = 1000 * (min(likeness or 0, _LIKE_TO) - _LIKE_FROM) // (_LIKE_TO - _LIKE_FROM)
    return Score(
        covered=cover,
        placed=place,
        beside=beside,
        is_full=is_full,
        likeness=likeness,
        relevance=words + max(meaning, 0),
        fits=_fits(cover, likeness, is_full=is_full),
    )


def _is_full(sought: Sequence[Sought], met: Sequence[Met | None]) -> bool:
    """Whether every content term is there itself, not by a word in its place."""
    content = [
        how is not None and how.percent == 100
        for term, how in zip(sought, met, strict=True)
        if term.role is Role.CONTENT
    ]
    return all(content) if content else any(how is not None for how in met)


def _fits(covered: int, likeness: int | None, *, is_full: bool) -> bool:
    if is_full:
        return True
    if likeness is None:
        return covered >= 450
    return covered * 4 + max(likeness, 0) * 10 >= 4000
