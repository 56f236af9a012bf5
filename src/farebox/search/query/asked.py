"""A query as the index knows its words, before any document is looked at."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from farebox.search.meaning.senses import Meaning, Sense
from farebox.search.query.expression import MAX_QUERY, Expression, Term
from farebox.search.query.plan import ENOUGH, FEW_WORDS, LETTER_ENOUGH, strict_query
from farebox.search.query.request_text import asked_for
from farebox.search.query.terms import Role, Sought, content_of, role_of, scored_of
from farebox.search.vocabulary.lexemes import Census


class Reading:
    """What a text means, while the language model reads it."""

    def __init__(self, text: str, task: "asyncio.Task[Sense | None]") -> None:
        self.text, self._task = text, task

    @classmethod
    def begin(cls, meaning: Meaning, text: str, *, over: Callable[[], None]) -> Self:
        """The model reads from here on, and `over` is called when it is done or was ended."""
        task = asyncio.create_task(meaning.encode(text))
        task.add_done_callback(lambda _: over())
        return cls(text, task)

    async def is_over(self, *, within_s: float) -> bool:
        """Whether it is known in so many seconds."""
        await asyncio.wait((self._task,), timeout=within_s)
        return self._task.done()

    async def sense(self) -> Sense | None:
        """What was read; None where there is nothing to be had."""
        return await self._task

    def end(self) -> None:
        """Nobody waits for it any more."""
        self._task.cancel()


@dataclass(frozen=True, slots=True)
class Widened:
    """What else may do for a query: other words, and what means the same."""

    sought: tuple[Sought, ...]
    reading: Reading | None


@dataclass(frozen=True, slots=True)
class AnalyzedQuery:
    """A query, its words with their weights, and what else may do, once that was looked for."""

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
    def read_as(self) -> str:
        """The text that the language model read, mistyped words put right; empty if it did not."""
        reading = None if self.widened is None else self.widened.reading
        return "" if reading is None else reading.text

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

    def leave(self) -> None:
        """Nothing more is wanted of it."""
        if self.widened is not None and self.widened.reading is not None:
            self.widened.reading.end()


def is_language(sought: Sequence[Sought], known: frozenset[str]) -> bool:
    """Whether any word that says something is one: a model finds meaning in any letters."""
    return not known or any(
        term.share > 0.0 or any(part in known for part in term.text.split())
        for term in content_of(sought)
    )
