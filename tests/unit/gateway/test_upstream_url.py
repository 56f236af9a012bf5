"""The URL of an upstream request: below the base path, with both queries unchanged."""

import pytest

from farebox.gateway import upstream_url
from farebox.gateway.upstream_url import (
    MAX_PATH_CHARS,
    MAX_READ_CHARS,
    UpstreamUrlFault,
    is_path_confined,
    join_upstream_url,
    read_path,
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
        ("/a%2Fb", f"{BASE}/a%2Fb"),
        ("/a%2fb%5c", f"{BASE}/a%2fb%5c"),
        ("/a%252Fb", f"{BASE}/a%252Fb"),
        ('/a|b^c[d]{e}`"<f>\\g', f'{BASE}/a|b^c[d]{{e}}`"<f>\\g'),
        ("/100%", f"{BASE}/100%"),
        ("/%zz%2", f"{BASE}/%zz%2"),
        ("/a//b", f"{BASE}/a//b"),
        ("//example.org", f"{BASE}//example.org"),
        ("/1..2/..a/a..", f"{BASE}/1..2/..a/a.."),
        ("/caf%c3%a9/%ff", f"{BASE}/caf%c3%a9/%ff"),
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
        (
            None,
            'q={%22take%22:50}&a|b^[c]%&d=%2&e="<>`\\',
            '?q={%22take%22:50}&a|b^[c]%&d=%2&e="<>`\\',
        ),
        (None, "path=/../a%0a", "?path=/../a%0a"),
    ],
)
def test_query_is_forwarded_unchanged_after_the_base_query(
    base_query: str | None, query: str | None, ending: str
) -> None:
    joined = join_upstream_url(BASE, "/a", query, base_query=base_query)
    assert joined == f"{BASE}/a{ending}"


@pytest.mark.parametrize("query", ["a=b c", "a=b#c", "a=\u00e9", "a=b\n", "a\x7f", "a\x00"])
def test_query_with_characters_of_no_request_line_is_refused(query: str) -> None:
    assert join_upstream_url(BASE, "/a", query) is UpstreamUrlFault.QUERY


@pytest.mark.parametrize(
    "path",
    [
        "/..", "/.", "/a/../b", "/%2e%2e", "/%2E./a", "/%252e%252e", "/%25252e%25252e",
        "/%%32e%%32e", "/%u002e%u002e", "/%c0%ae%c0%ae", "/%e0%80%ae./a", "/%f0%80%80%ae.",
        "/..;a=1", "/%2e%2e%3b/a", "/a%2f..%2fb", "/a%2F.%2Fb", "/a%5c..%5cb", "/a%255c..",
        "/a\\..\\b", "//../a", "/a//..", "/%20..", "/..%20/a", "/%20.%20", "/a/..+", "/+../a",
        "/..%c2%a0", "/%e3%80%80../a", "/a/..%3Fb", "/a/..%23", "/a%00", "/a%2500", "/a%0d%0ab",
        "/a%7f", "/..%09", "/a b", "/a\n", "/a\u00e9", "/a?b", "/a#b", "a", "/%" + "25" * 40 + "2e",
        "/" + "a" * MAX_PATH_CHARS,
    ],
)  # fmt: skip
def test_path_that_may_leave_the_base_path_is_refused(path: str) -> None:
    assert not is_path_confined(path)
    assert join_upstream_url(BASE, path, None) is UpstreamUrlFault.PATH


@pytest.mark.parametrize(
    ("path", "readings"),
    [
        ("", [()]),
        ("/", [()]),
        ("/A/%62/", [("A", "b", "")]),
        ("/a%2Fb", [("a/b",), ("a", "b")]),
        ("/%2561", [("%61",), ("a",)]),
        ("/a\\b", [("a\\b",), ("a", "b")]),
        ("/a//b", [("a", "", "b"), ("a", "b")]),
        ("/a;v=1/b", [("a;v=1", "b"), ("a", "b")]),
        ("/;x/b", [(";x", "b"), ("", "b"), ("b",)]),
        ("/a%3bb", [("a;b",), ("a",)]),
        ("/;x", [(";x",), ()]),
        ("/+/%20/b", [("+", " ", "b"), ("+", "", "b"), ("", "", "b")]),
        ("/%3b/a", [(";", "a"), ("", "a"), ("a",)]),
        ("/a%20/b.", [("a ", "b."), ("a", "b."), ("a", "b")]),
        ("/a%3Fc", [("a?c",), ("a",)]),
        ("/100%", [("100%",)]),
        ("/%C3%89", [("\u00c9",)]),
        ("/%c1%a1", [("a",)]),
        ("/%ff", [("\u00ff",)]),
    ],
)
def test_path_is_read_in_every_way_that_upstreams_do(
    path: str, readings: list[tuple[str, ...]]
) -> None:
    assert list(read_path(path)) == readings


NESTED = "/%2525252561;x%253f\\A%2f+//"  # read in more than a hundred ways


@pytest.mark.parametrize("filling", ["a/", "+/", "%41/", "a./", "%20;/", "/", "%ff/"])
@pytest.mark.parametrize("length", [60, 1_500, MAX_PATH_CHARS])
def test_path_is_read_in_a_bounded_number_of_steps(
    filling: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0
    trim = upstream_url._trim

    def counted(names: list[str]) -> tuple[list[str], ...]:
        nonlocal read
        read += sum(map(len, names)) + len(names)
        return trim(names)

    monkeypatch.setattr(upstream_url, "_trim", counted)
    read_path.cache_clear()
    path = (NESTED + filling * MAX_PATH_CHARS)[:length]
    is_confined = is_path_confined(path)
    assert 0 < read <= MAX_READ_CHARS
    assert is_confined is (length == 60)


@pytest.mark.parametrize("filling", ["/a", "/%41", "//a", "/a;b", "/%20a", "/a%2Fb", "/%c3%a9"])
def test_long_path_is_read_whole(filling: str) -> None:
    path = filling * (MAX_PATH_CHARS // len(filling))
    assert is_path_confined(path)
