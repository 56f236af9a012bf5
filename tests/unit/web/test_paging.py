"""The page of a list that a query string requests."""

import msgspec
import pytest

from farebox.web.paging import DEFAULT_LIMIT, MAX_LIMIT, BadPage, Page, read_page, write_cursor


class Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    at: int
    id: str


def read(query: str) -> Page[Place]:
    return read_page(query.encode("latin-1"), Place)


def test_page_is_the_first_without_parameters() -> None:
    assert read("") == read("other=1") == Page(DEFAULT_LIMIT, None)


@pytest.mark.parametrize(
    ("text", "limit"), [("1", 1), ("100", 100), ("101", MAX_LIMIT), ("999999", MAX_LIMIT)]
)
def test_page_limit_is_capped_at_the_maximum(text: str, limit: int) -> None:
    assert read(f"limit={text}").limit == limit
    assert read(f"limit={text}&limit={text}").limit == limit


def test_cursor_round_trips_its_position() -> None:
    place = Place(2**40, "key_ü")
    assert read(f"cursor={write_cursor(place)}&limit=3") == Page(3, place)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=", "invalid_limit"),
        ("limit=0", "invalid_limit"),
        ("limit=+1", "invalid_limit"),
        ("limit=%D9%A1", "invalid_limit"),
        ("limit=1e2", "invalid_limit"),
        ("limit=1000000", "invalid_limit"),
        ("limit=1&limit=2", "invalid_limit"),
        ("cursor=", "invalid_cursor"),
        ("cursor=%", "invalid_cursor"),
        ("cursor=A", "invalid_cursor"),
        ("cursor=é", "invalid_query_string"),
        ("cursor=%C3%A9", "invalid_cursor"),
        ("cursor=" + "A" * 513, "invalid_cursor"),
        ("cursor=" + write_cursor([1]), "invalid_cursor"),
        ("cursor=" + write_cursor([1, 2]), "invalid_cursor"),
        ("cursor=" + write_cursor([1, "a", 2]), "invalid_cursor"),
        ("cursor=" + write_cursor({"at": 1, "id": "a"}), "invalid_cursor"),
        (f"cursor={write_cursor([1, 'a'])}&cursor={write_cursor([1, 'b'])}", "invalid_cursor"),
        ("&".join(f"a{n}=1" for n in range(65)), "invalid_query_string"),
    ],
)
def test_invalid_page_parameters_are_refused(query: str, code: str) -> None:
    with pytest.raises(BadPage) as refused:
        read(query)
    assert refused.value.code == code
