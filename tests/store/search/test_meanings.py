"""What means nearly the same is found in the database, and nothing depends on its neighbours."""

import dataclasses
from collections.abc import AsyncIterator

import pytest

from farebox.catalog.listing import ListingFilters
from farebox.kernel.networks import Network
from farebox.search import vector_store
from farebox.search.meaning.meaning import LanguageModel
from farebox.search.meaning.meanings import StoredMeanings, choose_buckets
from farebox.search.meaning.senses import Sense
from farebox.search.scope import Scope, View
from farebox.search.vector_store import BucketSizes
from farebox.semantic.encoder import load_encoder
from farebox.semantic.generation import BUCKETS
from farebox.semantic.space import known_space
from farebox.storage.pool import Database
from support.manual_clock import ManualClock
from support.meaning import AT, EVERYTHING, document, listing_ids, read_all, write

WEATHER = document(1, "Hourly forecast of temperature, wind and rain for any city", name="Skycast")
TRANSLATION = document(2, "Turns a text of one language into another, in 40 languages")
PRICES = document(3, "Last prices of bitcoin and other coins in dollars")
ASKED = "do I need an umbrella in Paris tomorrow"


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[LanguageModel]:
    async with LanguageModel(load_encoder, wait_s=30) as model:
        assert await model.is_present()
        yield model


async def _sense(model: LanguageModel, query: str = ASKED) -> Sense:
    sense = await model.encode(query)
    assert sense is not None
    return sense


async def _near(
    database: Database, sense: Sense, scope: Scope = EVERYTHING, most: int = 10
) -> list[tuple[int, int]]:
    async with database.transaction() as db:
        near = await StoredMeanings(ManualClock()).near(db, sense, scope, most=most)
        listings = await listing_ids(db, [each.document_id for each in near])
    return list(zip(listings, [each.likeness for each in near], strict=True))


async def test_a_listing_is_found_by_what_it_means(
    database: Database, model: LanguageModel, clock: ManualClock
) -> None:
    await write(database, [WEATHER, TRANSLATION, PRICES])
    sense = await _sense(model)
    assert await _near(database, sense) == []
    assert await read_all(database, model, clock) == 3
    near = await _near(database, sense)
    assert near[0][0] == WEATHER.listing_id
    assert near[0][1] > near[1][1] + 100
    assert await _near(database, sense, most=1) == near[:1]


async def test_likeness_is_the_same_alone_and_among_others(
    database: Database, model: LanguageModel, clock: ManualClock
) -> None:
    sense = await _sense(model)
    await write(database, [WEATHER])
    await read_all(database, model, clock)
    alone = await _near(database, sense)
    await write(database, [TRANSLATION, PRICES])
    await read_all(database, model, clock)
    assert (await _near(database, sense))[:1] == alone


async def test_filters_narrow_what_is_near(
    database: Database, model: LanguageModel, clock: ManualClock
) -> None:
    elsewhere = dataclasses.replace(PRICES, network=Network.PUBNET)
    await write(database, [WEATHER, elsewhere])
    await read_all(database, model, clock)
    scope = Scope(View(AT), ListingFilters(network=Network.PUBNET.value))
    assert [listing for listing, _ in await _near(database, await _sense(model), scope)] == [3]
    nobody = Scope(View(AT), ListingFilters(pay_to="G" + "A" * 55))
    assert await _near(database, await _sense(model), nobody) == []


async def test_a_walk_sees_no_vector_that_came_after_it_began(
    database: Database, model: LanguageModel, clock: ManualClock
) -> None:
    await write(database, [WEATHER, PRICES])
    async with database.connection() as db:
        began = View(
            await db.fetchval("SELECT clock_timestamp()"),
            await db.fetchval("SELECT pg_current_snapshot()::text"),
        )
        digest = await db.fetchval("SELECT text_digest FROM search_documents WHERE listing_id = 1")
    await read_all(database, model, clock)
    sense = await _sense(model)
    assert await _near(database, sense, Scope(began, ListingFilters())) == []
    assert len(await _near(database, sense)) == 2
    async with database.connection() as db:
        meanings = StoredMeanings(clock)
        assert await meanings.likeness(db, sense, began, [digest]) == {}
        now = await meanings.likeness(db, sense, View(AT), [digest, b"0" * 16])
    assert now == {digest: dict(await _near(database, sense))[1]}


async def test_buckets_find_what_looking_at_everything_finds(
    database: Database, model: LanguageModel, clock: ManualClock
) -> None:
    await write(database, [WEATHER, TRANSLATION, PRICES])
    await read_all(database, model, clock)
    sense = await _sense(model)
    probe = known_space().probe(sense)
    async with database.connection() as db:
        everything = await vector_store.nearest(db, probe, None, EVERYTHING, pool=9, most=9)
        every_bucket = await vector_store.nearest(db, probe, BUCKETS, EVERYTHING, pool=9, most=9)
        kept = await db.fetchval("SELECT bucket FROM search_vectors LIMIT 1")
        one = await vector_store.nearest(db, probe, [kept], EVERYTHING, pool=9, most=9)
        assert sorted(every_bucket, key=lambda each: each.document_id) == sorted(
            everything, key=lambda each: each.document_id
        )
        assert 1 <= len(one) < 3
        assert (await vector_store.read_sizes(db)).total <= 1024


def test_a_search_looks_into_so_many_buckets_as_make_enough_signatures() -> None:
    order = range(1024)
    assert choose_buckets(order, BucketSizes(16_384, {})) is None
    even = choose_buckets(order, BucketSizes(1 << 20, {}))
    assert even is not None
    assert even == list(range(len(even)))
    crowded = choose_buckets(order, BucketSizes(1 << 20, {0: 0.5}))
    assert crowded is not None
    assert len(crowded) < len(even)


async def test_vectors_no_listing_has_are_removed(
    database: Database, model: LanguageModel, clock: ManualClock
) -> None:
    await write(database, [WEATHER, PRICES])
    await read_all(database, model, clock)
    async with database.connection() as db:
        await db.execute("DELETE FROM search_documents WHERE listing_id = 1")
        now = await db.fetchval("SELECT clock_timestamp()")
        assert await vector_store.delete_unused(db, after=b"", used_before=AT, most=10) is None
        assert await db.fetchval("SELECT count(*) FROM search_vectors") == 2
        step = await vector_store.delete_unused(db, after=b"", used_before=now, most=1)
        while step is not None:
            step = await vector_store.delete_unused(db, after=step, used_before=now, most=1)
        assert await db.fetchval("SELECT count(*) FROM search_vectors") == 1
