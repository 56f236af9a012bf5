"""Cases 2.1 of the rules: which place a template or a URL names, and which it may not name.

Everything here is decided from bytes alone, after the payment; so a refusal costs a listing and
never a payment.
"""

from typing import Final

import pytest

from farebox.catalog.discovery.discovered_resource import DiscoveredResource, parse_discovery
from farebox.catalog.discovery.drop_reason import Dropped, DropReason
from support.discovery import (
    LOCAL_HOSTS,
    SELLER,
    Json,
    discovery,
    read,
    tool_info,
    why_dropped,
)
from support.promises import case, promise

HOST: Final = "https://api.weather.example"
CITY: Final = f"{HOST}/weather/paris"


def key_of(url: str, info: Json | None = None, **bazaar: object) -> str:
    return read(discovery(url, info, None, resource=None, **bazaar)).key


@case("CT-005")
@pytest.mark.parametrize("hidden", ["..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "%25252E."])
@promise("ingest:decode-then-check")
def test_route_template_with_parent_segments_is_ignored(hidden: str) -> None:
    for template in (f"/weather/{hidden}", f"/{hidden}/:city", f"/weather/{hidden}/:city"):
        assert key_of(CITY, routeTemplate=template) == CITY
    assert key_of(f"{HOST}/a/{hidden}/b") in {f"{HOST}/b", f"{HOST}/a/{hidden}/b"}


@case("CT-005", "CT-010")
@pytest.mark.parametrize("passes", range(1, 9))
def test_nested_percent_encoding_hides_no_path_traversal(passes: int) -> None:
    dots = "%" + "25" * (passes - 1) + "2e"
    assert key_of(CITY, routeTemplate=f"/weather/{dots}{dots}") == CITY
    slash = "%" + "25" * (passes - 1) + "2f"
    assert key_of(CITY, routeTemplate=f"/weather{slash}:city") == CITY


@case("CT-010")
@pytest.mark.parametrize(
    "template",
    [
        "://evil.example", "/a/http://evil.example", "http:/evil.example",
        "https://evil.example/:city", "//evil.example/:city", "/weather//:city",
        "/weather/.%2f%2fevil.example", "/weather/%5c%5cevil.example", "/weather\\:city",
        "/weather/:city?key=1", "/weather/:city#here", "/weather/./:city",
        "/weather/@evil.example",
    ],
)  # fmt: skip
def test_route_template_of_another_origin_is_ignored(template: str) -> None:
    found = read(discovery(CITY, routeTemplate=template))
    assert (found.key, found.url) == (CITY, CITY)
    assert b"routeTemplate" not in found.extensions


@case("CT-011")
@pytest.mark.parametrize(
    "template",
    [
        "",
        "weather/:city",
        ":city",
        "/" + "x" * 10_240,
        "/weather/:city\n", "/weather/\x00", "/weather/%00", "/weather/:", "/weather/:9",
        "/weather/:city.json", "/weather/:" + "c" * 65, "/météo/:city", 7, ["/weather/:city"],
        {"path": "/weather/:city"},
    ],
    ids=lambda value: repr(value)[:24],
)  # fmt: skip
def test_malformed_route_template_is_ignored_with_a_reason(template: object) -> None:
    found = parse_discovery(discovery(CITY, routeTemplate=template), pay_to=SELLER)
    assert isinstance(found, DiscoveredResource)
    assert found.resource.key == CITY
    assert [each.field for each in found.dropped] == ["routeTemplate"]


@case("CT-013")
def test_templates_differing_in_parameter_names_share_one_listing() -> None:
    one = read(discovery(CITY, routeTemplate="/weather/:city"))
    other = read(discovery(f"{HOST}/weather/rome", routeTemplate="/weather/:town"))
    assert one.key == other.key
    assert one.url == f"{HOST}/weather/:city"
    assert other.url == f"{HOST}/weather/:town"
    assert one.key not in {key_of(one.url), key_of(f"{HOST}/weather/{{}}"), key_of(CITY)}


@case("CT-013")
@pytest.mark.parametrize("template", ["/:city", "/weather/:a/:b", "/forecast/:city", "/weather"])
def test_route_template_that_does_not_match_paid_path_is_ignored(template: str) -> None:
    assert key_of(CITY, routeTemplate=template) == CITY
    assert key_of(f"{HOST}/weather/", routeTemplate="/weather/:city") == f"{HOST}/weather/"


@case("CT-014")
def test_route_template_of_a_tool_is_ignored() -> None:
    found = read(discovery(CITY, tool_info(), routeTemplate="/weather/:city"))
    assert (found.key, found.url) == (f"{CITY}#weather", CITY)
    tool = read(discovery("mcp://tool/weather", tool_info(), routeTemplate="/:name"))
    assert tool.url == "mcp://tool/weather"


@case("CT-016")
def test_different_resources_have_different_keys() -> None:
    urls = [
        "https://weather.example/data",
        "https://weather.example/Data",
        "https://weather.example/data/",
        "https://weather.example/data/index.html",
        "https://weather.example:8443/data",
        "https://www.weather.example/data",
        "https://weather.example/da%2Fta",
        "https://weather.example/da/ta",
        "https://weather.example//data",
    ]
    assert len({key_of(url) for url in urls}) == len(urls)


@case("CT-017")
@promise("entry:http-key")
def test_every_spelling_of_one_url_has_one_key() -> None:
    spellings = [
        "https://münchen.example/caf%C3%A9/~user",
        "HTTPS://MÜNCHEN.EXAMPLE/caf%c3%a9/%7Euser",
        "https://xn--mnchen-3ya.example./café/%7euser",
        "https://XN--MNCHEN-3YA.example:443/./café/x/../~user?city=Paris#top",
        "https://ｍünchen．example/café/~user",
        "https://mu\u0308nchen.example/caf\u00e9/~user",
    ]
    assert {key_of(url) for url in spellings} == {"https://xn--mnchen-3ya.example/caf%C3%A9/~user"}


@case("CT-017")
def test_lookalike_host_is_separate_and_shown_in_punycode() -> None:
    honest, lookalike = key_of("https://paypal.example/"), key_of("https://pаypal.example/")
    assert honest == "https://paypal.example/"
    assert lookalike.startswith("https://xn--")


@case("CT-018")
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://user@weather.example/", DropReason.RESOURCE_URL_USERINFO),
        ("https://user:pw@weather.example/", DropReason.RESOURCE_URL_USERINFO),
        ("https://:@weather.example/", DropReason.RESOURCE_URL_USERINFO),
        ("https://weather.example\\@evil.example/", DropReason.RESOURCE_URL_INVALID),
        ("https://weather.example%40evil.example/", DropReason.RESOURCE_HOST_INVALID),
        ("javascript:alert(1)", DropReason.RESOURCE_URL_SCHEME),
        ("javascript://weather.example/%0aalert(1)", DropReason.RESOURCE_URL_SCHEME),
        ("data:text/html,x", DropReason.RESOURCE_URL_SCHEME),
        ("file:///etc/passwd", DropReason.RESOURCE_URL_SCHEME),
        ("ftp://weather.example/", DropReason.RESOURCE_URL_SCHEME),
        ("http://weather.example/", DropReason.RESOURCE_URL_SCHEME),
        ("https:weather.example", DropReason.RESOURCE_URL_SCHEME),
        ("https:/weather.example/", DropReason.RESOURCE_URL_SCHEME),
        ("https:///weather.example/", DropReason.RESOURCE_HOST_INVALID),
        ("https://", DropReason.RESOURCE_HOST_INVALID),
        ("//weather.example/", DropReason.RESOURCE_URL_INVALID),
        ("/v1/now", DropReason.RESOURCE_URL_INVALID), ("", DropReason.RESOURCE_URL_MISSING),
        (None, DropReason.RESOURCE_URL_MISSING), (7, DropReason.RESOURCE_URL_MISSING),
        ("https://weather.example/" + "x" * 50_000, DropReason.RESOURCE_URL_TOO_LONG),
        ("https://weather.example/" + "é" * 700, DropReason.RESOURCE_URL_TOO_LONG),
        ("https://weather.example/a\nb", DropReason.RESOURCE_URL_INVALID),
        ("https://weather.example/\t", DropReason.RESOURCE_URL_INVALID),
        (" https://weather.example/", DropReason.RESOURCE_URL_INVALID),
        ("https://weather.example/a b", DropReason.RESOURCE_URL_INVALID),
        ("https://weather.example/\u202egpj", DropReason.RESOURCE_URL_INVALID),
        ("https://weather.example/%zz", DropReason.RESOURCE_URL_INVALID),
        ("https://weather.example/%0d%0aX: y", DropReason.RESOURCE_URL_INVALID),
        ("https://weather.example/%0d%0a", DropReason.RESOURCE_URL_INVALID),
        ("https://weather.example:0/", DropReason.RESOURCE_HOST_INVALID),
        ("https://weather.example:99999/", DropReason.RESOURCE_HOST_INVALID),
        ("https://weather.example:４４３/", DropReason.RESOURCE_HOST_INVALID),
        ("https://weather..example/", DropReason.RESOURCE_HOST_INVALID),
        ("https://⒈.example/", DropReason.RESOURCE_HOST_INVALID),
        ("https://-weather.example/", DropReason.RESOURCE_HOST_INVALID),
        ("https://wea_ther!.example/", DropReason.RESOURCE_HOST_INVALID),
        ("https://xn--a.example/", DropReason.RESOURCE_HOST_INVALID),
        ("https://" + "a" * 64 + ".example/", DropReason.RESOURCE_HOST_INVALID),
        ("https://" + "a." * 130 + "example/", DropReason.RESOURCE_HOST_INVALID),
        ("mcp://tool/weather", DropReason.RESOURCE_URL_SCHEME),
    ],
    ids=lambda each: repr(each)[:40],
)  # fmt: skip
def test_url_that_is_not_a_web_address_is_dropped(url: object, reason: DropReason) -> None:
    assert why_dropped(discovery(url)) is reason


@case("CT-019")
@pytest.mark.parametrize("host", LOCAL_HOSTS)
def test_private_network_host_is_dropped(host: str) -> None:
    assert why_dropped(discovery(f"https://{host}/")) is DropReason.RESOURCE_HOST_NOT_PUBLIC
    assert why_dropped(discovery(f"https://{host}:8443/x")) is DropReason.RESOURCE_HOST_NOT_PUBLIC


@case("CT-019")
@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:4021/now", "http://localhost/", "https://db/x", "http://[::1]:80/x"],
)
def test_local_hosts_are_listed_when_allowed(url: str) -> None:
    assert read(discovery(url), is_local_allowed=True).url == url.replace(":80/", "/")


@case("CT-019")
def test_allowing_local_hosts_allows_no_other_host() -> None:
    refused = ["http://weather.example/", "https://8.8.8.8/", "https://[2001:db8::1]/"]
    for url in (*refused, "https://0x7f.1/", "https://127.1/", "https://[::1/", "https://[::1]80/"):
        found = parse_discovery(discovery(url), pay_to=SELLER, is_local_allowed=True)
        assert isinstance(found, Dropped), url
