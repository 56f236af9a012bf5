"""A query whose best listings neither answer it nor are too weak: they are read with it."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from farebox.kernel.secret import Secret
from farebox.search.finding.score import bar_of
from farebox.search.meaning.doubt import OPEN_ABOVE, OPEN_BELOW
from farebox.search.search import Search, SearchRequest
from farebox.search.wire import search_body
from farebox.storage.pool import Database
from support.faulty_database import ping
from support.listings import Listed, list_many
from support.manual_clock import ManualClock
from support.senses import SaidMeaning, SaidMeanings

QUERY = "settle the invoice"
LISTINGS = [
    Listed(f"https://n{n}.example", f"n{n}", tags=("bills",), description=f"Pays bills of kind {n}")
    for n in range(25)
]
BAR = bar_of(3, len(LISTINGS)) - 20  # two words that say something
ANSWERS, DOES_NOT = {"kind 3": 4_000, "Pays": -2_000}, {"Pays": -6_000}


@pytest.fixture
async def ids(database: Database) -> list[int]:
    """The ids of the listings, by their places."""
    return await list_many(database, LISTINGS)


def opened(
    database: Database, ids: Sequence[int], meaning: SaidMeaning, above: Mapping[int, int]
) -> Search:
    """A search in which listings have so much evidence above the bar, by their places."""
    near = {ids[place]: BAR + own for place, own in above.items()}
    meanings = SaidMeanings({QUERY: near})
    return Search(database, ManualClock(), meaning=meaning, meanings=meanings)


def read(meaning: SaidMeaning) -> list[str]:
    """The texts that were read with a request, one after another."""
    return [text for _, texts in meaning.together for text in texts]


async def shown(search: Search) -> list[str]:
    """The names of what is found."""
    page = await search.find(SearchRequest(QUERY, limit=2))
    if not page.hits:
        assert page.cursor is None
    return [hit.listing.resource.metadata.service_name or "" for hit in page.hits]


async def test_an_open_query_is_answered_where_a_listing_read_with_it_is(
    database: Database, ids: list[int]
) -> None:
    for best, odds in product((1 - OPEN_BELOW, -1, 0, OPEN_ABOVE - 1), (ANSWERS, DOES_NOT)):
        meaning = SaidMeaning(odds)
        search = opened(database, ids, meaning, {1: best - 5, 3: best, 5: best - 9})
        assert await shown(search) == (["n3", "n1"] if odds is ANSWERS else []), best
        assert {request for request, _ in meaning.together} == {QUERY}
        assert read(meaning) == ["bills. n3. Pays bills of kind 3"], "the best alone"


async def test_what_is_too_weak_to_be_shown_answers_nothing(database: Database) -> None:
    """In a small catalog the bar is so low that weaker evidence is open, and is not shown."""
    query = "please could somebody settle the invoice of the plumber who came in May"
    ids = await list_many(database, LISTINGS[:5])
    bar = bar_of(len(query.split()), 5)
    assert bar - OPEN_BELOW < 200, "or this shows nothing"
    meaning = SaidMeaning({"kind 3": 9_000, "Pays": -6_000})
    meanings = SaidMeanings({said: {ids[3]: 150, ids[1]: 280} for said in (query, query[13:])})
    search = Search(database, ManualClock(), meaning=meaning, meanings=meanings)
    page = await search.find(SearchRequest(query))
    assert page.hits == ()


async def test_an_explanation_says_what_came_of_it(database: Database, ids: list[int]) -> None:
    for odds, said in (
        (ANSWERS, (True, True, [{"evidence": 9, "logOdds": 2_000}])),
        (DOES_NOT, (False, True, [{"evidence": 9, "logOdds": -6_000}])),
        (None, (True, False, [])),
    ):
        search = opened(database, ids, SaidMeaning(odds), {1: 8, 3: 9})
        page = await search.find(SearchRequest(QUERY, is_explained=True))
        assert page.explanation is not None
        explained: Any = search_body(page, []).explain
        names = ("answered", "inTime", "listings")
        assert explained["readTogether"] == dict(zip(names, said, strict=True))


async def test_a_listing_that_was_taken_down_answers_nothing(
    database: Database, ids: list[int]
) -> None:
    meaning = SaidMeaning(ANSWERS)
    search = opened(database, ids, meaning, {1: 8, 3: 9})
    async with database.connection() as db:
        await db.execute("UPDATE listings SET removed_at = now() WHERE id = $1", ids[3])
    assert await shown(search) == []
    assert read(meaning) == []


async def test_a_clear_case_is_not_read(database: Database, ids: list[int]) -> None:
    for best, is_shown in ((OPEN_ABOVE, True), (-1 - OPEN_BELOW, False)):
        meaning = SaidMeaning({"Pays": -6_000 if is_shown else 6_000})
        assert bool(await shown(opened(database, ids, meaning, {1: best}))) is is_shown
        assert meaning.together == []


async def test_where_it_cannot_be_read_in_time_the_evidence_decides(
    database: Database, ids: list[int]
) -> None:
    for best, is_shown in ((0, True), (-1, False)):
        meaning = SaidMeaning()
        assert bool(await shown(opened(database, ids, meaning, {1: best}))) is is_shown
        assert len(meaning.together) == 1


async def test_pages_behind_the_first_are_not_read_again(
    database: Database, ids: list[int]
) -> None:
    meaning = SaidMeaning(ANSWERS)
    search = opened(database, ids, meaning, {3: 9, 1: 8, 5: 7})
    first = await search.find(SearchRequest(QUERY, limit=2))
    second = await search.find(SearchRequest(QUERY, limit=2, cursor=first.cursor))
    assert [len(first.hits), len(second.hits)] == [2, 1]
    assert len(meaning.together) == 1


class SlowMeaning(SaidMeaning):
    """Reads together until it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.go_on = asyncio.Event(), asyncio.Event()

    async def log_odds(self, request: str, texts: Sequence[str]) -> Sequence[int] | None:
        """It answers, at last."""
        self.began.set()
        await self.go_on.wait()
        return [4_000 for _ in texts]


async def test_no_connection_is_held_while_it_is_read(
    ids: list[int], postgres_url: Secret[str]
) -> None:
    async with Database(postgres_url, connections=1, wait_s=5) as only:
        meaning = SlowMeaning()
        search = opened(only, ids, meaning, {1: -5})
        async with asyncio.timeout(10):
            finding = asyncio.create_task(search.find(SearchRequest(QUERY)))
            await meaning.began.wait()
            await ping(only)
            meaning.go_on.set()
            assert len((await finding).hits) == 1
