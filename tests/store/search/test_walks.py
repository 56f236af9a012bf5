"""Walks over pages while listings change: nothing twice, nothing missed that stayed."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count, cycle
from typing import Any, Final

import pytest

from farebox.catalog.listing import ListingFilters
from farebox.search.finding import gather
from farebox.search.finding.candidate import Candidate
from farebox.search.finding.cursor import CURSOR_LIFE, BadCursor
from farebox.search.finding.stage_store import find
from farebox.search.index_store import StoredIndex, prune_versions
from farebox.search.query.plan import RecallStage
from farebox.search.search import Search, SearchPage, SearchRequest
from farebox.storage.pool import Connection, Database
from support.listings import UPDATED, Listed, list_many
from support.manual_clock import ManualClock
from support.promises import promise

STAY: Final = 120  # listings that nobody removes or rewrites
WRITERS: Final = 50
SIZES: Final = pytest.mark.parametrize("small_below", [20_000, 1], ids=["small", "large"])


def tides(number: int) -> Listed:
    """One of many that a query finds, each in a field of its own weight."""
    plain = Listed(
        f"https://n{number}.example",
        f"n{number}",
        updated_at=UPDATED - timedelta(hours=number % 40),
        payers=number % 5,
    )
    if number % 3 == 0:
        return replace(plain, tags=("tides",))
    return replace(plain, description="The tides of the sea." if number % 3 == 1 else "Tides.")


async def opened(database: Database, small_below: int, items: Sequence[Listed]) -> Search:
    await list_many(database, items)
    async with database.connection() as db:
        await db.execute("ANALYZE search_documents")
    return Search(database, ManualClock(), small_below=small_below)


def names(page: SearchPage) -> list[str]:
    return [hit.listing.resource.metadata.service_name or "" for hit in page.hits]


async def at_once() -> None:
    """Nothing happens between two pages."""


async def walk(
    search: Search,
    *,
    limit: int,
    further: Search | None = None,
    between: Callable[[], Awaitable[None]] = at_once,
) -> list[str]:
    """Every page to the end; the first by `search`, and the others where it is given by `further`,
    in turn with it: neither knows what the other has found.
    """
    query, turns = "tides", cycle((further or search, search))
    page = await search.find(SearchRequest(query, limit=limit))
    seen = names(page)
    while page.cursor is not None:
        assert len(page.hits) == limit
        await between()
        page = await next(turns).find(SearchRequest(query, limit=limit, cursor=page.cursor))
        assert page.hits  # a cursor is given only where more lies behind it
        seen += names(page)
    return seen


def another(database: Database, small_below: int) -> Search:
    """The search of another process."""
    return Search(database, ManualClock(), small_below=small_below)


@SIZES
@promise("search:partial-results")
async def test_pages_put_together_are_the_whole(database: Database, small_below: int) -> None:
    search = await opened(database, small_below, [tides(n) for n in range(40)])
    whole = names(await search.find(SearchRequest("tides", limit=100)))
    assert len(whole) == 40
    for limit in (1, 7, 40, 100):
        assert await walk(search, limit=limit) == whole
        assert await walk(search, limit=limit, further=another(database, small_below)) == whole


async def test_a_walk_that_is_known_here_is_not_looked_for_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = await opened(database, 1, [tides(n) for n in range(40)])
    looked_for: list[RecallStage] = []

    async def counted(db: Connection, stage: RecallStage, *others: Any) -> list[Candidate]:
        looked_for.append(stage)
        return await find(db, stage, *others)

    monkeypatch.setattr(gather, "find", counted)
    first = await search.find(SearchRequest("tides", limit=10))
    at_first = len(looked_for)
    assert at_first > 0
    second = await search.find(SearchRequest("tides", limit=10, cursor=first.cursor))
    assert len(looked_for) == at_first
    elsewhere = another(database, 1)
    for _ in range(2):  # once it was looked for there
        page = await elsewhere.find(SearchRequest("tides", limit=10, cursor=first.cursor))
        assert names(page) == names(second)
        assert len(looked_for) == 2 * at_first


@SIZES
async def test_a_walk_shows_nothing_twice_and_misses_nothing_that_stayed(
    database: Database, small_below: int
) -> None:
    staying = [tides(n) for n in range(STAY)]
    search = await opened(database, small_below, [*staying, *(tides(1_000 + n) for n in range(50))])
    wanted_writes, written = asyncio.Semaphore(2 * WRITERS), asyncio.Semaphore(0)

    async def write(writer: int) -> None:
        """Touch what stays, rewrite and remove the rest and add more, for ever."""
        for turn in count():
            await wanted_writes.acquire()
            mine = staying[(writer * 7 + turn) % STAY]
            at = UPDATED + timedelta(hours=writer + turn)
            touched = replace(mine, updated_at=at, payers=mine.payers + turn)
            rewritten = replace(tides(1_000 + writer), description=f"Nothing {turn}.", tags=())
            added = tides(2_000 + writer)
            ids = await list_many(database, [touched, rewritten, added])
            async with database.transaction() as db:
                await StoredIndex().remove(db, ids[2:] if turn % 2 else ids[1:2])
            written.release()

    async def a_few_writes() -> None:
        for _ in range(10):
            wanted_writes.release()
            await written.acquire()

    writers = [asyncio.create_task(write(writer)) for writer in range(WRITERS)]
    try:
        walks = [
            await walk(search, limit=12, further=each, between=a_few_writes)
            for each in (None, another(database, small_below))
        ]
    finally:
        for writer in writers:
            writer.cancel()
        await asyncio.wait(writers)
    wanted = {item.name for item in staying}
    for seen in walks:
        assert [name for name, times in Counter(seen).items() if times > 1] == []
        assert wanted - set(seen) == set()


async def test_a_listing_taken_out_meanwhile_is_left_out_and_the_page_is_full(
    database: Database,
) -> None:
    search = await opened(database, 20_000, [tides(n) for n in range(30)])
    whole = names(await search.find(SearchRequest("tides", limit=100)))
    first = await search.find(SearchRequest("tides", limit=10))
    async with database.connection() as db:
        await db.execute(
            "UPDATE listings SET removed_at = now() WHERE service_name = ANY ($1)", whole[12:15]
        )
    second = await search.find(SearchRequest("tides", limit=10, cursor=first.cursor))
    assert names(second) == [*whole[10:12], *whole[15:23]]


async def test_a_walk_outlives_pruning_and_a_restored_database(database: Database) -> None:
    """Old versions are kept as long as cursors; transaction numbers of long ago mean nothing."""
    search = await opened(database, 20_000, [tides(n) for n in range(20)])
    first = await search.find(SearchRequest("tides", limit=5))
    async with database.connection() as db:
        await db.execute(
            """
            UPDATE search_documents
            SET born = '9000000000000000', born_at = $1
            """,
            UPDATED,
        )
        await prune_versions(db, died_before=UPDATED, most=100)
    rest = await another(database, 20_000).find(
        SearchRequest("tides", limit=100, cursor=first.cursor)
    )
    assert len(rest.hits) == 15


@promise("search:opaque-cursor")
async def test_a_cursor_is_refused_elsewhere_and_later(database: Database) -> None:
    await list_many(database, [tides(n) for n in range(10)])
    clock = ManualClock()
    search = Search(database, clock)
    cursor = (await search.find(SearchRequest("tides", limit=3))).cursor
    assert cursor is not None
    refused = {
        "cursor_mismatch": [
            SearchRequest("tide", cursor=cursor),
            SearchRequest("tides", ListingFilters(type="http"), cursor=cursor),
        ],
        "invalid_cursor": [
            SearchRequest("tides", cursor=cursor[:-2]),
            SearchRequest("tides", cursor="bm90IG91cnM"),
        ],
    }
    for code, requests in refused.items():
        for request in requests:
            with pytest.raises(BadCursor) as caught:
                await search.find(request)
            assert caught.value.code == code
    other_replica = Search(database, clock)
    assert (await other_replica.find(SearchRequest("tides", cursor=cursor))).hits
    clock.turn(CURSOR_LIFE.total_seconds() + 1)
    with pytest.raises(BadCursor, match="too old"):
        await search.find(SearchRequest("tides", cursor=cursor))


async def test_a_bound_that_cuts_is_said(database: Database) -> None:
    few = await opened(database, 1, [tides(n) for n in range(30)])
    assert not (await few.find(SearchRequest("tides"))).is_truncated
    many = await opened(database, 1, [tides(n) for n in range(450)])
    assert (await many.find(SearchRequest("tides"))).is_truncated
