"""Measure the search query by query, in a process of its own.

`main` reads one plan as JSON on standard input and writes the samples as JSON on standard output.
"""

import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from bench import search_tantivy
from bench.plan_input import run_plan_of_input
from bench.search_listings import Generator
from bench.search_queries import FilterKind, Kind, Query, draw
from bench.search_samples import Sample, log_to_stderr
from farebox.kernel.clock import SystemClock
from farebox.kernel.secret import Secret
from farebox.search.meaning.meaning import LanguageModel
from farebox.search.meaning.meanings import StoredMeanings
from farebox.search.search import Search, SearchRequest
from farebox.search.vocabulary.words import CatalogWords
from farebox.search.vocabulary.written import read_written
from farebox.semantic.encoder import load_encoder
from farebox.storage.pool import Connection, Database
from testing.database import connected
from testing.machine import say

PAGE: Final = 20
LAST_PAGE: Final = 10
_PLAIN: Final = """
    SELECT listing_id FROM search_documents
    WHERE tsv @@ websearch_to_tsquery('english', $1) AND died IS NULL
    ORDER BY ts_rank_cd(tsv, websearch_to_tsquery('english', $1)) DESC, updated_at DESC, listing_id
    LIMIT 21
"""
_PAGED_FILTERS: Final = (FilterKind.NOTHING, FilterKind.NETWORK)


class Plan(msgspec.Struct, frozen=True):
    """The queries to measure."""

    url: str
    listings: int
    each: int  # queries of a kind
    rounds: int
    index: str = ""  # the comparison engine's; empty: ours alone
    plain: int = 0  # queries of a kind for the plain statement


class ClientReport(msgspec.Struct, frozen=True):
    """The samples and the recall stages that found something."""

    samples: list[Sample]
    stages: list[str]  # that found something, of all of them


class SearchClient:
    """Sends queries one after the other and records their latency."""

    def __init__(self, plan: Plan, search: Search, db: Connection) -> None:
        self._plan, self._search, self._db = plan, search, db
        self._queries = draw(Generator(), listings=plan.listings, each=plan.each)
        self._engine = search_tantivy.Engine(Path(plan.index)) if plan.index else None
        self._samples: list[Sample] = []
        self._turn = 0
        self.stages: set[str] = set()  # that brought a listing onto a first page

    async def run(self) -> list[Sample]:
        """Warm up with first pages, then run all queries `rounds` times, sides in turn."""
        for turn in range(self._plan.rounds + 1):
            if turn == 1:
                self._samples.clear()
            for query in self._queries:
                if turn == 0:
                    await self._record_stages(query)
                for filter_kind in FilterKind:
                    await self._measure_first_page(query, filter_kind)
                for filter_kind in _PAGED_FILTERS if turn else ():
                    await self._page_through(query, filter_kind)
            label = "warm" if turn == 0 else f"round {turn} of {self._plan.rounds}"
            say(f"{self._plan.listings:,}: {label}, {len(self._samples):,} answers")
        await self._measure_plain_statement()
        return self._samples

    def _with_fresh_marks(self, query: Query) -> str:
        """Append punctuation to the query, so that no embedding is cached."""
        self._turn += 1
        if query.kind is Kind.EXPRESSION:
            return query.text
        marks = "".join("?!.,"[self._turn >> shift & 3] for shift in range(0, 12, 2))
        return f"{query.text} {marks}"

    async def _measure_first_page(self, query: Query, filter_kind: FilterKind) -> None:
        await self._fetch_page(
            query, filter_kind, 1, None, self._with_fresh_marks(query), counted=1
        )
        if self._engine is not None:
            began = time.perf_counter()
            found = self._engine.find(query, query.filters(filter_kind), limit=PAGE, page=0)
            self._record("tantivy", query, filter_kind, 1, began, len(found))

    async def _record_stages(self, query: Query) -> None:
        page = await self._search.find(SearchRequest(query.text, is_explained=True))
        self.stages |= {by.value for hit in page.hits if hit.why for by in hit.why.found_by}

    async def _page_through(self, query: Query, filter_kind: FilterKind) -> None:
        """Fetch page after page by cursor; measure the tenth, if there is one."""
        cursor: str | None = None
        text = self._with_fresh_marks(query)
        for number in range(1, LAST_PAGE + 1):
            cursor = await self._fetch_page(
                query, filter_kind, number, cursor, text, counted=LAST_PAGE
            )
            if cursor is None:
                return
        if self._engine is not None:
            began = time.perf_counter()
            found = self._engine.find(
                query, query.filters(filter_kind), limit=PAGE, page=LAST_PAGE - 1
            )
            self._record("tantivy", query, filter_kind, LAST_PAGE, began, len(found))

    async def _fetch_page(
        self,
        query: Query,
        filter_kind: FilterKind,
        number: int,
        cursor: str | None,
        text: str,
        *,
        counted: int,
    ) -> str | None:
        request = SearchRequest(text, query.filters(filter_kind), limit=PAGE, cursor=cursor)
        began = time.perf_counter()
        page = await self._search.find(request)
        if number == counted:
            self._record("ours", query, filter_kind, number, began, len(page.hits))
        return page.cursor

    async def _measure_plain_statement(self) -> None:
        """Measure a search without stages, which reads and ranks every match."""
        for kind in Kind:
            for query in [each for each in self._queries if each.kind is kind][: self._plan.plain]:
                began = time.perf_counter()
                found = await self._db.fetch(_PLAIN, query.text)
                self._record("plain", query, FilterKind.NOTHING, 1, began, len(found))

    def _record(
        self, side: str, query: Query, filter_kind: FilterKind, page: int, began: float, hits: int
    ) -> None:
        took = (time.perf_counter() - began) * 1000
        self._samples.append(Sample(side, query.kind, filter_kind, page, round(took, 3), hits))


@asynccontextmanager
async def open_search(url: Secret[str]) -> AsyncIterator[Search]:
    """Open the search use case with every installed stage, as the service composes it."""
    clock = SystemClock()
    async with (
        Database(url, connections=2, statement_s=30) as database,
        LanguageModel(load_encoder) as model,
    ):
        await model.is_present()  # loaded before the clock runs
        meanings, words = StoredMeanings(clock), CatalogWords(model.words, read_written)
        yield Search(database, clock, meaning=model, meanings=meanings, words=words)


async def _run_plan(plan: Plan) -> ClientReport:
    async with (
        connected(plan.url, statement_s=120) as db,
        open_search(Secret(plan.url)) as search,
    ):
        client = SearchClient(plan, search, db)
        gc.freeze()  # keep the generator's words out of garbage collection
        return ClientReport(await client.run(), sorted(client.stages))


def main() -> int:
    """Run the plan on standard input."""
    log_to_stderr()
    return run_plan_of_input(Plan, _run_plan, uvloop.run)
