"""The first page of a search: what is asked becomes a plan, which grows while it finds little."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from farebox.search.expression import MAX_QUERY, Expression, Term, parse
from farebox.search.gather import Gathering
from farebox.search.lexemes import Census
from farebox.search.lexicon import Lexicon
from farebox.search.plan import (
    ENOUGH,
    NAMES_ENOUGH,
    Form,
    Kind,
    Stage,
    learned,
    loosened_stages,
    must_query,
    reaching,
    reckoned,
    reckoned_again,
    small_stages,
    strict_query,
    strict_stages,
)
from farebox.search.request_text import asked_for, with_words_put_right
from farebox.search.scope import Scope
from farebox.search.score import bar_of
from farebox.search.senses import Kinship, Meaning, Meanings, Sense, Words
from farebox.search.terms import (
    Sought,
    content_of,
    scored_of,
    seek,
    term_query,
    with_alternatives,
    words_of,
)
from farebox.search.walk import Walk
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as the index knows its words."""

    text: str
    expression: Expression
    queries: dict[Term, str]
    sought: tuple[Sought, ...]
    census: Census

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is looked for."""
        return not self.sought

    @property
    def meant(self) -> str:
        """The text whose meaning is looked for: without what is excluded, or only asks."""
        return asked_for(self.said)

    @property
    def said(self) -> str:
        """The text without what is excluded."""
        if not self.expression.excluded:
            return self.text[:MAX_QUERY]
        return " ".join(term.text for term in self.expression.terms)


class FirstPage:
    """Finds the candidates of a query that no cursor comes with."""

    def __init__(
        self,
        lexicon: Lexicon,
        *,
        meaning: Meaning | None,
        meanings: Meanings | None,
        words: Words | None,
    ) -> None:
        self._lexicon, self._meaning = lexicon, meaning
        self._meanings, self._words = meanings, words

    async def gather(self, db: Connection, scope: Scope, text: str, snapshot: str) -> Gathering:
        """The candidates; the gathering's walk says how they were found."""
        asked = await self._ask(db, text)
        must = must_query(asked.expression, asked.queries)
        walk = Walk(
            scope.view.at,
            snapshot,
            must,
            scored_of(asked.sought),
            stages=(),
            is_strict=not asked.expression.may_be_relaxed,
        )
        bar = bar_of(len(asked.said.split()), asked.census.documents)
        gathering = Gathering(db, scope, walk, bar)
        if asked.is_nothing:
            return gathering
        if asked.census.is_small or scope.filters.pay_to is not None:
            await self._gather_all(gathering, asked)
        else:
            await self._gather_some(gathering, asked)
        return gathering

    async def _ask(self, db: Connection, text: str) -> Asked:
        expression = parse(text)
        terms = (*expression.terms, *expression.excluded)
        lexed = await self._lexicon.lex(db, words_of(terms))
        lexemes = dict.fromkeys(x for word in lexed.values() for x in word.lexemes)
        census = await self._lexicon.census(db, list(lexemes))
        queries = {term: term_query(term, lexed) for term in terms}
        return Asked(text, expression, queries, seek(expression.terms, lexed, census), census)

    async def _gather_all(self, gathering: Gathering, asked: Asked) -> None:
        """Everything with any of the words is ranked: there is not much of it."""
        form = Form.OWNED if gathering.scope.filters.pay_to is not None else Form.INDEX
        is_relaxed = asked.expression.may_be_relaxed
        put_right = await self._widen(gathering) if is_relaxed else {}
        async with self._encoded(asked, put_right) as encoding:
            walk = gathering.walk
            strict = strict_query(asked.expression, asked.queries, asked.sought)
            for stage in small_stages(
                strict, walk.must, walk.sought, is_relaxed=is_relaxed, form=form
            ):
                await gathering.run(stage)
            await self._look_near(gathering, encoding)

    async def _gather_some(self, gathering: Gathering, asked: Asked) -> None:
        """Every word first; when they find too little, fewer words, others and the meaning."""
        strict = strict_query(asked.expression, asked.queries, asked.sought)
        for stage in strict_stages(strict, asked.expression, asked.sought):
            found = await _run_surely(gathering, stage, asked.census)
            if stage.kind is Kind.NAMES and found >= min(NAMES_ENOUGH, stage.enough):
                gathering.cut()
                return
        if gathering.count >= ENOUGH or not asked.expression.may_be_relaxed:
            return
        put_right = await self._widen(gathering)
        async with self._encoded(asked, put_right) as encoding:
            for stage in loosened_stages(gathering.walk.sought, gathering.walk.must):
                if gathering.count >= ENOUGH:
                    gathering.cut()
                    break
                await _run_surely(gathering, stage, asked.census)
            await self._look_near(gathering, encoding)

    async def _widen(self, gathering: Gathering) -> Mapping[str, str]:
        """The terms may be met by other words from here on; mistyped ones as they were meant."""
        if self._words is None:
            return {}
        db, sought = gathering.db, gathering.walk.sought
        alternatives = await self._words.expand(db, [term.text for term in sought])
        words = {word for found in alternatives.values() for x in found for word in x.word.split()}
        if words:
            lexed = await self._lexicon.lex(db, words)
            lexemes = dict.fromkeys(x for word in lexed.values() for x in word.lexemes)
            census = await self._lexicon.census(db, list(lexemes))
            await gathering.seek(with_alternatives(sought, alternatives, lexed, census))
        return {
            word: found[0].word
            for word, found in alternatives.items()
            if found and found[0].kinship is Kinship.TYPO
        }

    @asynccontextmanager
    async def _encoded(
        self, asked: Asked, put_right: Mapping[str, str]
    ) -> AsyncIterator["asyncio.Task[Sense | None] | None"]:
        """The query's meaning with its words put right, computed while the statements run."""
        if self._meaning is None or not asked.expression.may_be_relaxed:
            yield None
            return
        text = with_words_put_right(asked.meant, put_right)
        encoding = asyncio.create_task(self._meaning.encode(text))
        try:
            yield encoding
        finally:
            encoding.cancel()

    async def _look_near(
        self, gathering: Gathering, encoding: "asyncio.Task[Sense | None] | None"
    ) -> None:
        if encoding is None or self._meaning is None or self._meanings is None:
            return
        if not _is_language(gathering.walk.sought, self._meaning.words()):
            return
        sense = await encoding
        if sense is None:
            return
        await gathering.run_near(self._meanings, sense, model=self._meaning.name)


def _is_language(sought: Sequence[Sought], known: frozenset[str]) -> bool:
    """Whether any word that says something is one: a model finds meaning in any letters."""
    return not known or any(
        term.share > 0.0 or any(part in known for part in term.text.split())
        for term in content_of(sought)
    )


async def _run_surely(gathering: Gathering, stage: Stage, census: Census) -> int:
    """Run the stage, as far back as it takes to find enough; how many it found."""
    filters = gathering.scope.filters
    filtered = census.filter_share(filters.network, filters.type)
    looked_at = reckoned(stage, census.ages, filtered=filtered)
    while True:
        reach, is_last = reaching(stage, census.ages, looked_at, filtered=filtered)
        found = await gathering.run(reach)
        if is_last or found >= stage.enough:
            break
        stage = learned(stage, looked_at, found, filtered=filtered)
        looked_at = reckoned_again(stage, looked_at, filtered=filtered)
    if reach.since is not None:
        gathering.cut()
    return found
