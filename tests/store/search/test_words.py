"""Mistyped words are put right from the catalog's own; what stands for a word is found."""

from collections.abc import Mapping
from typing import LiteralString

import pytest

from farebox.search import word_store
from farebox.search.vocabulary.alternative import Alternative, Kinship
from farebox.search.vocabulary.words import MOST, CatalogWords
from farebox.search.vocabulary.written import Written
from farebox.storage.pool import Database

CATALOG = {
    "weather": 9,
    "forecasts": 5,
    "forecast": 7,
    "image": 8,
    "currency": 3,
    "pairs": 4,
    "tts": 2,
    "price": 9,
    "translation": 3,
    "rate": 2,
    "exchange": 4,
    "bitcoin": 6,
}
CITIES = frozenset({"paris", "tokyo"})


@pytest.fixture
async def words(database: Database) -> CatalogWords:
    async with database.transaction() as db:
        await word_store.add_words(db, CATALOG)
    return CatalogWords(lambda: CITIES)


async def _expand(database: Database, words: CatalogWords, *asked: str) -> dict[str, set[str]]:
    found = await words.expand(database, asked)
    return {word: {each.word for each in others} for word, others in found.items()}


async def test_a_mistyped_word_is_put_right_and_stands_for_what_it_was_meant_for(
    database: Database, words: CatalogWords
) -> None:
    found = await words.expand(database, ["forcast"])
    assert found == {
        "forcast": [
            Alternative("forecast", 90, Kinship.TYPO),
            Alternative("weather", 72, Kinship.SYNONYM),
        ]
    }


async def test_another_form_of_a_word_and_a_name_that_no_listing_has_are_left_alone(
    database: Database, words: CatalogWords
) -> None:
    assert await _expand(database, words, "images", "translations") == {}
    assert await _expand(database, words, "paris", "tokyo", "reykjavik", "kubernetes") == {}
    assert await _expand(database, CatalogWords(), "paris") == {"paris": {"pairs"}}


async def test_a_word_that_is_often_written_is_not_mistyped(
    database: Database, words: CatalogWords
) -> None:
    often = {"paris": 481, "pairs": 424, "wether": 278, "weather": 487}
    with_list, asked = CatalogWords(read_written=lambda: often), ("paris", "wether")
    found = await _expand(database, with_list, *asked)
    assert "paris" not in found
    assert "weather" in found["wether"]
    assert (await _expand(database, CatalogWords(), *asked))["paris"] == {"pairs"}


async def test_lists_are_read_before_a_transaction_is_open(
    database: Database, words: CatalogWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine reads them for seconds. Control: lists that the transaction waits for."""
    done: list[str] = []
    opened = database.snapshot

    def read_written() -> Written:
        done.append("read")
        return {}

    def snapshot(settings: Mapping[LiteralString, LiteralString]) -> object:
        done.append("opened")
        return opened(settings)

    monkeypatch.setattr(database, "snapshot", snapshot)
    await CatalogWords(read_written=read_written).expand(database, ["forcast"])
    assert done == ["read", "opened"]


async def test_list_that_could_not_be_read_is_read_again(
    database: Database, words: CatalogWords
) -> None:
    """Control: a failed reading, kept for every search to come."""
    readings = iter([MemoryError, None])

    def read_written() -> Written:
        failure = next(readings)
        if failure is not None:
            raise failure
        return {}

    once_failed = CatalogWords(read_written=read_written)
    with pytest.raises(MemoryError):
        await once_failed.expand(database, ["forcast"])
    assert "forecast" in (await _expand(database, once_failed, "forcast"))["forcast"]


async def test_only_what_the_catalog_has_stands_for_a_word_or_for_several_side_by_side(
    database: Database, words: CatalogWords
) -> None:
    assert await _expand(database, words, "photo") == {"photo": {"image"}}
    assert await _expand(database, words, "equity") == {}
    found = await _expand(database, words, "cheap", "text", "to", "speech")
    assert {word for word, others in found.items() if "tts" in others} == {"text", "to", "speech"}
    assert "exchange rate" in (await _expand(database, words, "forex"))["forex"]


async def test_alternatives_are_few_and_the_best_stand_first(
    database: Database, words: CatalogWords
) -> None:
    async with database.transaction() as db:
        await word_store.add_words(db, dict.fromkeys(("photo", "picture", "pic", "photograph"), 1))
        await word_store.add_words(db, {"avatars": 1})
    found = await words.expand(database, ["image"])
    weights = [each.weight for each in found["image"]]
    assert len(weights) == MOST
    assert weights == sorted(weights, reverse=True)
    assert max(weights) < 100


async def test_no_text_breaks_it_and_only_so_many_words_are_read(
    database: Database, words: CatalogWords
) -> None:
    odd = ["'", "\\", "%", "😀", "x" * 64, "ﬁ", "a:b", "&|!"]
    assert await _expand(database, words, *odd, *[f"wetaher{each}" for each in range(100)]) == {}
    assert await _expand(database, words) == {}
