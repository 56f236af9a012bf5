"""`/discovery/search` as a caller meets it."""

from typing import Any, Final
from urllib.parse import quote

import pytest
import structlog
from starlette.routing import Router

from farebox.search.http import search_routes
from farebox.search.search import Search
from farebox.storage.pool import Database
from farebox.web.errors import ErrorEdge
from farebox.web.request_log import RequestLog
from support.asgi import Answer, AsgiClient
from support.listings import Listed, list_many
from support.manual_clock import ManualClock
from support.promises import case, promise

PATH: Final = "/discovery/search"


@pytest.fixture
async def client(database: Database) -> AsgiClient:
    """A service with thirty listings about tides and one about money."""
    tides = [
        Listed(f"https://n{n}.example", f"n{n}", description="Tides of the sea.") for n in range(30)
    ]
    await list_many(database, [*tides, Listed("https://fx.example", "FX", ("money",))])
    routes = Router(search_routes(Search(database, ManualClock())), redirect_slashes=False)
    return AsgiClient(RequestLog(ErrorEdge(routes, {}), structlog.get_logger()))


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
async def test_a_page_has_the_shape_of_the_specification(client: AsgiClient) -> None:
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


async def test_nothing_that_fits_is_an_empty_page(client: AsgiClient) -> None:
    body = await shown(client, "query=unicorn")
    assert body["resources"] == []
    assert body["partialResults"] is False


async def test_pages_follow_by_their_cursors(client: AsgiClient) -> None:
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await shown(client, f"query=tides&limit=7&cursor={cursor}")
        seen += [item["resource"] for item in page["resources"]]
        cursor = page["pagination"]["cursor"]
        assert page["partialResults"] is (cursor is not None)
    assert len(seen) == len(set(seen)) == 30


@promise("search:query-required")
@pytest.mark.parametrize("query", ["", "query=", "query=%20%09", "limit=3"])
async def test_a_search_without_a_query_is_refused(client: AsgiClient, query: str) -> None:
    assert code(await client.get(f"{PATH}?{query}")) == "QUERY_REQUIRED"


@case("CT-049")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("query=tides&limit=0", "invalid_limit"),
        ("query=tides&limit=ten", "invalid_limit"),
        ("query=tides&query=money", "repeated_parameter"),
        ("query=tides&explain=perhaps", "invalid_flag"),
        ("query=tides&cursor=abc", "invalid_cursor"),
        (f"query=tides&cursor={quote('🎉')}", "invalid_cursor"),
        (f"query=tides&cursor={'A' * 13_000}", "invalid_cursor"),
        (f"query={'a' * 2_001}", "query_too_long"),
        ("query=%ff", "invalid_query_string"),
        ("query=tides&extension=a&extensions=b", "conflicting_parameters"),
    ],
)
async def test_what_cannot_be_obeyed_is_refused_with_a_code(
    client: AsgiClient, query: str, expected: str
) -> None:
    assert code(await client.get(f"{PATH}?{query}")) == expected


async def test_the_limit_is_capped_and_said(client: AsgiClient) -> None:
    assert (await shown(client, "query=tides&limit=1000"))["pagination"]["limit"] == 100


async def test_unknown_parameters_are_named_and_change_nothing(client: AsgiClient) -> None:
    body = await shown(client, "query=money&maxUsdPrice=1&asset=x")
    assert body["unappliedFilters"] == ["maxUsdPrice", "asset"]
    assert len(body["resources"]) == 1


@case("CT-052")
@pytest.mark.parametrize(
    "value", ["%25", "' OR 1=1 --", "$.bazaar", "stellar:*", "eip155:8453", "Ⅷ"]
)
@pytest.mark.parametrize("name", ["network", "type", "payTo", "scheme", "extensions"])
async def test_a_filter_nobody_meets_gives_an_empty_page(
    client: AsgiClient, name: str, value: str
) -> None:
    body = await shown(client, f"query=tides&{name}={quote(value)}")
    assert body["resources"] == []


async def test_an_explanation_says_why_each_hit_stands_where_it_does(client: AsgiClient) -> None:
    body = await shown(client, "query=find%20me%20tides&limit=1&explain=true")
    assert [word["word"] for word in body["explain"]["words"]] == ["find", "tides"]
    assert "absent" in body["explain"]["meaning"]
    why = body["resources"][0]["explain"]
    assert why["words"] == [
        {"word": "tides", "found": "tides", "as": "itself", "in": ["description"]}
    ]
    assert why.keys() == {"relevance", "foundBy", "words", "scores", "freshness", "payers"}
    assert "explain" not in (await shown(client, "query=tides"))["resources"][0]


async def test_line_breaks_in_a_query_are_spaces(client: AsgiClient) -> None:
    body = await shown(client, "query=tides%0aof%0dthe%00sea&limit=1")
    assert len(body["resources"]) == 1
