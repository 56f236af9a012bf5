"""The first page of a search: what is asked becomes a plan, which grows while it finds little."""

from typing import Final

from farebox.search.finding.candidates import Candidates
from farebox.search.finding.gather import Gathering
from farebox.search.finding.score import bar_of
from farebox.search.finding.walk import Walk
from farebox.search.meaning.senses import Meaning, Meanings
from farebox.search.query.asked import AnalyzedQuery
from farebox.search.query.plan import (
    ENOUGH,
    NAMES_ENOUGH,
    AccessPath,
    Kind,
    RecallStage,
    learned,
    loosened_stages,
    must_query,
    reaching,
    reckoned,
    reckoned_again,
    small_stages,
    strict_stages,
)
from farebox.search.scope import Scope
from farebox.search.vocabulary.lexemes import Census
from farebox.storage.pool import Connection

GRACE_S: Final = 0.02  # for which a transaction waits for the language model


class FirstPage:
    """Finds the candidates of a query that no cursor comes with."""

    def __init__(self, *, meaning: Meaning | None, meanings: Meanings | None) -> None:
        self._model = "" if meaning is None else meaning.name
        self._meanings = meanings

    async def gather(self, db: Connection, scope: Scope, asked: AnalyzedQuery) -> Gathering | None:
        """The candidates; the gathering's walk says how they were found.

        None where they are too few and the query is still to be widened, or its meaning to be read.
        """
        walk = Walk(
            scope.view.at,
            snapshot="",
            must=must_query(asked.expression, asked.queries),
            sought=asked.scored,
            stages=(),
            is_strict=not asked.expression.may_be_relaxed,
        )
        bar = bar_of(len(asked.said.split()), asked.census.documents)
        gathering = Gathering(db, scope, walk, Candidates.of(walk, bar=bar))
        if asked.is_nothing:
            return gathering
        is_whole = asked.census.is_small or scope.filters.pay_to is not None
        gather = self._gather_all if is_whole else self._gather_some
        return gathering if await gather(gathering, asked) else None

    async def _gather_all(self, gathering: Gathering, asked: AnalyzedQuery) -> bool:
        """Everything with any of the words is ranked: there is not much of it.

        Whether that is all there is to look for: of one recipient few words are meant to the
        letter, where a listing has them all.
        """
        if asked.may_be_widened and not asked.is_keywords:
            return False
        form = AccessPath.OWNED if gathering.scope.filters.pay_to is not None else AccessPath.INDEX
        walk, is_relaxed = gathering.walk, asked.expression.may_be_relaxed
        for stage in small_stages(
            asked.strict, walk.must, walk.sought, is_relaxed=is_relaxed, form=form
        ):
            await gathering.run(stage)
        if asked.may_be_widened:
            return gathering.candidates.has_every_word()
        return await self._look_near(gathering, asked)

    async def _gather_some(self, gathering: Gathering, asked: AnalyzedQuery) -> bool:
        """Every word first; when they find too little, fewer words, others and the meaning.

        Whether that is all there is to look for.
        """
        for stage in strict_stages(asked.strict, asked.expression, asked.sought):
            found = await _run_surely(gathering, stage, asked.census)
            if stage.kind is Kind.NAMES and found >= min(NAMES_ENOUGH, stage.enough):
                gathering.cut()
                return True
        if len(gathering.candidates) >= asked.enough or not asked.expression.may_be_relaxed:
            return True
        if asked.may_be_widened:
            return False
        for stage in loosened_stages(gathering.walk.sought, gathering.walk.must):
            if len(gathering.candidates) >= ENOUGH:
                gathering.cut()
                break
            await _run_surely(gathering, stage, asked.census)
        return await self._look_near(gathering, asked)

    async def _look_near(self, gathering: Gathering, asked: AnalyzedQuery) -> bool:
        """What means nearly the same is found too; False where that is not known soon."""
        reading = None if asked.widened is None else asked.widened.reading
        if reading is None or self._meanings is None:
            return True
        if not await reading.is_over(within_s=GRACE_S):
            return False
        sense = await reading.sense()
        if sense is not None:
            await gathering.run_near(self._meanings, sense, model=self._model)
        return True


async def _run_surely(gathering: Gathering, stage: RecallStage, census: Census) -> int:
    """Run the stage, as far back as it takes to find enough; how many it found."""
    filters = gathering.scope.filters
    filtered = census.filter_share(filters.network, filters.type)
    looked_at = reckoned(stage, census.ages, filtered=filtered)
    while True:
        reach = reaching(stage, census.ages, looked_at, filtered=filtered, at=gathering.walk.at)
        found = await gathering.run(reach.stage)
        if reach.is_last or found >= stage.enough:
            break
        stage = learned(stage, reach.looked_at, found, filtered=filtered)
        looked_at = reckoned_again(stage, reach.looked_at, filtered=filtered)
    if reach.stage.since is not None:
        gathering.cut()
    return found
