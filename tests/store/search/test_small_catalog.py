"""Whether a catalog counts as small: by what lives in it, not by what was written."""

from dataclasses import replace
from typing import Final

from farebox.search.vocabulary.lexicon import Lexicon
from farebox.storage.pool import Database
from support.listings import Listed, list_many
from support.manual_clock import ManualClock

SMALL_BELOW: Final = 6


def listed(count: int) -> list[Listed]:
    return [
        Listed(f"https://n{n}.example", f"n{n}", description="Tables of the tide.")
        for n in range(count)
    ]


async def is_small(database: Database) -> bool:
    async with database.connection() as db:
        await db.execute("ANALYZE search_documents")
    census = await Lexicon(database, ManualClock(), small_below=SMALL_BELOW).census(["tide"])
    return census.is_small


async def test_versions_that_died_do_not_make_a_catalog_large(database: Database) -> None:
    items = listed(SMALL_BELOW - 1)
    for turn in range(4):  # as a recount of every listing writes them
        written = [replace(each, description=f"Tide, take {turn}.") for each in items]
        await list_many(database, written)
        assert await is_small(database)


async def test_one_more_that_lives_does(database: Database) -> None:
    await list_many(database, listed(SMALL_BELOW))
    assert not await is_small(database)
