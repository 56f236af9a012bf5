"""Candidates of one walk: found by its statements, and by their meaning."""

from dataclasses import dataclass, replace

from farebox.search.finding.candidates import Candidates, FoundBy
from farebox.search.finding.stage_store import find, look_at
from farebox.search.finding.walk import NEAR, Walk
from farebox.search.meaning.senses import Meanings, Sense
from farebox.search.query.plan import RecallStage
from farebox.search.scope import Scope
from farebox.storage.pool import Connection


@dataclass(slots=True)
class Gathering:
    """Candidates of one walk while they are brought together, inside one transaction."""

    db: Connection
    scope: Scope
    walk: Walk
    candidates: Candidates

    async def replay(self, meanings: Meanings | None) -> None:
        """The walk's own statements, as its first page ran them."""
        for stage in self.walk.stages:
            await self._find(stage)
        if self.walk.sense is not None and meanings is not None:
            await self._near(meanings, self.walk.sense)

    async def run(self, stage: RecallStage) -> int:
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

    def cut(self) -> None:
        """There is more than is looked at."""
        self.walk = replace(self.walk, is_truncated=True)

    async def run_near(self, meanings: Meanings, sense: Sense, *, model: str) -> None:
        """What is near in meaning is among the candidates, and every candidate's likeness is known.

        The walk has this sense.
        """
        await self._near(meanings, sense)
        self.walk = replace(self.walk, sense=sense, model=model)

    async def _find(self, stage: RecallStage) -> int:
        queries, are_phrases = self.walk.probes
        found = await find(self.db, stage, self.scope, queries, are_phrases)
        self.candidates.add(found, FoundBy(stage.kind.value))
        return len(found)

    async def _near(self, meanings: Meanings, sense: Sense) -> None:
        near = await meanings.near(self.db, sense, self.scope, most=NEAR)
        wanted = [each.document_id for each in near if each.document_id not in self.candidates]
        if wanted:
            queries, are_phrases = self.walk.probes
            looked_at = await look_at(
                self.db, wanted, self.scope, queries, are_phrases, must=self.walk.must
            )
            self.candidates.add(looked_at, FoundBy.MEANING)
        self.candidates.are_near(near)
        if digests := self.candidates.of_unknown_likeness():
            self.candidates.are_alike(
                await meanings.likeness(self.db, sense, self.scope.view, digests)
            )
