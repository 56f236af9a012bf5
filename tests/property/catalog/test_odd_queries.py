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
from prove.query_generator import (
    PATHS,
    GeneratedQuery,
    IssuedCursor,
    QueryVocabulary,
    generate_query,
)
from prove.response_check import RawResponse, find_faults
from support.asgi import AsgiClient
from support.examples import examples
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
class Service:
    """The service, and the vocabulary that queries are made from."""

    client: AsgiClient
    vocabulary: QueryVocabulary

    async def ask(self, query_sent: GeneratedQuery) -> list[str]:
        """Send the query; return the faults of the response."""
        answer = await self.client.get(query_sent.target)
        return find_faults(query_sent, RawResponse(answer.status, answer.body, 0))


@pytest.fixture
async def service(stage: Stage) -> AsyncIterator[Service]:
    async with Database(Secret(stage.environment["FAREBOX_DATABASE_URL"])) as database:
        ids = await list_many(database, LISTED)
        query = "query=weather&limit=2"
        answer = await stage.client.get(f"/discovery/search?{query}")
        cursor = IssuedCursor(answer.json()["pagination"]["cursor"], query)
        vocabulary = QueryVocabulary(
            WORDS, ("find me a weather forecast for Paris",), (SELLER, "x"), (cursor,)
        )
        yield Service(stage.client, vocabulary)
        async with database.connection() as db:
            await db.execute("DELETE FROM listings WHERE id = ANY ($1)", ids)
            await db.execute("DELETE FROM search_documents WHERE listing_id = ANY ($1)", ids)


_MANY: Final = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@_MANY
@given(seed=st.integers(min_value=0, max_value=2**64))
async def test_prepared_odd_queries_get_a_page_or_a_refusal(service: Service, seed: int) -> None:
    query_sent = generate_query(Random(seed), service.vocabulary)
    assert await service.ask(query_sent) == []


@_MANY
@given(
    path=st.sampled_from(PATHS),
    name=st.sampled_from(("query", "type", "network", "payTo", "extensions", "cursor", "limit")),
    value=st.text(max_size=60),
)
async def test_any_text_as_a_parameter_gets_a_page_or_a_refusal(
    service: Service, path: str, name: str, value: str
) -> None:
    encoded = quote(value, safe="", errors="surrogatepass")
    assert await service.ask(GeneratedQuery(path, f"{name}={encoded}")) == []


@_MANY
@given(path=st.sampled_from(PATHS), query=st.text(st.characters(codec="ascii"), max_size=120))
async def test_any_query_string_gets_a_page_or_a_refusal(
    service: Service, path: str, query: str
) -> None:
    assert await service.ask(GeneratedQuery(path, query)) == []


@_MANY
@given(raw=st.binary(max_size=400))
async def test_any_bytes_as_a_cursor_get_a_page_or_a_refusal(service: Service, raw: bytes) -> None:
    query_sent = GeneratedQuery(
        PATHS[1], f"query=weather&cursor={quote(raw, safe='')}", is_forged=bool(raw)
    )
    assert await service.ask(query_sent) == []


async def test_a_cursor_with_a_changed_letter_is_refused(service: Service) -> None:
    """Every letter of the tag and the first ones after it; the proof changes the others."""
    (given_cursor,) = service.vocabulary.cursors
    for place in range(48):
        letter = given_cursor.text[place]
        other = "A" if letter != "A" else "B"
        changed = given_cursor.text[:place] + other + given_cursor.text[place + 1 :]
        query = f"{given_cursor.query}&cursor={changed}"
        assert await service.ask(GeneratedQuery(PATHS[1], query, is_forged=True)) == []
