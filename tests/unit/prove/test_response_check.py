"""The judge of odd queries finds each incorrect response."""

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import orjson
import pytest

from prove.query_generator import (
    PATHS,
    GeneratedQuery,
    IssuedCursor,
    QueryVocabulary,
    generate_query,
)
from prove.response_check import RawResponse, find_faults

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


def seen(body: object, status: int = 200) -> RawResponse:
    return RawResponse(status, orjson.dumps(body), 0.1)


def test_complete_page_has_no_fault() -> None:
    assert find_faults(GeneratedQuery(PATHS[0], MEETS), seen(BROWSED)) == []
    assert find_faults(GeneratedQuery(PATHS[1], MEETS), seen(SEARCHED)) == []


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
def test_malformed_page_has_a_fault(change: Change) -> None:
    body = copy.deepcopy(BROWSED)
    change(body)
    assert find_faults(GeneratedQuery(PATHS[0], ""), seen(body)) != []


@pytest.mark.parametrize(
    "query",
    ["type=mcp", "network=eip155:1", "payTo=GB", "scheme=upto", "extensions=x", "extension=x"],
)
def test_listing_that_does_not_meet_a_filter_is_a_fault(query: str) -> None:
    (fault,) = find_faults(GeneratedQuery(PATHS[0], query), seen(BROWSED))
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
def test_inconsistent_search_response_has_a_fault(change: Change) -> None:
    body = copy.deepcopy(SEARCHED)
    change(body)
    assert find_faults(GeneratedQuery(PATHS[1], "query=x"), seen(body)) != []


def test_accepted_forged_cursor_is_a_fault() -> None:
    assert (
        find_faults(GeneratedQuery(PATHS[1], "query=x&cursor=y", is_forged=True), seen(SEARCHED))
        != []
    )


@pytest.mark.parametrize("status", [500, 503, 302, 404])
def test_other_status_than_page_or_refusal_is_a_fault(status: int) -> None:
    assert find_faults(GeneratedQuery(PATHS[0], ""), seen(BROWSED, status)) == [f"status {status}"]


def test_refusal_without_a_code_is_a_fault() -> None:
    error = {"code": "invalid_limit", "message": "No.", "requestId": "1"}
    assert find_faults(GeneratedQuery(PATHS[0], ""), seen({"error": error}, 400)) == []
    others: list[object] = [{"error": "no"}, {"error": error | {"code": ""}}, {}, [], "x"]
    for body in others:
        assert find_faults(GeneratedQuery(PATHS[0], ""), seen(body, 400)) == [
            "a refusal without a code"
        ]


def test_odd_queries_repeat_per_seed_and_cover_every_path_and_forgery() -> None:
    vocabulary = QueryVocabulary(
        ("rain",), ("find rain",), ("GA",), (IssuedCursor("QUJDREVG", "query=x"),)
    )
    first, second = ([generate_query(Random(n), vocabulary) for n in range(300)] for _ in range(2))
    assert first == second
    assert {query.path for query in first} == set(PATHS)
    assert {query.is_forged for query in first} == {True, False}
    assert all(query.target.isascii() for query in first)


def test_only_a_url_that_is_too_long_may_be_refused_as_such() -> None:
    refusal = seen({"error": {"code": "url_too_long", "message": "no", "requestId": "1"}}, 414)
    assert find_faults(GeneratedQuery(PATHS[0], "a=" + "b" * 9_000), refusal) == []
    assert find_faults(GeneratedQuery(PATHS[0], "a=" + "b" * 9_000), seen({}, 414)) != []
    assert find_faults(GeneratedQuery(PATHS[0], "a=b"), refusal) == ["status 414"]
