"""The judge of odd queries sees what is wrong with an answer."""

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import orjson
import pytest

from prove.odd_answers import Seen, faults
from prove.odd_queries import PATHS, GivenCursor, OddQuery, Stock, odd_query

ITEM: dict[str, Any] = {
    "resource": "https://a.example/x",
    "type": "http",
    "x402Version": 2,
    "accepts": [{"scheme": "exact", "network": "stellar:testnet", "amount": "7", "payTo": "GA"}],
    "lastUpdated": "2026-11-01T12:00:00.000Z",
    "extensions": {"bazaar": {}},
    "network": "stellar:testnet",
    "ownership": "unverified",
    "quality": {},
    "untrusted": [],
}
BROWSED: dict[str, Any] = {
    "x402Version": 2,
    "items": [ITEM],
    "pagination": {"limit": 20, "offset": 0, "total": 1},
}
SEARCHED: dict[str, Any] = {
    "x402Version": 2,
    "resources": [ITEM],
    "partialResults": True,
    "pagination": {"limit": 1, "cursor": "abc_-9"},
}
MEETS = "type=http&network=stellar%3Atestnet&payTo=ga&scheme=exact&extensions=bazaar"
Change = Callable[[dict[str, Any]], object]


def seen(body: object, status: int = 200) -> Seen:
    return Seen(status, orjson.dumps(body), 0.1)


def test_a_whole_page_has_no_fault() -> None:
    assert faults(OddQuery(PATHS[0], MEETS), seen(BROWSED)) == []
    assert faults(OddQuery(PATHS[1], MEETS), seen(SEARCHED)) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.pop("pagination"),
        lambda body: body.update(surplus=1),
        lambda body: body["pagination"].update(limit=101),
        lambda body: body["pagination"].update(total=5),
        lambda body: body["items"][0].pop("network"),
        lambda body: body["items"][0].update(description=None),
        lambda body: body["items"][0].update(type="mcp"),
        lambda body: body["items"][0].update(lastUpdated="2026-11-01T12:00:00"),
        lambda body: body["items"][0]["accepts"][0].update(amount="1e3"),
        lambda body: body["items"][0]["accepts"][0].update(network="stellar:pubnet"),
    ],
)
def test_a_misshapen_page_is_seen(change: Change) -> None:
    body = copy.deepcopy(BROWSED)
    change(body)
    assert faults(OddQuery(PATHS[0], ""), seen(body)) != []


@pytest.mark.parametrize(
    "query",
    ["type=mcp", "network=eip155:1", "payTo=GB", "scheme=upto", "extensions=x", "extension=x"],
)
def test_a_listing_that_does_not_meet_a_filter_is_seen(query: str) -> None:
    (fault,) = faults(OddQuery(PATHS[0], query), seen(BROWSED))
    assert "does not meet" in fault


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.update(partialResults=False),
        lambda body: body["pagination"].update(cursor=None),
        lambda body: body["pagination"].update(cursor="a b"),
        lambda body: body["resources"].append(ITEM),
    ],
)
def test_a_search_that_contradicts_itself_is_seen(change: Change) -> None:
    body = copy.deepcopy(SEARCHED)
    change(body)
    assert faults(OddQuery(PATHS[1], "query=x"), seen(body)) != []


def test_a_cursor_that_was_never_given_may_not_be_taken() -> None:
    assert faults(OddQuery(PATHS[1], "query=x&cursor=y", is_forged=True), seen(SEARCHED)) != []


@pytest.mark.parametrize("status", [500, 503, 302, 404])
def test_only_a_page_or_a_refusal_is_an_answer(status: int) -> None:
    assert faults(OddQuery(PATHS[0], ""), seen(BROWSED, status)) == [f"status {status}"]


def test_a_refusal_has_a_code_in_the_uniform_body() -> None:
    error = {"code": "invalid_limit", "message": "No.", "requestId": "1"}
    assert faults(OddQuery(PATHS[0], ""), seen({"error": error}, 400)) == []
    others: list[object] = [{"error": "no"}, {"error": error | {"code": ""}}, {}, [], "x"]
    for body in others:
        assert faults(OddQuery(PATHS[0], ""), seen(body, 400)) == ["a refusal without a code"]


def test_the_same_seed_asks_the_same_and_every_path_and_forgery_comes_up() -> None:
    stock = Stock(("rain",), ("find rain",), ("GA",), (GivenCursor("QUJDREVG", "query=x"),))
    first, second = ([odd_query(Random(n), stock) for n in range(300)] for _ in range(2))
    assert first == second
    assert {query.path for query in first} == set(PATHS)
    assert {query.is_forged for query in first} == {True, False}
    assert all(query.target.isascii() for query in first)
