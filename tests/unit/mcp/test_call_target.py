"""The URL of a paid call is built from the listing and the parameters, never from other text."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.catalog.listing import ListingType, Metadata, Resource
from farebox.mcp.call_arguments import CallArguments
from farebox.mcp.call_target import build_url, discovery_text, listing_key
from farebox.mcp.rpc_error import RpcError, RpcReason

PLAIN = "https://api.example.com/weather"
TEMPLATE = "https://api.example.com/cities/:name/days/:day"
BAZAAR = (
    b'{"bazaar":{"info":{"input":{"type":"http","method":"GET","queryParams":{"city":"Paris"}}},'
    b'"schema":{"type":"object"}}}'
)


def resource(url: str) -> Resource:
    return Resource(ListingType.HTTP, listing_key(url), url, Metadata(), BAZAAR, ("bazaar",), "")


def built(url: str, **arguments: Any) -> str:
    return build_url(resource(url), CallArguments(url, **arguments))


def test_key_of_a_template_has_anonymous_parameters() -> None:
    assert listing_key(PLAIN) == PLAIN
    assert listing_key(TEMPLATE) == "https://api.example.com/cities/{}/days/{}"


def test_parameters_fill_the_template_and_the_query() -> None:
    url = built(TEMPLATE, path_params={"name": "São", "day": 3}, query={"a": ["x", 1], "b": True})
    assert url == "https://api.example.com/cities/S%C3%A3o/days/3?a=x&a=1&b=true"


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"name": "Paris"},
        {"name": "Paris", "day": 1, "more": 2},
        {"name": "..", "day": 1},
        {"name": ".", "day": 1},
        {"name": "", "day": 1},
        {"name": "a/b", "day": 1},
        {"name": "a\\b", "day": 1},
        {"name": "%2e%2e", "day": 1},
        {"name": "a\x00", "day": 1},
        {"name": None, "day": 1},
        {"name": {}, "day": 1},
        {"name": "\ud800", "day": 1},
    ],
)
def test_path_parameter_that_is_no_segment_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(RpcError) as raised:
        built(TEMPLATE, path_params=values)
    assert raised.value.reason is RpcReason.INVALID_ARGUMENTS


@pytest.mark.parametrize("query", [{"a": {}}, {"a": [[1]]}, {"a": "\ud800"}, {"a": "x" * 9000}])
def test_query_that_no_url_can_hold_is_refused(query: dict[str, object]) -> None:
    with pytest.raises(RpcError):
        built(PLAIN, query=query)


@given(name=st.text(), day=st.text(), value=st.text())
def test_no_parameter_leaves_its_place_in_the_url(name: str, day: str, value: str) -> None:
    try:
        url = built(TEMPLATE, path_params={"name": name, "day": day}, query={"q": value})
    except RpcError:
        return
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "api.example.com", "")
    assert [unquote(each) for each in parts.path.split("/")] == ["", "cities", name, "days", day]
    assert parse_qsl(parts.query, keep_blank_values=True) == [("q", value)]


def test_call_is_described_by_its_own_parameters_alone() -> None:
    assert discovery_text(resource(PLAIN), CallArguments(PLAIN)) is None
    text = discovery_text(resource(PLAIN), CallArguments(PLAIN, query={"city": "Rome"}))
    assert text is not None
    assert b'"queryParams":{"city":"Rome"}' in text
    assert b"Paris" not in text
