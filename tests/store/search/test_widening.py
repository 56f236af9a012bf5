"""When a large catalog's search looks for more than every word, and what waits for the model."""

import asyncio
from collections.abc import Sequence
from typing import Final

import pytest

from farebox.catalog.listing import ListingFilters
from farebox.kernel.secret import Secret
from farebox.search.meaning.senses import Sense
from farebox.search.search import Search, SearchRequest
from farebox.storage.pool import Database
from support.faulty_database import ping
from support.listings import SELLER, Listed, list_many
from support.manual_clock import ManualClock
from support.senses import SaidMeaning, SaidMeanings

OTHERS: Final = tuple(
    Listed(f"https://o{n}.example", f"o{n}", description="News.") for n in range(9)
)


def tide_tables(count: int) -> list[Listed]:
    """Listings that have both words."""
    return [
        Listed(f"https://n{n}.example", f"n{n}", description="Tables of the tide.")
        for n in range(count)
    ]


async def opened(
    database: Database, items: Sequence[Listed], *, meaning: SaidMeaning
) -> tuple[Search, list[int]]:
    """A search over a catalog that counts as large."""
    ids = await list_many(database, [*items, *OTHERS])
    async with database.connection() as db:
        await db.execute("ANALYZE search_documents")
    near = {ids[-1]: 700}
    meanings = SaidMeanings(dict.fromkeys(("tide tables", "tell me of tide tables"), near))
    search = Search(database, ManualClock(), meaning=meaning, meanings=meanings, small_below=1)
    return search, ids


@pytest.mark.parametrize(("count", "is_enough"), [(5, True), (4, False)])
async def test_few_words_are_taken_to_the_letter_where_enough_listings_have_them_all(
    database: Database, count: int, is_enough: bool
) -> None:
    meaning = SaidMeaning()
    search, ids = await opened(database, tide_tables(count), meaning=meaning)
    page = await search.find(SearchRequest("tide tables"))
    found = [hit.listing.id for hit in page.hits]
    assert set(ids[:count]) <= set(found)
    assert (ids[-1] in found) is not is_enough
    assert len(meaning.asked) == (0 if is_enough else 1)


async def test_a_sentence_is_never_taken_to_the_letter(database: Database) -> None:
    meaning = SaidMeaning()
    search, _ = await opened(database, tide_tables(9), meaning=meaning)
    await search.find(SearchRequest("tell me of tide tables"))
    assert len(meaning.asked) == 1


async def test_of_one_recipient_one_listing_with_every_word_is_enough(database: Database) -> None:
    meaning = SaidMeaning()
    search, ids = await opened(database, tide_tables(1), meaning=meaning)
    for query, shown in (("tide tables", ids[:1]), ("tide unicorns", [])):
        assert meaning.asked == []
        page = await search.find(SearchRequest(query, ListingFilters(pay_to=SELLER)))
        assert [hit.listing.id for hit in page.hits] == shown
    assert len(meaning.asked) == 1


class SlowMeaning(SaidMeaning):
    """Reads until it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.go_on = asyncio.Event(), asyncio.Event()

    async def encode(self, query: str) -> Sense | None:
        """The query's bytes, at last."""
        sense = await super().encode(query)
        self.began.set()
        await self.go_on.wait()
        return sense


async def test_a_slow_model_keeps_no_connection(
    database: Database, postgres_url: Secret[str]
) -> None:
    async with Database(postgres_url, connections=1, wait_s=5) as only:
        meaning = SlowMeaning()
        _, ids = await opened(database, tide_tables(1), meaning=meaning)
        search = Search(
            only,
            ManualClock(),
            meaning=meaning,
            meanings=SaidMeanings({"tide tables": {ids[-1]: 700}}),
            small_below=1,
        )
        finding = asyncio.create_task(search.find(SearchRequest("tide tables")))
        async with asyncio.timeout(10):
            await meaning.began.wait()
            for _ in range(3):  # it comes free, also after the search has looked for words
                await asyncio.sleep(0.05)
                await ping(only)
            assert not finding.done()
            meaning.go_on.set()
            page = await finding
    assert ids[-1] in [hit.listing.id for hit in page.hits]


async def test_a_search_that_is_given_up_ends_its_reading(database: Database) -> None:
    meaning = SlowMeaning()
    search, _ = await opened(database, tide_tables(1), meaning=meaning)
    finding = asyncio.create_task(search.find(SearchRequest("tide tables")))
    await meaning.began.wait()
    before = asyncio.all_tasks()
    finding.cancel()
    await asyncio.wait((finding,))
    await asyncio.sleep(0)
    assert not [task for task in before if "SlowMeaning" in repr(task) and not task.done()]
