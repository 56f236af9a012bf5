"""`/discovery/search` over HTTP."""

from typing import Any, Final
from urllib.parse import quote

import pytest

from farebox.search.http import search_endpoints
from farebox.search.query.expression import parse
from farebox.search.search import Search
from farebox.storage.pool import Database
from support.asgi import Answer, AsgiClient
from support.listings import Listed, list_many
from support.manual_clock import ManualClock
from support.promises import case, promise
from support.routes import RoutedApp

PATH: Final = "/discovery/search"


@pytest.fixture
async def client(database: Database) -> AsgiClient:
    """A service with thirty listings about tides and one about money."""
    tides = [
        Listed(f"https://n{n}.example", f"n{n}", description="Tides of the sea.") for n in range(30)
    ]
    await list_many(database, [*tides, Listed("https://fx.example", "FX", ("money",))])
    return AsgiClient(RoutedApp(*search_endpoints(Search(database, ManualClock()))))


async def shown(client: AsgiClient, query: str) -> dict[str, Any]:
    """The body of a page."""
    answer = await client.get(f"{PATH}?{query}")
    assert answer.status == 200, answer.body
    return answer.json()


def code(answer: Answer) -> str:
    """The code of a refusal in the uniform body."""
    assert answer.status == 400, answer.body
    error = answer.json()["error"]
    assert set(error) == {"code", "message", "requestId"}
    return str(error["code"])


@promise("search:shape")
async def test_search_page_has_specified_shape(client: AsgiClient) -> None:
    body = await shown(client, "query=tides&limit=2")
    assert body.keys() == {"x402Version", "resources", "partialResults", "pagination"}
    assert body["x402Version"] == 2
    assert body["partialResults"] is True
    assert body["pagination"]["limit"] == 2
    assert len(body["resources"]) == 2
    last = await shown(client, "query=money")
    assert last["partialResults"] is False
    assert last["pagination"] == {"limit": 20, "cursor": None}
    assert [item["serviceName"] for item in last["resources"]] == ["FX"]
    assert last["resources"][0].keys() >= {"resource", "type", "x402Version", "accepts", "quality"}


async def test_search_returns_empty_page_without_match(client: AsgiClient) -> None:
    body = await shown(client, "query=unicorn")
    assert body["resources"] == []
    assert body["partialResults"] is False


async def test_search_pages_follow_by_cursor(client: AsgiClient) -> None:
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await shown(client, f"query=tides&limit=7&cursor={cursor}")
        seen += [item["resource"] for item in page["resources"]]
        cursor = page["pagination"]["cursor"]
        assert page["partialResults"] is (cursor is not None)
    assert len(seen) == len(set(seen)) == 30


WITHOUT_QUERY = ["", "query=", "query=%20%09", "limit=3"]


@promise("search:query-required")
async def test_search_is_refused_without_query(client: AsgiClient) -> None:
    for query in WITHOUT_QUERY:
        assert code(await client.get(f"{PATH}?{query}")) == "QUERY_REQUIRED", query


INVALID = [
    ("query=tides&limit=0", "invalid_limit"),
    ("query=tides&limit=ten", "invalid_limit"),
    ("query=tides&query=money", "repeated_parameter"),
    ("query=tides&explain=perhaps", "invalid_flag"),
    ("query=tides&cursor=abc", "invalid_cursor"),
    (f"query=tides&cursor={quote('🎉')}", "invalid_cursor"),
    (f"query=tides&cursor={'A' * 13_000}", "invalid_query_string"),
    (f"query={'a' * 2_001}", "query_too_long"),
    ("query=%ff", "invalid_query_string"),
    ("query=tides&extension=a&extensions=b", "conflicting_parameters"),
]


@case("CT-049")
async def test_search_refuses_invalid_parameters_with_a_code(client: AsgiClient) -> None:
    for query, expected in INVALID:
        assert code(await client.get(f"{PATH}?{query}")) == expected, query


async def test_search_caps_limit_and_returns_it(client: AsgiClient) -> None:
    assert (await shown(client, "query=tides&limit=1000"))["pagination"]["limit"] == 100


async def test_search_names_unknown_parameters_and_ignores_them(client: AsgiClient) -> None:
    body = await shown(client, "query=money&maxUsdPrice=1&asset=x")
    assert body["unappliedFilters"] == ["maxUsdPrice", "asset"]
    assert len(body["resources"]) == 1


NO_VALUES = ["%25", "' OR 1=1 --", "$.bazaar", "stellar:*", "eip155:8453", "Ⅷ"]


@case("CT-052")
@pytest.mark.parametrize("name", ["network", "type", "payTo", "scheme", "extensions"])
async def test_search_returns_empty_page_when_filter_matches_nothing(
    client: AsgiClient, name: str
) -> None:
    for value in NO_VALUES:
        body = await shown(client, f"query=tides&{name}={quote(value)}")
        assert body["resources"] == [], value


async def test_search_explanation_gives_score_of_each_hit(client: AsgiClient) -> None:
    body = await shown(client, "query=find%20me%20tides&limit=1&explain=true")
    assert [word["word"] for word in body["explain"]["words"]] == ["find", "tides"]
    assert "absent" in body["explain"]["meaning"]
    why = body["resources"][0]["explain"]
    assert why["words"] == [
        {"word": "tides", "found": "tides", "as": "itself", "in": ["description"]}
    ]
    assert why.keys() == {"relevance", "foundBy", "words", "scores", "freshness", "payers"}
    assert "explain" not in (await shown(client, "query=tides"))["resources"][0]


async def test_search_reads_line_breaks_as_spaces(client: AsgiClient) -> None:
    body = await shown(client, "query=tides%0aof%0dthe%00sea&limit=1")
    assert len(body["resources"]) == 1


WIDE = [
    ("ｔｉｄｅｓ", "tides", False),
    ("ｔｉｄｅｓ －ｓｅａ", "tides -sea", True),
    ("ｍｏｎｅｙ　ＯＲ　ｕｎｉｃｏｒｎ", "money OR unicorn", True),
    ("ｍｏｎｅｙ ｜ unicorn", "money | unicorn", True),
    ("＂tides sea＂", '"tides sea"', False),
    ("ﬁnd me ｔｉｄｅｓ", "find me tides", False),
]


async def test_search_normalizes_full_width_and_ligature_characters(client: AsgiClient) -> None:
    for other, plain, is_sign in WIDE:
        found = await shown(client, f"query={quote(other)}&explain=true")
        meant = await shown(client, f"query={quote(plain)}&explain=true")
        assert [item["resource"] for item in found["resources"]] == [
            item["resource"] for item in meant["resources"]
        ], other
        assert found["explain"] == meant["explain"], other
        # words are plain anyway, signs were not
        assert (parse(other) != parse(plain)) == is_sign, other


async def test_search_limits_length_of_normalized_query(client: AsgiClient) -> None:
    assert code(await client.get(f"{PATH}?query={quote('ﷺ' * 200)}")) == "query_too_long"
