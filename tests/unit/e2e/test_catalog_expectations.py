"""The judge of the stock clients' answers finds each incorrect one."""

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from e2e.catalog_expectations import Entry, Expectation, build_expectations, find_faults

ACCEPTS = {"scheme": "exact", "network": "stellar:testnet", "amount": "100000", "payTo": "G"}
HTTP = Entry(
    "stellar:testnet", "http", "http://a/report", ACCEPTS, {"info": 1}, {"description": "x"}
)
TOOL = Entry("stellar:testnet", "mcp", "http://a/mcp", ACCEPTS, {"info": 2}, {"tags": ["a"]})
ENTRIES = {entry.kind: entry for entry in (HTTP, TOOL)}
ITEM: dict[str, Any] = {
    "resource": "http://a/report",
    "type": "http",
    "x402Version": 2,
    "accepts": [ACCEPTS],
    "lastUpdated": datetime.now(UTC).isoformat(),
    "description": "x",
    "extensions": {"bazaar": {"info": 1}},
}
LIST: dict[str, Any] = {
    "x402Version": 2,
    "items": [ITEM],
    "pagination": {"limit": 20, "offset": 0, "total": 1},
}
EXPECTATION = Expectation({"type": "http"}, (HTTP.kind,))


def test_correct_answer_has_no_fault() -> None:
    assert find_faults("list", EXPECTATION, {"answer": LIST}, ENTRIES) == []
    found = {"x402Version": 2, "resources": [ITEM], "partialResults": False, "pagination": None}
    assert find_faults("search", EXPECTATION, {"answer": found}, ENTRIES) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.update(x402Version=0),
        lambda body: body["items"].clear(),
        lambda body: body["items"].append(ITEM),
        lambda body: body["pagination"].update(total=2),
        lambda body: body["items"][0]["accepts"][0].update(amount="100001"),
        lambda body: body["items"][0].update(resource="http://b/report"),
        lambda body: body["items"][0].update(description="y"),
        lambda body: body["items"][0].update(tags="weather"),
        lambda body: body["items"][0].update(lastUpdated="2020-01-01T00:00:00Z"),
        lambda body: body["items"][0]["extensions"]["bazaar"].update(info=2),
    ],
)
def test_incorrect_answer_has_a_fault(change: Callable[[dict[str, Any]], object]) -> None:
    body = copy.deepcopy(LIST)
    change(body)
    assert find_faults("list", EXPECTATION, {"answer": body}, ENTRIES) != []


def test_error_of_a_client_is_a_fault() -> None:
    assert find_faults("search", EXPECTATION, {"error": "ValueError: no"}, ENTRIES) != []


def test_requests_use_every_filter_of_both_routes() -> None:
    lists, searches = build_expectations([HTTP, TOOL])
    names = {key for each in lists for key in each.parameters}
    assert names == {"limit", "offset", "scheme", "extensions", "network", "payTo", "type"}
    names = {key for each in searches for key in each.parameters}
    assert names >= {"query", "limit", "walk", "type", "network", "payTo", "scheme", "extensions"}
