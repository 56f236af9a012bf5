"""Ask the search one query after another in a process of its own, and tell how long each took.

`main` reads one plan as JSON on standard input and writes the samples as JSON on standard output.
"""

import gc
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import asyncpg
import msgspec
import uvloop

from bench import search_tantivy
from bench.search_listings import Generator
from bench.search_queries import Kind, Narrowed, Query, draw
from bench.search_samples import Sample, log_to_stderr
from e2e.machine import say
from farebox.kernel.clock import SystemClock
from farebox.kernel.secret import Secret
from farebox.search.meaning.meaning import LanguageModel
from farebox.search.meaning.meanings import StoredMeanings
from farebox.search.search import Search, SearchRequest
from farebox.search.vocabulary.words import CatalogWords
from farebox.search.vocabulary.written import read_written
from farebox.semantic.encoder import load_encoder
from farebox.storage.pool import Connection, Database

PAGE: Final = 20
TENTH: Final = 10
_PLAIN: Final = """
    SELECT listing_id FROM search_documents
    WHERE tsv @@ websearch_to_tsquery('english', $1) AND died IS NULL
    ORDER BY ts_rank_cd(tsv, websearch_to_tsquery('english', $1)) DESC, updated_at DESC, listing_id
    LIMIT 21
"""
_WALKED: Final = (Narrowed.NOTHING, Narrowed.NETWORK)


class Plan(msgspec.Struct, frozen=True):
    """What to ask."""

    url: str
    listings: int
    each: int  # queries of a kind
    rounds: int
    index: str = ""  # the comparison engine's; empty: ours alone
    plain: int = 0  # queries of a kind for the plain statement


class Answer(msgspec.Struct, frozen=True):
    """What came of it."""

    samples: list[Sample]
    stages: list[str]  # that found something, of all of them


class Asker:
    """Asks in turn and keeps what it took; nothing else runs in this process."""

    def __init__(self, plan: Plan, search: Search, db: Connection) -> None:
        self._plan, self._search, self._db = plan, search, db
        self._queries = draw(Generator(), listings=plan.listings, each=plan.each)
        self._engine = search_tantivy.Engine(Path(plan.index)) if plan.index else None
        self._samples: list[Sample] = []
        self._turn = 0
        self.stages: set[str] = set()  # that brought a listing onto a first page

    async def run(self) -> list[Sample]:
        """First pages once to warm, then everything as often as planned, sides in turn."""
        for turn in range(self._plan.rounds + 1):
            if turn == 1:
                self._samples.clear()
            for query in self._queries:
                if turn == 0:
                    await self._explained(query)
                for narrowed in Narrowed:
                    await self._first(query, narrowed)
                for narrowed in _WALKED if turn else ():
                    await self._walk(query, narrowed)
            told = "warm" if turn == 0 else f"round {turn} of {self._plan.rounds}"
            say(f"{self._plan.listings:,}: {told}, {len(self._samples):,} answers")
        await self._plainly()
        return self._samples

    def _reworded(self, query: Query) -> str:
        """The query with marks behind it that say nothing: no meaning is remembered from before."""
        self._turn += 1
        if query.kind is Kind.EXPRESSION:
            return query.text
        marks = "".join("?!.,"[self._turn >> shift & 3] for shift in range(0, 12, 2))
        return f"{query.text} {marks}"

    async def _first(self, query: Query, narrowed: Narrowed) -> None:
        await self._page(query, narrowed, 1, None, self._reworded(query), counted=1)
        if self._engine is not None:
            began = time.perf_counter()
            found = self._engine.find(query, query.filters(narrowed), limit=PAGE, page=0)
            self._keep("tantivy", query, narrowed, 1, began, len(found))

    async def _explained(self, query: Query) -> None:
        page = await self._search.find(SearchRequest(query.text, is_explained=True))
        self.stages |= {by.value for hit in page.hits if hit.why for by in hit.why.found_by}

    async def _walk(self, query: Query, narrowed: Narrowed) -> None:
        """Page after page by cursor; the tenth one counts, as far as there are so many."""
        cursor: str | None = None
        text = self._reworded(query)
        for number in range(1, TENTH + 1):
            cursor = await self._page(query, narrowed, number, cursor, text, counted=TENTH)
            if cursor is None:
                return
        if self._engine is not None:
            began = time.perf_counter()
            found = self._engine.find(query, query.filters(narrowed), limit=PAGE, page=TENTH - 1)
            self._keep("tantivy", query, narrowed, TENTH, began, len(found))

    async def _page(
        self,
        query: Query,
        narrowed: Narrowed,
        number: int,
        cursor: str | None,
        text: str,
        *,
        counted: int,
    ) -> str | None:
        request = SearchRequest(text, query.filters(narrowed), limit=PAGE, cursor=cursor)
        began = time.perf_counter()
        page = await self._search.find(request)
        if number == counted:
            self._keep("ours", query, narrowed, number, began, len(page.hits))
        return page.cursor

    async def _plainly(self) -> None:
        """What a search without stages costs: every match is read and ranked."""
        for kind in Kind:
            for query in [each for each in self._queries if each.kind is kind][: self._plan.plain]:
                began = time.perf_counter()
                found = await self._db.fetch(_PLAIN, query.text)
                self._keep("plain", query, Narrowed.NOTHING, 1, began, len(found))

    def _keep(
        self, side: str, query: Query, narrowed: Narrowed, page: int, began: float, hits: int
    ) -> None:
        took = (time.perf_counter() - began) * 1000
        self._samples.append(Sample(side, query.kind, narrowed, page, round(took, 3), hits))


@asynccontextmanager
async def open_search(url: Secret[str]) -> AsyncIterator[Search]:
    """The use case with every stage this installation has, as the service puts it together."""
    clock = SystemClock()
    async with (
        Database(url, connections=2, statement_s=30) as database,
        LanguageModel(load_encoder) as model,
    ):
        await model.is_present()  # loaded before the clock runs
        meanings, words = StoredMeanings(clock), CatalogWords(model.words, read_written)
        yield Search(database, clock, meaning=model, meanings=meanings, words=words)


async def _asked(plan: Plan) -> Answer:
    db = await asyncpg.connect(plan.url, command_timeout=120)
    try:
        async with open_search(Secret(plan.url)) as search:
            asker = Asker(plan, search, db)
            gc.freeze()  # the generator's words are not the search's to look through
            return Answer(await asker.run(), sorted(asker.stages))
    finally:
        await db.close()


def main() -> int:
    """Run the plan on standard input."""
    log_to_stderr()
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    sys.stdout.buffer.write(msgspec.json.encode(uvloop.run(_asked(plan))) + b"\n")
    return 0
