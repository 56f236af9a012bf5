"""Cursors: only ours, only for their own search, only for a while."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.catalog.listing import ListingFilters
from farebox.kernel.secret import Secret
from farebox.search.finding.cursor import (
    CURSOR_LIFE,
    MAX_CURSOR,
    BadCursor,
    Standpoint,
    read_cursor,
    write_cursor,
)
from farebox.search.finding.walk import Walk
from farebox.search.meaning.senses import Sense
from farebox.search.query.plan import AccessPath, Kind, RecallStage
from farebox.search.query.terms import Role, Sought, TermProbe
from farebox.search.vocabulary.alternative import Kinship

KEY: Final = Secret(bytes(range(32)))
NOW: Final = datetime(2026, 11, 21, 12, tzinfo=UTC)
RAIN: Final = Sought(
    "rain",
    Role.CONTENT,
    (TermProbe("('rain')", "rain"), TermProbe("'snow'", "snow", 80, Kinship.SYNONYM)),
    weight=61,
    share=0.25,
    name_share=0.0,
)
WALK: Final = Walk(
    at=NOW,
    snapshot="10:20:10,14,15",
    must="!('radar')",
    sought=(RAIN,),
    stages=(RecallStage(Kind.RELAXED, AccessPath.INDEX, "('rain') | ('snow')", 400, NOW, 0.125),),
    sense=Sense(bytes(range(256)) + bytes(128)),
    model="a model",
    is_truncated=True,
)
POINT: Final = Standpoint(WALK, (-1159, 1, -3, -1_700_000_000_000_000, 42))
FILTERS: Final = ListingFilters(network="stellar:testnet")


def written(key: Secret[bytes] = KEY) -> str:
    return write_cursor(key, "rain", FILTERS, POINT)


def refusal(
    text: str, query: str = "rain", filters: ListingFilters = FILTERS, **late: float
) -> str:
    with pytest.raises(BadCursor) as caught:
        read_cursor(KEY, text, query, filters, now=NOW + timedelta(**late))
    return caught.value.code


def test_a_cursor_gives_back_the_whole_walk_and_where_it_stands() -> None:
    assert read_cursor(KEY, written(), "rain", FILTERS, now=NOW) == POINT


def test_a_cursor_is_short_and_plain_enough_for_a_url() -> None:
    assert len(written()) < 1_500
    assert set(written()) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize(
    ("query", "filters"),
    [
        ("rain ", FILTERS),
        ("snow", FILTERS),
        ("rain", ListingFilters()),
        ("rain", ListingFilters(type="stellar:testnet")),
        ("rain", replace(FILTERS, pay_to="G")),
    ],
)
def test_a_cursor_stands_for_one_query_with_its_filters(
    query: str, filters: ListingFilters
) -> None:
    assert refusal(written(), query, filters) == "cursor_mismatch"


def test_a_cursor_is_good_for_a_quarter_of_an_hour() -> None:
    late = NOW + CURSOR_LIFE
    assert read_cursor(KEY, written(), "rain", FILTERS, now=late) == POINT
    assert refusal(written(), minutes=15.1) == "cursor_expired"
    assert refusal(written(), minutes=-2) == "cursor_expired"


def test_a_cursor_of_another_key_is_not_ours() -> None:
    assert refusal(written(Secret(bytes(32)))) == "invalid_cursor"


@given(st.data())
def test_no_changed_character_goes_unnoticed(data: st.DataObject) -> None:
    text = written()
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from("ABCxyz019-_=+/ \n"))
    changed = text[:place] + other + text[place + 1 :]
    if changed != text:
        assert refusal(changed) == "invalid_cursor"


@given(st.text(max_size=200))
def test_any_other_text_is_refused_with_a_code(text: str) -> None:
    assert refusal(text) == "invalid_cursor"


@pytest.mark.parametrize(
    "text", ["A" * (MAX_CURSOR + 1), "=" * 8, json.dumps({}), "é" * 20, "AAAA" * 20]
)
def test_what_is_no_cursor_is_refused_with_a_code(text: str) -> None:
    assert refusal(text) == "invalid_cursor"
