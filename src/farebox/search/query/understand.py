"""What is asked, read before any document is: words with their weights, others, and the meaning.

A connection is borrowed for each statement of it, and none is held while the language model reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from farebox.catalog.listing import ListingFilters
from farebox.search.meaning.senses import Meaning
from farebox.search.query.asked import AnalyzedQuery, Reading, Widened, is_language
from farebox.search.query.expression import Expression, Term, parse
from farebox.search.query.plan import strict_stages
from farebox.search.query.request_text import with_words_put_right
from farebox.search.query.terms import (
    Sought,
    content_of,
    scored_of,
    seek,
    term_query,
    with_alternatives,
    words_of,
)
from farebox.search.vocabulary.alternative import Alternative, Kinship, Words
from farebox.search.vocabulary.lexicon import Lexicon
from farebox.storage.pool import Database


class Understanding:
    """Understands queries; one for a process. `meaning` and `words` may be absent."""

    def __init__(
        self, database: Database, lexicon: Lexicon, *, meaning: Meaning | None, words: Words | None
    ) -> None:
        self._database, self._lexicon = database, lexicon
        self._meaning, self._words = meaning, words
        self._readings = 0  # that wait for the model

    async def ask(self, text: str, filters: ListingFilters) -> AnalyzedQuery:
        """The query as the catalog knows its words; widened where that is likely to be needed."""
        expression = parse(text)
        asked = await self._ask(text, expression)
        quoted = expression.quotations
        examples = [term for term in quoted if not await self._is_listed(term, asked)]
        if examples:
            asked = await self._ask(text, expression.with_examples(examples))
        return await self.widen(asked) if _is_likely_widened(asked, filters) else asked

    async def _is_listed(self, quoted: Term, asked: AnalyzedQuery) -> bool:
        """Whether a listing may have these words side by side."""
        lexed = await self._lexicon.lex(quoted.parts)
        lexemes = [lexeme for part in quoted.parts for lexeme in lexed[part].lexemes]
        if any(asked.census.share(lexeme) == 0.0 for lexeme in lexemes):
            return False
        return await self._lexicon.is_listed(asked.queries[quoted], lexemes)

    async def _ask(self, text: str, expression: Expression) -> AnalyzedQuery:
        terms = (*expression.terms, *expression.excluded)
        lexed = await self._lexicon.lex(words_of(terms))
        lexemes = dict.fromkeys(x for word in lexed.values() for x in word.lexemes)
        census = await self._lexicon.census(list(lexemes))
        queries = {term: term_query(term, lexed) for term in terms}
        return AnalyzedQuery(
            text, expression, queries, seek(expression.terms, lexed, census), census
        )

    async def widen(self, asked: AnalyzedQuery) -> AnalyzedQuery:
        """The query with other words for its own, and its meaning with mistyped ones put right.

        A model that nobody else waits for may still be reading when this returns; asked again, it
        has been read.
        """
        if not asked.may_be_widened:
            await _read_to_the_end(asked)
            return asked
        sought = scored_of(asked.sought)
        # what every listing's words and the list of common ones know is not going to be put right
        is_known = all(term.share > 0.0 for term in content_of(sought))
        reading = self._read(asked.meant) if is_known else None
        try:
            sought, put_right = await self._other_words(sought)
        except BaseException:
            if reading is not None:
                reading.end()
            raise
        if self._meaning is not None and is_language(sought, self._meaning.words()):
            reading = self._read(with_words_put_right(asked.meant, put_right), reading)
        widened = replace(asked, widened=Widened(sought, reading))
        if self._readings > 1:
            await _read_to_the_end(widened)
        return widened

    def _read(self, text: str, begun: Reading | None = None) -> Reading | None:
        """The text is being read; one that was begun goes on if it is of the same text."""
        if begun is not None:
            if begun.text == text:
                return begun
            begun.end()
        if self._meaning is None:
            return None
        self._readings += 1
        return Reading.begin(self._meaning, text, over=self._over)

    def _over(self) -> None:
        self._readings -= 1

    async def _other_words(
        self, sought: tuple[Sought, ...]
    ) -> tuple[tuple[Sought, ...], Mapping[str, str]]:
        """The terms with what may stand for them, and mistyped words as they were meant."""
        if self._words is None:
            return sought, {}
        alternatives = await self._words.expand(self._database, [term.text for term in sought])
        put_right = {
            word: found[0].word
            for word, found in alternatives.items()
            if found and found[0].kinship is Kinship.TYPO
        }
        return await self._with_alternatives(sought, alternatives), put_right

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


async def _read_to_the_end(asked: AnalyzedQuery) -> None:
    reading = None if asked.widened is None else asked.widened.reading
    if reading is not None:
        await reading.sense()


def _is_likely_widened(asked: AnalyzedQuery, filters: ListingFilters) -> bool:
    """Whether more is likely to be looked for than every word, so that it is read beforehand."""
    if asked.census.is_small or not asked.may_be_widened:
        return asked.may_be_widened
    stages = strict_stages(asked.strict, asked.expression, asked.sought)
    if asked.is_keywords or filters.pay_to is not None:
        return not stages or not asked.is_keywords
    filtered = asked.census.filter_share(filters.network, filters.type)
    likely = max((stage.share for stage in stages), default=0.0) * filtered
    return likely * asked.census.documents < asked.enough
