"""The first page of a search: what is asked becomes a plan, which grows while it finds little."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from farebox.catalog.filters import Filters
from farebox.search.expression import MAX_QUERY, Expression, Term, parse
from farebox.search.gather import Gathering
from farebox.search.lexemes import Census
from farebox.search.lexicon import Lexicon
from farebox.search.plan import (
    ENOUGH,
    FEW_WORDS,
    LETTER_ENOUGH,
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
    whole_stages,
)
from farebox.search.request_text import asked_for, with_words_put_right
from farebox.search.scope import Scope
from farebox.search.scope_store import ONE_PLAN
from farebox.search.score import bar_of
from farebox.search.senses import Alternative, Kinship, Meaning, Meanings, Sense, Words
from farebox.search.terms import (
    Role,
    Sought,
    content_of,
    role_of,
    scored_of,
    seek,
    term_query,
    with_alternatives,
    words_of,
)
from farebox.search.walk import Walk
from farebox.storage.pool import Connection, Database


@dataclass(frozen=True, slots=True)
class Widened:
    """What else may do for a query: other words, and what means the same."""

    sought: tuple[Sought, ...]
    sense: Sense | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as the index knows its words, before any document is looked at."""

    text: str
    expression: Expression
    queries: dict[Term, str]
    sought: tuple[Sought, ...]
    census: Census
    widened: Widened | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is looked for."""
        return not self.sought

    @property
    def may_be_widened(self) -> bool:
        """Whether other words may do too, and were not looked for yet."""
        return self.widened is None and bool(self.sought) and self.expression.may_be_relaxed

    @property
    def is_keywords(self) -> bool:
        """Whether nothing but a few words that say something was typed."""
        terms = self.expression.terms
        return len(terms) <= FEW_WORDS and all(role_of(each) is not Role.REQUEST for each in terms)

    @property
    def enough(self) -> int:
        """With so many documents that have every word, nothing else is looked for."""
        return LETTER_ENOUGH if self.is_keywords else ENOUGH

    @property
    def strict(self) -> str:
        """A tsquery for the query to the letter."""
        return strict_query(self.expression, self.queries, self.sought)

    @property
    def scored(self) -> tuple[Sought, ...]:
        """What documents are held against."""
        return scored_of(self.sought) if self.widened is None else self.widened.sought

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
        database: Database,
        lexicon: Lexicon,
        *,
        meaning: Meaning | None,
        meanings: Meanings | None,
        words: Words | None,
    ) -> None:
        self._database, self._lexicon = database, lexicon
        self._meaning, self._meanings, self._words = meaning, meanings, words

    async def ask(self, text: str, filters: Filters) -> Asked:
        """The query as the catalog knows its words; widened where that is likely to be needed.

        No connection is held while the language model reads.
        """
        expression = parse(text)
        terms = (*expression.terms, *expression.excluded)
        lexed = await self._lexicon.lex(words_of(terms))
        lexemes = dict.fromkeys(x for word in lexed.values() for x in word.lexemes)
        census = await self._lexicon.census(list(lexemes))
        queries = {term: term_query(term, lexed) for term in terms}
        sought = seek(expression.terms, lexed, census)
        asked = Asked(text, expression, queries, sought, census)
        return await self.widen(asked) if _is_likely_widened(asked, filters) else asked

    async def widen(self, asked: Asked) -> Asked:
        """The query with other words for its own, mistyped ones as they were meant, and its sense.

        No connection is held while the language model reads.
        """
        if not asked.may_be_widened:
            return asked
        sought, put_right = scored_of(asked.sought), dict[str, str]()
        if self._words is not None:
            async with self._database.snapshot(ONE_PLAN) as db:
                alternatives = await self._words.expand(db, [term.text for term in sought])
            sought = await self._with_alternatives(sought, alternatives)
            put_right = {
                word: found[0].word
                for word, found in alternatives.items()
                if found and found[0].kinship is Kinship.TYPO
            }
        sense = None
        if self._meaning is not None and _is_language(sought, self._meaning.words()):
            sense = await self._meaning.encode(with_words_put_right(asked.meant, put_right))
        return replace(asked, widened=Widened(sought, sense))

    async def _with_alternatives(
        self, sought: tuple[Sought, ...], alternatives: Mapping[str, Sequence[Alternative]]
    ) -> tuple[Sought, ...]:
        words = {word for found in alternatives.values() for x in found for word in x.word.split()}
        if not words:
            return sought
        lexed = await self._lexicon.lex(words)
        lexemes = dict.fromkeys(x for word in lexed.values() for x in word.lexemes)
        census = await self._lexicon.census(list(lexemes))
        return with_alternatives(sought, alternatives, lexed, census)

    async def gather(self, db: Connection, scope: Scope, asked: Asked) -> Gathering | None:
        """The candidates; the gathering's walk says how they were found.

        None where they are too few and the query is still to be widened.
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
        gathering = Gathering(db, scope, walk, bar)
        if asked.is_nothing:
            return gathering
        is_whole = asked.census.is_small or scope.filters.pay_to is not None
        gather = self._gather_all if is_whole else self._gather_some
        return gathering if await gather(gathering, asked) else None

    async def _gather_all(self, gathering: Gathering, asked: Asked) -> bool:
        """Everything with any of the words is ranked: there is not much of it.

        Whether that is all there is to look for.
        """
        form = Form.OWNED if gathering.scope.filters.pay_to is not None else Form.INDEX
        if not asked.census.is_small:  # of one recipient
            for stage in whole_stages(asked.strict, form):
                await gathering.run(stage)
            if gathering.count >= asked.enough or not asked.expression.may_be_relaxed:
                return True
        if asked.may_be_widened:
            return False
        walk, is_relaxed = gathering.walk, asked.expression.may_be_relaxed
        for stage in small_stages(
            asked.strict, walk.must, walk.sought, is_relaxed=is_relaxed, form=form
        ):
            await gathering.run(stage)
        await self._look_near(gathering, asked)
        return True

    async def _gather_some(self, gathering: Gathering, asked: Asked) -> bool:
        """Every word first; when they find too little, fewer words, others and the meaning.

        Whether that is all there is to look for.
        """
        for stage in strict_stages(asked.strict, asked.expression, asked.sought):
            found = await _run_surely(gathering, stage, asked.census)
            if stage.kind is Kind.NAMES and found >= min(NAMES_ENOUGH, stage.enough):
                gathering.cut()
                return True
        if gathering.count >= asked.enough or not asked.expression.may_be_relaxed:
            return True
        if asked.may_be_widened:
            return False
        for stage in loosened_stages(gathering.walk.sought, gathering.walk.must):
            if gathering.count >= ENOUGH:
                gathering.cut()
                break
            await _run_surely(gathering, stage, asked.census)
        await self._look_near(gathering, asked)
        return True

    async def _look_near(self, gathering: Gathering, asked: Asked) -> None:
        sense = None if asked.widened is None else asked.widened.sense
        if sense is not None and self._meaning is not None and self._meanings is not None:
            await gathering.run_near(self._meanings, sense, model=self._meaning.name)


def _is_likely_widened(asked: Asked, filters: Filters) -> bool:
    """Whether more is likely to be looked for than every word, so that it is read beforehand."""
    if asked.census.is_small or not asked.may_be_widened:
        return asked.may_be_widened
    stages = strict_stages(asked.strict, asked.expression, asked.sought)
    if asked.is_keywords or filters.pay_to is not None:
        return not stages or not asked.is_keywords
    filtered = asked.census.filter_share(filters.network, filters.type)
    likely = max((stage.share for stage in stages), default=0.0) * filtered
    return likely * asked.census.documents < asked.enough


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
