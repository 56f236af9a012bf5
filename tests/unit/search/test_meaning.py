"""Texts read together by the model beside the event loop: remembered, bounded, never a failure."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from farebox.search.meaning.meaning import LanguageModel
from testing.waiting import WITHIN_S, until


class Judging:
    """An `Encoder` that says of each text its length, once it is let go on."""

    name = "judging"
    dimensions = 384
    words = frozenset[str]()

    def __init__(self) -> None:
        self.read: list[tuple[str, tuple[str, ...]]] = []
        self.may_go = threading.Event()
        self.may_go.set()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row of ones a text."""
        return np.ones((len(texts), 384), np.float32)

    def together(self, request: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """The length of each text; of one that says so no number."""
        self.read.append((request, tuple(texts)))
        assert self.may_go.wait(10)
        return np.array([math.nan if text == "bad" else len(text) for text in texts], np.float32)


@pytest.fixture
async def judging() -> AsyncIterator[Judging]:
    found = Judging()
    yield found
    found.may_go.set()


async def test_a_pair_is_read_once(judging: Judging) -> None:
    async with LanguageModel(lambda: judging, wait_s=WITHIN_S) as model:
        assert await model.log_odds(" Pay  My bill", ["a", "bb", "a"]) == [1_000, 2_000, 1_000]
        assert await model.log_odds("pay my bill", ["bb", "ccc"]) == [2_000, 3_000]
        assert await model.log_odds("another", ["a"]) == [1_000]
        assert await model.log_odds("another", []) == []
    assert judging.read == [
        ("pay my bill", ("a", "bb")),
        ("pay my bill", ("ccc",)),
        ("another", ("a",)),
    ]


async def test_without_a_model_nothing_is_known() -> None:
    async with LanguageModel(lambda: None) as model:
        assert await model.log_odds("pay", ["a"]) is None


async def test_model_that_cannot_be_loaded_fails_no_search() -> None:
    """Control: a build that keeps the fault answers every later search with it."""

    def broken() -> None:
        raise RuntimeError("no room for a thread")

    async with LanguageModel(broken) as model:
        for _ in range(2):
            assert await model.encode("pay") is None
            assert await model.log_odds("pay", ["a"]) is None
            assert await model.codes(["a"]) is None
            assert model.words() == frozenset()


async def test_query_that_cannot_be_read_fails_no_search(judging: Judging) -> None:
    class Broken(Judging):
        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            raise RuntimeError("no room for a thread")

    async with LanguageModel(Broken) as model:
        assert await model.encode("pay") is None


async def test_a_text_that_cannot_be_read_fails_no_search(judging: Judging) -> None:
    async with LanguageModel(lambda: judging, wait_s=WITHIN_S) as model:
        assert await model.log_odds("pay", ["a", "bad"]) is None
        assert await model.log_odds("pay", ["a"]) == [1_000]


async def test_what_comes_late_is_known_the_next_time(judging: Judging) -> None:
    async with LanguageModel(lambda: judging, wait_s=0.05) as model:
        await model.is_present()
        judging.may_go.clear()
        assert await model.log_odds("pay", ["a"]) is None
        judging.may_go.set()
        async with asyncio.timeout(10):  # what is read behind it is known after it
            while await model.log_odds("behind", ["b"]) is None:
                pass
        assert await model.log_odds("pay", ["a"]) == [1_000]
    assert judging.read.count(("pay", ("a",))) == 1


async def test_who_reads_listings_keeps_nobody_from_having_a_query_read(judging: Judging) -> None:
    async with LanguageModel(lambda: judging, wait_s=5) as model:
        judging.may_go.clear()
        waiting = [asyncio.create_task(model.log_odds(f"q{n}", ["a"])) for n in range(4)]
        await until(lambda: judging.read)
        assert await model.log_odds("one too many", ["a"]) is None
        assert await model.encode("a query") is not None
        judging.may_go.set()
        assert await asyncio.gather(*waiting) == [[1_000]] * 4
        assert await model.log_odds("one too many", ["a"]) == [1_000]
