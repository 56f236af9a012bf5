"""Query strings of the catalog: limits, offsets, filters, and the codes of refusals."""

from urllib.parse import quote

import pytest

from farebox.catalog.browsing.query_string import (
    MAX_BYTES,
    MAX_PARAMETERS,
    InvalidQueryString,
    find_unapplied,
    read_filters,
    read_flag,
    read_limit,
    read_offset,
    read_query_string,
    read_text,
)
from farebox.catalog.listing import ListingFilters
from support.listing_rows import SELLER


@pytest.mark.parametrize(
    ("query", "limit"),
    [
        ("", 20),
        ("limit=1", 1),
        ("limit=007", 7),
        ("limit=100", 100),
        ("limit=101", 100),
        ("limit=1000000000", 100),
        ("limit=5&limit=5", 5),
    ],
)
def test_limit_is_read_up_to_the_maximum(query: str, limit: int) -> None:
    assert read_limit(read_query_string(query.encode())) == limit


BAD_LIMITS = (
    "0",
    "-1",
    "+1",
    "ten",
    "10abc",
    "1e1",
    "1.0",
    " 1",
    "1_0",
    "\u0661",
    "0x1",
    "9" * 9_000,
)


@pytest.mark.parametrize("value", BAD_LIMITS)
def test_limit_that_is_no_count_is_refused(value: str) -> None:
    with pytest.raises(InvalidQueryString) as refused:
        read_limit(read_query_string(f"limit={quote(value)}".encode()))
    assert refused.value.code == "invalid_limit"


@pytest.mark.parametrize(
    ("query", "offset"), [("", 0), ("offset=0", 0), ("offset=9223372036854775807", 2**63 - 1)]
)
def test_offset_is_read(query: str, offset: int) -> None:
    assert read_offset(read_query_string(query.encode())) == offset


@pytest.mark.parametrize(
    "value", ["-1", "1.5", str(2**63), str(2**64), "9" * 9_000, "1e3", "\u0661", "one"]
)
def test_offset_out_of_range_is_refused(value: str) -> None:
    with pytest.raises(InvalidQueryString) as refused:
        read_offset(read_query_string(f"offset={quote(value)}".encode()))
    assert refused.value.code == "invalid_offset"


def test_filters_are_read_as_given() -> None:
    query = (
        f"type=http&network=eip155%3A8453&payTo={SELLER.lower()}&scheme=ex%25_act"
        "&extensions=%24.a%27%5B%2A%5D"
    )
    assert read_filters(read_query_string(query.encode())) == ListingFilters(
        type="http", network="eip155:8453", pay_to=SELLER, scheme="ex%_act", extension="$.a'[*]"
    )


def test_recipient_of_another_network_keeps_its_spelling() -> None:
    assert read_filters(read_query_string(b"payTo=0xAbC")).pay_to == "0xAbC"


@pytest.mark.parametrize("query", ["extensions=a", "extension=a", "extension=a&extensions=a"])
def test_extension_filter_is_read_in_both_spellings(query: str) -> None:
    assert read_filters(read_query_string(query.encode())).extension == "a"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("extension=a&extensions=b", "conflicting_parameters"),
        ("type=http&type=mcp", "repeated_parameter"),
        ("type=http&type=", "repeated_parameter"),
        ("network=", "empty_parameter"),
        ("payTo", "empty_parameter"),
        ("scheme=exact%00", "control_characters"),
        ("scheme=exact%0A", "control_characters"),
        ("network=%C2%85", "control_characters"),
    ],
)
def test_filter_that_cannot_be_applied_is_refused(query: str, code: str) -> None:
    with pytest.raises(InvalidQueryString) as refused:
        read_filters(read_query_string(query.encode()))
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"type=%ED%A0%80", "invalid_query_string"),  # half a surrogate pair
        (b"type=%FF", "invalid_query_string"),
        (b"\xff=1", "invalid_query_string"),
        (b"a=1&" * (MAX_PARAMETERS + 1), "too_many_parameters"),
        (b"a=" + b"x" * MAX_BYTES, "query_string_too_long"),
    ],
)
def test_unreadable_query_string_is_refused(raw: bytes, code: str) -> None:
    with pytest.raises(InvalidQueryString) as refused:
        read_query_string(raw)
    assert refused.value.code == code


def test_plus_is_a_space_and_a_malformed_escape_is_literal() -> None:
    parameters = read_query_string(b"query=a+b%2Bc%zz%4&&=&x")
    assert read_text(parameters, "query") == "a b+c%zz%4"


@pytest.mark.parametrize(("query", "is_on"), [("", False), ("x=true", True), ("x=0", False)])
def test_flag_is_on_or_off(query: str, is_on: bool) -> None:
    assert read_flag(read_query_string(query.encode()), "x") is is_on


def test_flag_with_another_value_is_refused() -> None:
    with pytest.raises(InvalidQueryString) as refused:
        read_flag(read_query_string(b"x=yes"), "x")
    assert refused.value.code == "invalid_flag"


def test_unapplied_parameters_are_named_once_bounded_and_printable() -> None:
    raw = b"type=http&maxUsdPrice=1&maxUsdPrice=2&a%0Ab=&" + b"n" * 500 + b"=1"
    names = find_unapplied(read_query_string(raw), frozenset({"type"}))
    assert names == ("maxUsdPrice", "a?b", "n" * 64)
