"""Texts are read once, by whoever comes first, with a language model or without."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from farebox.search import text_store, word_store
from farebox.search.meaning.meaning import LanguageModel
from farebox.search.read_texts import TextReader
from farebox.storage.pool import Connection, Database
from support.manual_clock import ManualClock
from support.meaning import document, read_all, write


class CountingEncoder:
    """Counts what it reads, and cannot read one word."""

    name = "counting"
    dimensions = 384
    words = frozenset[str]()

    def __init__(self) -> None:
        self.read: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row for each text that depends on its length."""
        if any("unreadable" in text for text in texts):
            raise ValueError("unreadable")
        self.read += texts
        return np.array([[len(text), *[1] * 383] for text in texts], dtype=np.float32)

    def together(self, request: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Nothing is known."""
        return np.zeros(len(texts), np.float32)


@pytest.fixture
async def encoder() -> CountingEncoder:
    return CountingEncoder()


@pytest.fixture
async def model(encoder: CountingEncoder) -> AsyncIterator[LanguageModel]:
    async with LanguageModel(lambda: encoder) as model:
        yield model


async def _count(database: Database, table: str) -> int:
    async with database.connection() as db:
        count: int = await db.fetchval(f"SELECT count(*) FROM {table}")
    return count


async def test_a_text_is_read_once_however_often_a_listing_is_touched(
    database: Database, model: LanguageModel, encoder: CountingEncoder, clock: ManualClock
) -> None:
    first = document(1, "Tides of the North Sea")
    await write(database, [first])
    assert await read_all(database, model, clock) == 1
    busier = dataclasses.replace(first, payers=900)
    await write(database, [busier])
    assert await read_all(database, model, clock) == 0
    await write(database, [document(2, "Tides of the North Sea")])
    assert await read_all(database, model, clock) == 1
    assert len(encoder.read) == 1
    assert await _count(database, "search_vectors") == 1
    assert await _count(database, "search_texts_waiting") == 0


async def test_replicas_share_the_texts_and_none_is_read_twice(
    database: Database, model: LanguageModel, encoder: CountingEncoder, clock: ManualClock
) -> None:
    await write(database, [document(each, f"Listing number {each}") for each in range(1, 50)])
    readers = [TextReader(database, model, clock) for _ in range(4)]
    read = 0
    while some := sum(await asyncio.gather(*(each.read_some() for each in readers))):
        read += some
    assert read == len(encoder.read) == len(set(encoder.read)) == 49
    assert await _count(database, "search_vectors") == 49


async def test_a_text_whose_reader_was_lost_is_read_by_another_after_a_minute(
    database: Database, model: LanguageModel, clock: ManualClock
) -> None:
    await write(database, [document(1, "Tides of the North Sea")])
    async with database.connection() as db:
        (taken,) = await text_store.take_texts(db, most=5, for_words_alone=False)
        assert await text_store.take_texts(db, most=5, for_words_alone=False) == []
    assert await read_all(database, model, clock) == 0
    async with database.connection() as db:
        await db.execute("UPDATE search_texts_waiting SET taken_until = now()")
    assert await read_all(database, model, clock) == 1
    assert "Tides" in taken.text


async def test_a_text_that_cannot_be_read_holds_up_no_other(
    database: Database, model: LanguageModel, encoder: CountingEncoder, clock: ManualClock
) -> None:
    texts = ("Tides of the North Sea", "unreadable", "Currents")
    await write(database, [document(each, text) for each, text in enumerate(texts, start=1)])
    assert await read_all(database, model, clock) == 3
    assert len(encoder.read) == 2
    assert await _count(database, "search_texts_waiting") == 0


async def test_without_a_model_the_words_are_read_and_the_meaning_waits(
    database: Database, model: LanguageModel, encoder: CountingEncoder, clock: ManualClock
) -> None:
    async with LanguageModel(lambda: None) as absent:
        await write(database, [document(1, "Tides of the North Sea")])
        assert await read_all(database, absent, clock) == 1
        assert await read_all(database, absent, clock) == 0
        assert await absent.encode("tides") is None
    assert await _count(database, "search_vectors") == 0
    async with database.connection() as db:
        rows = await db.fetch("SELECT word, texts FROM search_words ORDER BY word")
    assert {row["word"] for row in rows} == {"tides", "the", "north", "sea"}
    assert {row["texts"] for row in rows} == {1}
    assert await read_all(database, model, clock) == 1
    assert set(encoder.read) == {"Tides of the North Sea"}
    async with database.connection() as db:
        assert await db.fetchval("SELECT texts FROM search_words WHERE word = 'tides'") == 1


async def test_words_are_counted_up_to_a_bound(
    database: Database, model: LanguageModel, clock: ManualClock
) -> None:
    await write(database, [document(each, f"tides {each}") for each in range(1, 210)])
    await read_all(database, model, clock)
    async with database.connection() as db:
        assert await db.fetchval("SELECT texts FROM search_words WHERE word = 'tides'") == 200


async def _words(database: Database) -> set[str]:
    async with database.connection() as db:
        rows = await db.fetch("SELECT word FROM search_words")
    return {row["word"] for row in rows}


async def _delete_unseen(database: Database, *, most: int = 2) -> None:
    at: str | None = ""
    while at is not None:
        async with database.connection() as db:
            at = await word_store.delete_unseen(db, after=at, most=most)


async def test_words_that_no_document_has_any_more_are_forgotten(
    database: Database, model: LanguageModel, clock: ManualClock
) -> None:
    await write(database, [document(1, "The tides of Ostend"), document(2, "Currents and tides")])
    await read_all(database, model, clock)
    await _delete_unseen(database)
    assert await _words(database) == {"the", "tides", "ostend", "currents", "and"}
    async with database.connection() as db:
        await db.execute("DELETE FROM search_documents WHERE listing_id = 1")
    await _delete_unseen(database)
    assert await _words(database) == {"the", "tides", "currents", "and"}


async def test_one_text_brings_a_bounded_number_of_new_words(
    database: Database, model: LanguageModel, clock: ManualClock
) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [f"q{a}{b}z" for a in letters for b in letters]
    await write(database, [document(1, "tides"), document(2, " ".join(["tides", *words]))])
    await read_all(database, model, clock)
    kept = await _words(database)
    assert kept == {"tides", *words[:299]}
    async with database.connection() as db:  # what is known is counted beside them
        assert await db.fetchval("SELECT texts FROM search_words WHERE word = 'tides'") == 2


async def test_a_text_whose_words_cannot_be_kept_holds_up_no_other(
    database: Database,
    model: LanguageModel,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ("Tides of the North Sea", "broken", "Currents")
    await write(database, [document(each, text) for each, text in enumerate(texts, start=1)])
    real = word_store.add_words

    async def add(db: Connection, texts_by_word: Mapping[str, int]) -> None:
        words = dict(texts_by_word)
        if "broken" in words:
            words["sur\ud800rogate"] = 1  # what the driver cannot encode
        await real(db, words)

    monkeypatch.setattr(word_store, "add_words", add)
    assert await read_all(database, model, clock) == 3
    assert await _words(database) == {"tides", "the", "north", "sea", "currents"}
    assert await _count(database, "search_texts_waiting") == 0
