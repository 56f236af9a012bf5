"""A language model that learned anew reads again what is kept, and compares with nothing older."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from farebox.search import vector_store
from farebox.search.meaning.meaning import LanguageModel
from farebox.search.meaning.meanings import StoredMeanings
from farebox.search.meaning.senses import Sense
from farebox.search.read_texts import TextReader
from farebox.search.scope import View
from farebox.semantic.generation import BUCKETS, POINTS
from farebox.semantic.space import as_bytes, known_space
from farebox.storage.pool import Database
from support.listings import Listed, list_many
from support.manual_clock import ManualClock
from support.meaning import AT, EVERYTHING, read_all

SENSE = Sense(as_bytes(np.ones((1, 384), np.float32))[0])


class Reader:
    """An `Encoder` to which every text means the same."""

    name = "reader"
    dimensions = 384
    words = frozenset[str]()

    def __init__(self) -> None:
        self.read = 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row of ones a text."""
        self.read += 1
        return np.ones((len(texts), 384), np.float32)

    def together(self, request: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Nothing is known."""
        return np.zeros(len(texts), np.float32)


async def _near(database: Database, clock: ManualClock) -> int:
    async with database.transaction() as db:
        return len(await StoredMeanings(clock).near(db, SENSE, EVERYTHING, most=9))


async def _grow_old(database: Database) -> None:
    async with database.connection() as db:
        await db.execute("UPDATE search_vectors SET bucket = bucket - $1", POINTS)


async def test_vectors_of_an_earlier_generation_are_not_compared_and_made_again(
    database: Database, clock: ManualClock
) -> None:
    encoder = Reader()
    async with LanguageModel(lambda: encoder) as model:
        await list_many(
            database, [Listed(f"https://tides.example/{n}", f"Tides {n}") for n in range(3)]
        )
        await read_all(database, model, clock)
        assert await _near(database, clock) == 3
        reader = TextReader(database, model, clock)
        assert await reader.renew() == 0
        await _grow_old(database)
        assert await _near(database, clock) == 0
        async with database.connection() as db:
            digests = [row["text_digest"] for row in await db.fetch("SELECT * FROM search_vectors")]
            assert await vector_store.read_vectors(db, View(AT), digests) == {}
            words = await db.fetch("SELECT * FROM search_words ORDER BY word")
        assert await reader.renew() == 3
        assert await _near(database, clock) == 3
        async with database.connection() as db:
            assert await db.fetch("SELECT * FROM search_words ORDER BY word") == words
            assert await db.fetchval("SELECT min(bucket) FROM search_vectors") >= BUCKETS[0]


async def test_without_a_model_nothing_waits_to_be_read_again(
    database: Database, clock: ManualClock
) -> None:
    async with LanguageModel(Reader) as model:
        await list_many(database, [Listed("https://tides.example/1", "Tides")])
        await read_all(database, model, clock)
    await _grow_old(database)
    async with LanguageModel(lambda: None) as nothing:
        assert await TextReader(database, nothing, clock).renew() == 0
    async with database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM search_texts_waiting") == 0


@pytest.mark.parametrize("step", [1, 2])
async def test_a_later_generation_is_never_written_over(
    database: Database, clock: ManualClock, step: int
) -> None:
    async with LanguageModel(Reader) as model:
        await list_many(database, [Listed("https://tides.example/1", "Tides")])
        await read_all(database, model, clock)
        async with database.connection() as db:
            await db.execute("UPDATE search_vectors SET bucket = bucket + $1", step * POINTS)
            before = await db.fetch("SELECT * FROM search_vectors")
            code = known_space().codes(np.ones((1, 384), np.float32))[0]
            await vector_store.put_vectors(db, [(before[0]["text_digest"], code)])
            assert await db.fetch("SELECT * FROM search_vectors") == before
        assert await TextReader(database, model, clock).renew() == 0
        assert await _near(database, clock) == 0
