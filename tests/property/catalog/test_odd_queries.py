"""The short form of `make prove PROOF=queries`: any query gets a page or a refusal."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from random import Random
from typing import Final
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from prove.odd_answers import Seen, faults
from prove.odd_queries import PATHS, GivenCursor, OddQuery, Stock, odd_query
from support.asgi import AsgiClient
from support.listings import SELLER, Listed, list_many
from support.stage import Stage

WORDS: Final = ("weather", "forecast", "rain", "city", "price", "translate", "Skies")
LISTED: Final = [
    Listed(
        f"https://s{n}.example/data",
        name=f"Skies {n}",
        tags=("weather", WORDS[n % 7]),
        description=f"{WORDS[n % 7]} and {WORDS[n % 5]} \u202e</script>'\"",
        tool_name="forecast" if n % 3 == 0 else "",
        network=Network.PUBNET if n % 2 else Network.TESTNET,
    )
    for n in range(12)
]


@dataclass(frozen=True, slots=True)
class Desk:
    """Where queries are answered, and what there is to ask with."""

    client: AsgiClient
    stock: Stock

    async def ask(self, asked: OddQuery) -> list[str]:
        """What is wrong with the answer."""
        answer = await self.client.get(asked.target)
        return faults(asked, Seen(answer.status, answer.body, 0))


@pytest.fixture
async def desk(stage: Stage) -> AsyncIterator[Desk]:
    async with Database(Secret(stage.environment["FAREBOX_DATABASE_URL"])) as database:
        ids = await list_many(database, LISTED)
        query = "query=weather&limit=2"
        answer = await stage.client.get(f"/discovery/search?{query}")
        cursor = GivenCursor(answer.json()["pagination"]["cursor"], query)
        stock = Stock(WORDS, ("find me a weather forecast for Paris",), (SELLER, "x"), (cursor,))
        yield Desk(stage.client, stock)
        async with database.connection() as db:
            await db.execute("DELETE FROM listings WHERE id = ANY ($1)", ids)
            await db.execute("DELETE FROM search_documents WHERE listing_id = ANY ($1)", ids)


_MANY: Final = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@_MANY
@given(seed=st.integers(min_value=0, max_value=2**64))
async def test_what_was_thought_of_to_ask(desk: Desk, seed: int) -> None:
    asked = odd_query(Random(seed), desk.stock)
    assert await desk.ask(asked) == []


@_MANY
@given(
    path=st.sampled_from(PATHS),
    name=st.sampled_from(("query", "type", "network", "payTo", "extensions", "cursor", "limit")),
    value=st.text(max_size=60),
)
async def test_any_text_as_any_value(desk: Desk, path: str, name: str, value: str) -> None:
    encoded = quote(value, safe="", errors="surrogatepass")
    assert await desk.ask(OddQuery(path, f"{name}={encoded}")) == []


@_MANY
@given(path=st.sampled_from(PATHS), query=st.text(st.characters(codec="ascii"), max_size=120))
async def test_any_query_string(desk: Desk, path: str, query: str) -> None:
    assert await desk.ask(OddQuery(path, query)) == []


@_MANY
@given(raw=st.binary(max_size=400))
async def test_any_bytes_as_a_cursor(desk: Desk, raw: bytes) -> None:
    asked = OddQuery(PATHS[1], f"query=weather&cursor={quote(raw, safe='')}", is_forged=bool(raw))
    assert await desk.ask(asked) == []


async def test_a_cursor_with_a_changed_letter_is_refused(desk: Desk) -> None:
    """Every letter of the tag and the first ones behind it; the proof changes the others."""
    (given_cursor,) = desk.stock.cursors
    for place in range(48):
        letter = given_cursor.text[place]
        other = "A" if letter != "A" else "B"
        changed = given_cursor.text[:place] + other + given_cursor.text[place + 1 :]
        query = f"{given_cursor.query}&cursor={changed}"
        assert await desk.ask(OddQuery(PATHS[1], query, is_forged=True)) == []
