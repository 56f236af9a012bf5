"""What is known of words, remembered: their lexemes for long, their frequency for minutes."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from farebox.kernel.clock import Clock
from farebox.search.scope_store import ONE_PLAN
from farebox.search.vocabulary.lexeme_store import (
    Statistics,
    count_documents,
    count_living,
    count_up_to,
    look_for_phrase,
    read_lexed,
    read_statistics,
)
from farebox.search.vocabulary.lexemes import Census, Lexed
from farebox.storage.pool import Database

SMALL: Final = 3_000  # documents; below, everything is counted and ranked
STALE_S: Final = 120.0
PHRASE_READ: Final = 1_000  # documents with all words of a phrase that are looked through for it
RARE: Final = 300  # a lexeme the statistics do not name is counted up to this
_WORDS: Final = 20_000  # remembered
_NOTHING: Final = Lexed((), is_stop=False)


@dataclass(slots=True)
class _Known:
    statistics: Statistics
    at: float
    rare: dict[str, tuple[int, int]] = field(default_factory=dict)


class Lexicon:
    """Lexemes of words and their frequencies; one for a process.

    A connection is borrowed for what is not remembered, and none is held meanwhile.
    """

    def __init__(self, database: Database, clock: Clock, *, small_below: int = SMALL) -> None:
        self._database, self._clock, self._small_below = database, clock, small_below
        self._lexed: OrderedDict[str, Lexed] = OrderedDict()
        self._known: _Known | None = None

    async def lex(self, words: Iterable[str]) -> dict[str, Lexed]:
        """Every word as the index knows it."""
        wanted = list(dict.fromkeys(words))
        missing = [word for word in wanted if word not in self._lexed]
        if missing:
            async with self._database.snapshot(ONE_PLAN) as db:
                self._lexed |= await read_lexed(db, missing)
        found = {word: self._lexed.get(word, _NOTHING) for word in wanted}
        while len(self._lexed) > _WORDS:
            self._lexed.popitem(last=False)
        return found

    async def census(self, lexemes: Sequence[str]) -> Census:
        """How many documents have these lexemes."""
        known = await self._statistics()
        if known is None:
            async with self._database.snapshot(ONE_PLAN) as db:
                documents, counts = await count_living(db, lexemes)
            return Census(documents, is_small=True, with_lexeme=counts, with_name=counts)
        statistics = known.statistics
        missing = [
            lexeme
            for lexeme in lexemes
            if lexeme not in statistics.with_lexeme and lexeme not in known.rare
        ]
        if missing:
            if len(known.rare) > _WORDS:
                known.rare.clear()
            async with self._database.snapshot(ONE_PLAN) as db:
                known.rare |= await count_up_to(db, missing, most=RARE)
        rare = {lexeme: known.rare.get(lexeme, (0, 0)) for lexeme in lexemes}
        least = min(statistics.with_name.values(), default=0)
        return Census(
            statistics.documents,
            is_small=False,
            with_lexeme={x: statistics.with_lexeme.get(x, rare[x][0]) for x in lexemes},
            with_name={
                x: statistics.with_name.get(x, min(least, rare[x][1] or least)) for x in lexemes
            },
            ages=statistics.ages,
            with_filter=statistics.with_filter,
        )

    async def is_listed(self, phrase: str, lexemes: Sequence[str]) -> bool:
        """Whether a document meets the tsquery, which has these lexemes side by side.

        It is taken to where many have them all: looking on would cost too much.
        """
        async with self._database.snapshot(ONE_PLAN) as db:
            met, read = await look_for_phrase(db, phrase, lexemes, most=PHRASE_READ)
        return met or read == PHRASE_READ

    async def _statistics(self) -> _Known | None:
        """The statistics of a large catalog; None while it is small."""
        now = self._clock.monotonic()
        if self._known is None or now - self._known.at > STALE_S:
            async with self._database.snapshot(ONE_PLAN) as db:
                documents = await count_documents(db, most=self._small_below)
                statistics = Statistics(documents, {}, {})
                if documents >= self._small_below:
                    statistics = await read_statistics(db)
            self._known = _Known(statistics, now)
        return self._known if self._known.statistics.with_lexeme else None
