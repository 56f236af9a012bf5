"""Candidates of one walk: held against its probes, scored, in order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from heapq import nlargest
from math import inf
from operator import itemgetter
from typing import Self

from farebox.search.finding.candidate import Candidate
from farebox.search.finding.rank import Freshness, Place, place_of
from farebox.search.finding.score import CONVINCING, Judge, Met, Score
from farebox.search.finding.walk import Walk
from farebox.search.meaning.doubt import OPEN_ABOVE, OPEN_BELOW, READ, Doubt
from farebox.search.meaning.senses import Near
from farebox.search.query.plan import Kind


class FoundBy(StrEnum):
    """What brought a candidate in: the stages of words by name, and the meaning."""

    NAMES = Kind.NAMES.value
    WORDS = Kind.WORDS.value
    RELAXED = Kind.RELAXED.value
    MEANING = "meaning"


@dataclass(frozen=True, slots=True)
class Result:
    """A candidate that fits, with its place."""

    candidate: Candidate
    met: tuple[Met | None, ...]
    score: Score
    place: Place
    found_by: tuple[FoundBy, ...]

    @property
    def freshness(self) -> Freshness:
        """The class of its age when the walk began."""
        return Freshness(self.place[1])


@dataclass(slots=True)
class Candidates:
    """What was found for one walk, by version of a document."""

    at: datetime  # when the walk began
    is_strict: bool  # whatever was found fits
    bar: int  # the evidence with which the first page answers
    probe_count: int
    _judge: Judge
    _found: dict[int, Candidate] = field(default_factory=dict)
    _by: dict[int, list[FoundBy]] = field(default_factory=dict)
    _likeness: dict[int, int] = field(default_factory=dict)
    _best: float | None = None

    @classmethod
    def of(cls, walk: Walk, *, bar: int = CONVINCING) -> Self:
        """None yet."""
        return cls(walk.at, walk.is_strict, bar, walk.probe_count, Judge(walk.sought))

    def __len__(self) -> int:
        return len(self._found)

    def __contains__(self, document_id: int) -> bool:
        return document_id in self._found

    def add(self, candidates: Iterable[Candidate], by: FoundBy) -> None:
        """They are among them, found so."""
        self._best = None
        for candidate in candidates:
            self._found.setdefault(candidate.document_id, candidate)
            self._by.setdefault(candidate.document_id, []).append(by)

    def are_near(self, near: Sequence[Near]) -> None:
        """How near these are in meaning is known, and those that are there were found so too."""
        self._best = None
        self._likeness |= {each.document_id: each.likeness for each in near}
        for each in near:
            by = self._by.get(each.document_id)
            if by is not None and FoundBy.MEANING not in by:
                by.append(FoundBy.MEANING)

    def of_unknown_likeness(self) -> list[bytes]:
        """The digests of texts of which it is not known how near they are in meaning."""
        rest = (own for own in self._found.values() if own.document_id not in self._likeness)
        return list({own.digest for own in rest})

    def are_alike(self, likeness: Mapping[bytes, int]) -> None:
        """How near the texts with these digests are is known."""
        self._best = None
        for own in self._found.values():
            if own.document_id not in self._likeness and own.digest in likeness:
                self._likeness[own.document_id] = likeness[own.digest]

    def has_every_word(self) -> bool:
        """Whether one has every word that says something."""
        return any(self._judge.worth(own.ranks, None).is_full for own in self._found.values())

    def ranked(self, *, after: Place | None) -> Iterator[tuple[Place, Candidate]]:
        """Every candidate that fits and stands behind `after`, in order.

        Whether they answer the query at all may be open: see `doubt`.
        """
        is_strict = self.is_strict
        if after is None and not is_strict and self._above() < -OPEN_BELOW:
            return
        least = inf if after is None else -after[0]  # nothing worth more stands behind it
        found: dict[int, list[Candidate]] = {}
        judge, likeness = self._judge, self._likeness
        for own in self._found.values():
            worth = judge.worth(own.ranks, likeness.get(own.document_id))
            if worth.relevance <= least and (worth.fits or is_strict):
                found.setdefault(worth.relevance, []).append(own)
        for relevance in sorted(found, reverse=True):
            placed = [(self._place(relevance, own), own) for own in found[relevance]]
            yield from sorted(
                (each for each in placed if after is None or each[0] > after), key=itemgetter(0)
            )

    def _place(self, relevance: int, own: Candidate) -> Place:
        return place_of(
            relevance,
            updated_at=own.updated_at,
            payers=own.payers,
            listing_id=own.listing_id,
            at=self.at,
        )

    def doubt(self) -> Doubt | None:
        """The best of what is ranked, where it is open whether it answers the query."""
        if self.is_strict or not -OPEN_BELOW <= self._above() < OPEN_ABOVE:
            return None
        judge = self._judge
        best: dict[bytes, tuple[int, int]] = {}  # of equal texts one
        for own in self._found.values():
            worth = judge.worth(own.ranks, self._likeness.get(own.document_id))
            if worth.fits and worth.likeness is not None:
                one = (worth.evidence - self.bar, -own.listing_id)
                best[own.digest] = max(one, best.get(own.digest, one))
        chosen = nlargest(READ, best.values())
        return Doubt(tuple(-own for _, own in chosen), tuple(above for above, _ in chosen))

    def _above(self) -> float:
        """How far the best candidate's evidence is above the bar; once it is plain, no further."""
        if self._best is None:
            judge, likeness = self._judge, self._likeness
            self._best = -inf
            for own in self._found.values():
                worth = judge.worth(own.ranks, likeness.get(own.document_id))
                self._best = max(self._best, worth.above(self.bar))
                if self._best >= OPEN_ABOVE:
                    break
        return self._best

    def result(self, place: Place, candidate: Candidate) -> Result:
        """A ranked candidate with all that put it there."""
        judge, likeness = self._judge, self._likeness.get(candidate.document_id)
        met = judge.meet(candidate.ranks)
        score = judge.score(met, candidate.ranks[self.probe_count :], likeness)
        by = tuple(dict.fromkeys(self._by[candidate.document_id]))
        return Result(candidate, met, score, place, by)
