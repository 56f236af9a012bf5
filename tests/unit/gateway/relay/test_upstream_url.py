"""The URL of an upstream request: below the base path, with both queries unchanged."""

import pytest

from farebox.gateway.relay.upstream_url import (
    MAX_PATH_CHARS,
    UpstreamUrlFault,
    is_path_confined,
    join_upstream_url,
)

BASE = "https://api.example.com/v1"


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("", BASE),
        ("/", BASE),
        ("/a", f"{BASE}/a"),
        ("/a/", f"{BASE}/a/"),
        ("/a%20b/c;v=1", f"{BASE}/a%20b/c;v=1"),
        ("/...", f"{BASE}/..."),
        ("/.well-known", f"{BASE}/.well-known"),
    ],
)
def test_path_is_appended_byte_for_byte(path: str, url: str) -> None:
    assert join_upstream_url(BASE, path, None) == url


def test_base_path_with_trailing_slash_gets_no_second_one() -> None:
    assert join_upstream_url(f"{BASE}/", "/a", None) == f"{BASE}/a"
    assert join_upstream_url(f"{BASE}/", "", None) == f"{BASE}/"


@pytest.mark.parametrize(
    ("base_query", "query", "ending"),
    [
        (None, None, ""),
        (None, "", "?"),
        (None, "b=2&a=1&b=3", "?b=2&a=1&b=3"),
        (None, "q=a+b%20c%26d", "?q=a+b%20c%26d"),
        ("key=1", None, "?key=1"),
        ("key=1", "", "?key=1"),
        ("key=1", "a=2&a=", "?key=1&a=2&a="),
        ("", None, "?"),
        (None, "q=" + "a" * 65_536, "?q=" + "a" * 65_536),
    ],
)
def test_query_is_forwarded_unchanged_after_the_base_query(
    base_query: str | None, query: str | None, ending: str
) -> None:
    joined = join_upstream_url(BASE, "/a", query, base_query=base_query)
    assert joined == f"{BASE}/a{ending}"


@pytest.mark.parametrize("query", ['a="b"', "a=b c", "a=<b>", "a=b#c", "a=\u00e9", "a=%2", "a=b\n"])
def test_query_with_characters_of_no_url_is_refused(query: str) -> None:
    assert join_upstream_url(BASE, "/a", query) is UpstreamUrlFault.QUERY


@pytest.mark.parametrize(
    "path",
    [
        "/..",
        "/.",
        "/a/../b",
        "/%2e%2e",
        "/%2E./a",
        "/%252e%252e",
        "/%25252e%25252e",
        "/..;a=1",
        "/%2e%2e%3b/a",
        "/a%2fb",
        "/a%2Fb",
        "/a%5cb",
        "/a%255cb",
        "/a\\b",
        "//example.org",
        "/a//b",
        "/a%00",
        "/a%0d%0ab",
        "/a b",
        "/a\u00e9",
        "/a%zz",
        "/a?b",
        "/a#b",
        "a",
        "/%" + "25" * 40 + "2e",
        "/" + "a" * MAX_PATH_CHARS,
    ],
)
def test_path_that_may_leave_the_base_path_is_refused(path: str) -> None:
    assert not is_path_confined(path)
    assert join_upstream_url(BASE, path, None) is UpstreamUrlFault.PATH
