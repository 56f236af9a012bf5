"""Candidates of one walk: found by its statements, held against its probes, scored, in order."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from heapq import nlargest
from math import inf
from operator import itemgetter

from farebox.search.finding.candidate import Candidate
from farebox.search.finding.rank import Freshness, Place, place_of
from farebox.search.finding.score import CONVINCING, Judge, Met, Score
from farebox.search.finding.stage_store import find, look_at
from farebox.search.finding.walk import NEAR, Walk
from farebox.search.meaning.doubt import OPEN_ABOVE, OPEN_BELOW, READ, Doubt
from farebox.search.meaning.senses import Meanings, Sense
from farebox.search.query.plan import Kind, Stage
from farebox.search.scope import Scope
from farebox.storage.pool import Connection


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
class Gathering:
    """Candidates of one walk while they are brought together, inside one transaction."""

    db: Connection
    scope: Scope
    walk: Walk
    bar: int = CONVINCING  # the evidence with which the first page answers
    _found: dict[int, Candidate] = field(default_factory=dict)
    _by: dict[int, list[FoundBy]] = field(default_factory=dict)
    _likeness: dict[int, int] = field(default_factory=dict)
    _judge: Judge | None = None
    _best: float | None = None

    @property
    def count(self) -> int:
        """How many candidates there are so far."""
        return len(self._found)

    async def replay(self, meanings: Meanings | None) -> None:
        """The walk's own statements, as its first page ran them."""
        for stage in self.walk.stages:
            await self._find(stage)
        if self.walk.sense is not None and meanings is not None:
            await self._near(meanings, self.walk.sense)

    async def run(self, stage: Stage) -> int:
        """What the stage finds is among the candidates; how many it found.

        The walk has one stage more; one that reaches further back stands in the nearer one's place.
        """
        found = await self._find(stage)
        is_cut = self.walk.is_truncated or found >= stage.most
        others = [
            each
            for each in self.walk.stages
            if (each.kind, each.query) != (stage.kind, stage.query)
        ]
        self.walk = replace(self.walk, stages=(*others, stage), is_truncated=is_cut)
        return found

    def has_every_word(self) -> bool:
        """Whether a candidate has every word that says something."""
        judge = self._judging()
        return any(judge.worth(own.ranks, None).is_full for own in self._found.values())

    def cut(self) -> None:
        """There is more than is looked at."""
        self.walk = replace(self.walk, is_truncated=True)

    async def run_near(self, meanings: Meanings, sense: Sense, *, model: str) -> None:
        """What is near in meaning is among the candidates, and every candidate's likeness is known.

        The walk has this sense.
        """
        await self._near(meanings, sense)
        self.walk = replace(self.walk, sense=sense, model=model)

    async def _find(self, stage: Stage) -> int:
        queries, are_phrases = self.walk.probes
        found = await find(self.db, stage, self.scope, queries, are_phrases)
        self._add(found, FoundBy(stage.kind.value))
        return len(found)

    async def _near(self, meanings: Meanings, sense: Sense) -> None:
        self._best = None
        near = await meanings.near(self.db, sense, self.scope, most=NEAR)
        self._likeness |= {each.document_id: each.likeness for each in near}
        wanted = [each.document_id for each in near if each.document_id not in self._found]
        if wanted:
            queries, are_phrases = self.walk.probes
            looked_at = await look_at(
                self.db, wanted, self.scope, queries, are_phrases, must=self.walk.must
            )
            self._add(looked_at, FoundBy.MEANING)
        for each in near:
            by = self._by.get(each.document_id)
            if by is not None and FoundBy.MEANING not in by:
                by.append(FoundBy.MEANING)
        await self._compare_rest(meanings, sense)

    async def _compare_rest(self, meanings: Meanings, sense: Sense) -> None:
        rest = [own for own in self._found.values() if own.document_id not in self._likeness]
        if rest:
            digests = list({own.digest for own in rest})
            known = await meanings.likeness(self.db, sense, self.scope.view, digests)
            for own in rest:
                if own.digest in known:
                    self._likeness[own.document_id] = known[own.digest]

    def _add(self, candidates: Iterable[Candidate], by: FoundBy) -> None:
        self._best = None
        for candidate in candidates:
            self._found.setdefault(candidate.document_id, candidate)
            self._by.setdefault(candidate.document_id, []).append(by)

    def ranked(self, *, after: Place | None) -> Iterator[tuple[Place, Candidate]]:
        """Every candidate that fits and stands behind `after`, in order.

        Whether they answer the query at all may be open: see `doubt`.
        """
        is_strict = self.walk.is_strict
        if after is None and not is_strict and self._above() < -OPEN_BELOW:
            return
        least = inf if after is None else -after[0]  # nothing worth more stands behind it
        found: dict[int, list[Candidate]] = {}
        judge, likeness = self._judging(), self._likeness
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
            at=self.walk.at,
        )

    def doubt(self) -> Doubt | None:
        """The best of what is ranked, where it is open whether it answers the query."""
        if self.walk.is_strict or not -OPEN_BELOW <= self._above() < OPEN_ABOVE:
            return None
        judge = self._judging()
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
            judge, likeness = self._judging(), self._likeness
            self._best = -inf
            for own in self._found.values():
                worth = judge.worth(own.ranks, likeness.get(own.document_id))
                self._best = max(self._best, worth.above(self.bar))
                if self._best >= OPEN_ABOVE:
                    break
        return self._best

    def result(self, place: Place, candidate: Candidate) -> Result:
        """A ranked candidate with all that put it there."""
        judge, likeness = self._judging(), self._likeness.get(candidate.document_id)
        met = judge.meet(candidate.ranks)
        score = judge.score(met, candidate.ranks[self.walk.probe_count :], likeness)
        by = tuple(dict.fromkeys(self._by[candidate.document_id]))
        return Result(candidate, met, score, place, by)

    def _judging(self) -> Judge:
        if self._judge is None:
            self._judge = Judge(self.walk.sought)
        return self._judge
