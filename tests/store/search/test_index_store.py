"""Versions of search documents: born with a change that matters, closed, pruned."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from farebox.search.index_store import StoredIndex, prune_versions
from farebox.storage.pool import Database
from support.listings import UPDATED, Listed, list_many

WEATHER: Final = Listed(
    url="https://sky.example/v1/forecast",
    name="SkyCast",
    tags=("weather", "real-time"),
    description="Hourly forecasts of wind and rain.",
    parameters="city name of the city",
)


async def living(database: Database) -> list[tuple[int, int]]:
    async with database.connection() as db:
        rows = await db.fetch(
            "SELECT id, listing_id FROM search_documents WHERE died IS NULL ORDER BY id"
        )
    return [(row["id"], row["listing_id"]) for row in rows]


async def versions(database: Database) -> int:
    async with database.connection() as db:
        count: int = await db.fetchval("SELECT count(*) FROM search_documents")
    return count


async def found(database: Database, query: str, *, column: str = "tsv") -> bool:
    async with database.connection() as db:
        answer: bool = await db.fetchval(
            f"SELECT EXISTS (SELECT FROM search_documents WHERE {column} @@ $1::text::tsquery)",
            query,
        )
    return answer


async def test_words_carry_the_weight_of_their_field_and_no_phrase_reaches_across_its_border(
    database: Database,
) -> None:
    await list_many(database, [WEATHER])
    assert await found(database, "skycast:A", column="hi")
    assert await found(database, "weather:B & real:B & realtim:B", column="hi")
    assert await found(database, "forecast:C & wind:C & rain:C")
    assert await found(database, "citi:D & sky:D")
    assert not await found(database, "forecast | citi | xgapx", column="hi")
    assert not await found(database, "xgapx")
    assert await found(database, "real <-> time")
    assert not await found(database, "weather <-> real | skycast <-> weather | time <-> hour")


async def test_a_change_of_the_text_closes_the_version_and_opens_another(
    database: Database,
) -> None:
    (own,) = await list_many(database, [WEATHER])
    ((first, _),) = await living(database)
    await list_many(database, [replace(WEATHER, description="Tides.")])
    ((second, same),) = await living(database)
    assert same == own
    assert second != first
    assert await versions(database) == 2


async def test_a_touch_that_orders_nothing_anew_writes_nothing(database: Database) -> None:
    await list_many(database, [replace(WEATHER, payers=2)])
    before = await living(database)
    touched = replace(WEATHER, payers=3, updated_at=UPDATED + timedelta(seconds=59))
    await list_many(database, [touched])
    assert await living(database) == before
    await list_many(database, [replace(touched, payers=4)])
    after = await living(database)
    assert after != before
    await list_many(database, [replace(touched, payers=4, updated_at=UPDATED + timedelta(hours=1))])
    assert await living(database) != after


async def test_a_removed_listing_has_no_living_version(database: Database) -> None:
    (own,) = await list_many(database, [WEATHER])
    async with database.transaction() as db:
        await StoredIndex().remove(db, [own])
    assert await living(database) == []


async def test_versions_are_pruned_when_they_have_been_dead_for_long_enough(
    database: Database,
) -> None:
    await list_many(database, [WEATHER])
    await list_many(database, [replace(WEATHER, description="Tides.")])
    async with database.connection() as db:
        died_at = await db.fetchval("SELECT died_at FROM search_graves")
        assert await prune_versions(db, died_before=died_at, most=10) == 0
        after = died_at + timedelta(seconds=1)
        assert await prune_versions(db, died_before=after, most=10) == 1
        assert await db.fetchval("SELECT count(*) FROM search_graves") == 0
    assert await versions(database) == 1
