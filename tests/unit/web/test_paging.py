"""Pages of a list."""

import msgspec
import pytest

from farebox.web.paging import MOST, USUAL, BadPage, Page, read_page, write_cursor


class Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    at: int
    id: str


def read(query: str) -> Page[Place]:
    return read_page(query.encode("latin-1"), Place)


def test_without_a_word_the_first_page_is_meant() -> None:
    assert read("") == read("other=1") == Page(USUAL, None)


@pytest.mark.parametrize(
    ("text", "limit"), [("1", 1), ("100", 100), ("101", MOST), ("999999", MOST)]
)
def test_a_limit_is_taken_up_to_the_largest(text: str, limit: int) -> None:
    assert read(f"limit={text}").limit == limit
    assert read(f"limit={text}&limit={text}").limit == limit


def test_a_cursor_leads_to_its_place() -> None:
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
def test_what_is_no_page_is_refused(query: str, code: str) -> None:
    with pytest.raises(BadPage) as refused:
        read(query)
    assert refused.value.code == code
