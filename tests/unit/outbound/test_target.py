"""The URLs that may be called, judged by their text alone."""

import pytest

from farebox.outbound.target import MAX_URL_CHARS, Target, TargetFault, parse_target


def test_target_is_read_byte_for_byte() -> None:
    read = parse_target("https://API.Example.com:8443/a%2fb/../c;v=1?q=%20&q=+#"[:-1])
    assert read == Target("api.example.com", 8443, "/a%2fb/../c;v=1", "q=%20&q=+", True)
    assert isinstance(read, Target)
    assert read.path_and_query == "/a%2fb/../c;v=1?q=%20&q=+"


@pytest.mark.parametrize(
    ("url", "requested"),
    [
        ("https://example.com", "/"),
        ("https://example.com/", "/"),
        ("https://example.com?", "/?"),
        ("https://example.com/?", "/?"),
        ("https://example.com?a=https://b", "/?a=https://b"),
        ("https://example.com:443/a//b", "/a//b"),
    ],
)
def test_target_keeps_path_and_query_as_written(url: str, requested: str) -> None:
    read = parse_target(url)
    assert isinstance(read, Target)
    assert (read.host, read.port, read.path_and_query) == ("example.com", 443, requested)


def test_target_over_the_length_limit_is_refused() -> None:
    assert isinstance(parse_target("https://example.com/?" + "a" * 65_536), Target)
    assert parse_target("https://example.com/" + "a" * MAX_URL_CHARS) is TargetFault.TOO_LONG


@pytest.mark.parametrize("name", ["xn--bcher-kva.example.com", "a-b.example.com", "1.a1.xn--p1ai"])
def test_host_name_may_have_hyphens_digits_and_punycode(name: str) -> None:
    assert isinstance(parse_target(f"https://{name}/"), Target)


@pytest.mark.parametrize(
    "name",
    [
        *("localhost", "api.localhost", "printer.local", "db.internal", "router.home.arpa"),
        *("a.onion", "vault.corp", "x.lan", "y.intranet", "z.localdomain", "w.private", "v.home"),
        "u.alt",
    ],
)
def test_local_host_name_is_refused(name: str) -> None:
    assert parse_target(f"https://{name}/") is TargetFault.LOCAL_NAME
    assert parse_target(f"https://{name.upper()}/") is TargetFault.LOCAL_NAME


@pytest.mark.parametrize(
    "name",
    [
        "metadata",
        "com",
        "example.com.",
        "example..com",
        ".example.com",
        "-a.example.com",
        "a-.example.com",
        "a" * 64 + ".example.com",
        ".".join(["abcdefgh"] * 29),
        "example.c",
        "1.2.3.4",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0177.0.0.1",
        "1.2.3.0x4",
        "127.0.0.1.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[fe80::1%25eth0]",
        "[::1",
        "[v1.a]",
    ],
)
def test_address_or_incomplete_name_is_refused(name: str) -> None:
    assert parse_target(f"https://{name}/") is TargetFault.NOT_A_NAME
