"""Words that ask are left out before a request's meaning is looked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.search.query.request_text import asked_for, with_words_put_right


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("find me a weather forecast API for Paris", "weather forecast for Paris"),
        ("I need an API that returns the tides", "returns the tides"),
        ("MCP tool to dim the lamp", "dim the lamp"),
        ("Please show us any service for parcels", "parcels"),
        ("weather", "weather"),
        ("which x402 endpoint translates subtitles?", "translates subtitles?"),
        ("finder of lost keys", "finder of lost keys"),
        ("getaway cottages", "getaway cottages"),
    ],
)
def test_what_is_asked_for_stays(text: str, wanted: str) -> None:
    assert asked_for(text) == wanted


@pytest.mark.parametrize("text", ["mcp", "API", "find me an API", "which tools", ""])
def test_a_request_for_anything_stays_as_it_is(text: str) -> None:
    assert asked_for(text) == text


@given(st.text(max_size=60))
def test_any_text_comes_to_some_text(text: str) -> None:
    assert bool(asked_for(text)) is bool(text)


def test_mistyped_words_are_read_as_they_were_meant() -> None:
    meant = {"tranlation": "translation", "englsh": "english"}
    assert with_words_put_right("Tranlation, englsh to Oslo", meant) == (
        "translation, english to Oslo"
    )
    assert with_words_put_right("as it is", {}) == "as it is"
