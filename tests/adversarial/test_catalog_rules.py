"""Cases 2.1 of the rules: what a seller's or a buyer's words about a resource can do, and cannot.

Everything here is decided from bytes alone, after the payment; so a refusal costs a listing and
never a payment.
"""

from typing import Final

import msgspec
import pytest

from farebox.catalog.discovery import Read, read_closely
from farebox.catalog.drop_reason import Dropped, DropReason
from farebox.catalog.listing import ListingType
from support.discovery import (
    DRAFT,
    SELLER,
    Json,
    discovery,
    http_info,
    read,
    schema_of,
    tool_info,
    why_dropped,
)
from support.promises import case, promise

HOST: Final = "https://api.weather.example"
CITY: Final = f"{HOST}/weather/paris"
LONG: Final = "x" * 10_240


def key_of(url: str, info: Json | None = None, **bazaar: object) -> str:
    return read(discovery(url, info, None, resource=None, **bazaar)).key


@case("CT-003")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", DropReason.DISCOVERY_UNREADABLE),
        (b"\xff\xfe{}", DropReason.DISCOVERY_UNREADABLE),
        (b'{"resource":{"url":"https://a.example/"},"bazaar":[]}', DropReason.DISCOVERY_UNREADABLE),
        (b'{"resource":"x","bazaar":{}}', DropReason.DISCOVERY_UNREADABLE),
        (b'{"resource":{},"bazaar":' + b"[" * 5_000 + b"}", DropReason.DISCOVERY_UNREADABLE),
        (discovery(resource={"description": "x" * 70_000}), DropReason.DISCOVERY_TOO_LARGE),
        (
            discovery(info=http_info(headers={"x": [0] * 5_000})),
            DropReason.DISCOVERY_TOO_COMPLEX,
        ),
        (
            discovery().replace(b"21", b"[" * 40 + b"]" * 40),
            DropReason.DISCOVERY_TOO_COMPLEX,
        ),
        (discovery().replace(b"21", b"9" * 400), DropReason.DISCOVERY_TOO_COMPLEX),
        (discovery().replace(b"21", b"9" * 9_000), DropReason.DISCOVERY_UNREADABLE),
        (discovery().replace(b"21", b"1e999"), DropReason.DISCOVERY_UNREADABLE),
        (discovery().replace(b"21", b"NaN"), DropReason.DISCOVERY_UNREADABLE),
        (discovery().replace(b"Paris", b"\\ud800"), DropReason.DISCOVERY_UNREADABLE),
        (discovery().replace(b"Paris", b"\xff"), DropReason.DISCOVERY_UNREADABLE),
        (discovery(info=[1]), DropReason.INFO_MISSING),
        (discovery(info={"input": None}), DropReason.INFO_MISSING),
        (discovery(info={}), DropReason.INFO_MISSING),
    ],
    ids=lambda each: each.value if isinstance(each, DropReason) else "",
)
@promise("catalog:bad-metadata-stays-out")
def test_unusable_words_are_dropped_with_a_reason(text: bytes, reason: DropReason) -> None:
    assert why_dropped(text) is reason


@case("CT-005")
@pytest.mark.parametrize("hidden", ["..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "%25252E."])
@promise("ingest:decode-then-check")
def test_a_template_that_climbs_is_ignored(hidden: str) -> None:
    for template in (f"/weather/{hidden}", f"/{hidden}/:city", f"/weather/{hidden}/:city"):
        assert key_of(CITY, routeTemplate=template) == CITY
    assert key_of(f"{HOST}/a/{hidden}/b") in {f"{HOST}/b", f"{HOST}/a/{hidden}/b"}


@case("CT-005", "CT-010")
@pytest.mark.parametrize("passes", range(1, 9))
def test_no_depth_of_encoding_hides_a_traversal(passes: int) -> None:
    dots = "%" + "25" * (passes - 1) + "2e"
    assert key_of(CITY, routeTemplate=f"/weather/{dots}{dots}") == CITY
    slash = "%" + "25" * (passes - 1) + "2f"
    assert key_of(CITY, routeTemplate=f"/weather{slash}:city") == CITY


@case("CT-010")
@pytest.mark.parametrize(
    "template",
    [
        "://evil.example",
        "/a/http://evil.example",
        "http:/evil.example",
        "https://evil.example/:city",
        "//evil.example/:city",
        "/weather//:city",
        "/weather/.%2f%2fevil.example",
        "/weather/%5c%5cevil.example",
        "/weather\\:city",
        "/weather/:city?key=1",
        "/weather/:city#here",
        "/weather/./:city",
        "/weather/@evil.example",
    ],
)
def test_a_template_that_leads_elsewhere_is_ignored(template: str) -> None:
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
        "/" + LONG,
        "/weather/:city\n",
        "/weather/\x00",
        "/weather/%00",
        "/weather/:",
        "/weather/:9",
        "/weather/:city.json",
        "/weather/:" + "c" * 65,
        "/météo/:city",
        7,
        ["/weather/:city"],
        {"path": "/weather/:city"},
    ],
    ids=lambda value: repr(value)[:24],
)
def test_a_template_of_another_form_is_ignored_and_said_to_be(template: object) -> None:
    found = read_closely(discovery(CITY, routeTemplate=template), pay_to=SELLER)
    assert isinstance(found, Read)
    assert found.resource.key == CITY
    assert [each.field for each in found.dropped] == ["routeTemplate"]


@case("CT-013")
def test_templates_that_differ_in_names_alone_are_one_entry_under_the_newest_names() -> None:
    one = read(discovery(CITY, routeTemplate="/weather/:city"))
    other = read(discovery(f"{HOST}/weather/rome", routeTemplate="/weather/:town"))
    assert one.key == other.key
    assert one.url == f"{HOST}/weather/:city"
    assert other.url == f"{HOST}/weather/:town"
    assert one.key not in {key_of(one.url), key_of(f"{HOST}/weather/{{}}"), key_of(CITY)}


@case("CT-013")
@pytest.mark.parametrize("template", ["/:city", "/weather/:a/:b", "/forecast/:city", "/weather"])
def test_a_template_of_other_paths_than_the_one_paid_for_is_ignored(template: str) -> None:
    assert key_of(CITY, routeTemplate=template) == CITY
    assert key_of(f"{HOST}/weather/", routeTemplate="/weather/:city") == f"{HOST}/weather/"


@case("CT-014")
def test_a_template_of_a_tool_is_ignored() -> None:
    found = read(discovery(CITY, tool_info(), routeTemplate="/weather/:city"))
    assert (found.key, found.url) == (f"{CITY}#weather", CITY)
    tool = read(discovery("mcp://tool/weather", tool_info(), routeTemplate="/:name"))
    assert tool.url == "mcp://tool/weather"


@case("CT-016")
def test_what_is_deliberately_different_stays_apart() -> None:
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
def test_every_spelling_of_one_place_is_one_entry() -> None:
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
def test_a_host_that_only_looks_alike_is_another_and_is_shown_in_punycode() -> None:
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
        ("/v1/now", DropReason.RESOURCE_URL_INVALID),
        ("", DropReason.RESOURCE_URL_MISSING),
        (None, DropReason.RESOURCE_URL_MISSING),
        (7, DropReason.RESOURCE_URL_MISSING),
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
)
def test_a_url_that_is_no_place_on_the_web_is_dropped(url: object, reason: DropReason) -> None:
    assert why_dropped(discovery(url)) is reason


LOCAL: Final = [
    "localhost",
    "LOCALHOST.",
    "api.localhost",
    "db",
    "metadata.google.internal",
    "printer.local",
    "nas.lan",
    "x.home.arpa",
    "1.0.0.127.in-addr.arpa",
    "a.b1",
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "017700000001",
    "10.0.0.8",
    "169.254.169.254",
    "8.8.8.8",
    "１２７.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[fe80::1%25eth0]",
]


@case("CT-019")
@pytest.mark.parametrize("host", LOCAL)
def test_a_host_inside_somebodys_network_is_dropped(host: str) -> None:
    assert why_dropped(discovery(f"https://{host}/")) is DropReason.RESOURCE_HOST_NOT_PUBLIC
    assert why_dropped(discovery(f"https://{host}:8443/x")) is DropReason.RESOURCE_HOST_NOT_PUBLIC


@case("CT-019")
@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:4021/now", "http://localhost/", "https://db/x", "http://[::1]:80/x"],
)
def test_local_hosts_are_listed_where_that_is_allowed(url: str) -> None:
    assert read(discovery(url), is_local_allowed=True).url == url.replace(":80/", "/")


@case("CT-019")
def test_allowing_local_hosts_allows_nothing_else() -> None:
    refused = ["http://weather.example/", "https://8.8.8.8/", "https://[2001:db8::1]/"]
    for url in (*refused, "https://0x7f.1/", "https://127.1/", "https://[::1/", "https://[::1]80/"):
        found = read_closely(discovery(url), pay_to=SELLER, is_local_allowed=True)
        assert isinstance(found, Dropped), url


@case("CT-025")
@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (True, DropReason.SCHEMA_MISSING),
        (False, DropReason.SCHEMA_MISSING),
        ("{}", DropReason.SCHEMA_MISSING),
        ([], DropReason.SCHEMA_MISSING),
        ({"type": "banana"}, DropReason.SCHEMA_INVALID),
        ({"type": 7}, DropReason.SCHEMA_INVALID),
        ({"properties": []}, DropReason.SCHEMA_INVALID),
        ({"$ref": "#/$defs/none"}, DropReason.SCHEMA_INVALID),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#"},
            DropReason.SCHEMA_DRAFT_UNSUPPORTED,
        ),
        ({"$schema": "https://evil.example/schema"}, DropReason.SCHEMA_DRAFT_UNSUPPORTED),
        ({"$schema": {"type": "object"}}, DropReason.SCHEMA_DRAFT_UNSUPPORTED),
        ({"$id": "https://evil.example/schema"}, DropReason.SCHEMA_REFERENCE_REFUSED),
        ({"$id": "#here"}, DropReason.SCHEMA_INVALID),
        ({"$ref": "https://evil.example/schema"}, DropReason.SCHEMA_REFERENCE_REFUSED),
        ({"$ref": "file:///etc/passwd"}, DropReason.SCHEMA_REFERENCE_REFUSED),
        ({"$ref": "other.json#/x"}, DropReason.SCHEMA_REFERENCE_REFUSED),
        ({"$ref": ""}, DropReason.SCHEMA_REFERENCE_REFUSED),
        ({"$ref": 7}, DropReason.SCHEMA_REFERENCE_REFUSED),
        ({"properties": {"$ref": {"type": "string"}}}, DropReason.SCHEMA_REFERENCE_REFUSED),
        ({"examples": [{"$id": "x"}]}, DropReason.SCHEMA_REFERENCE_REFUSED),
        ({"$dynamicRef": "#node"}, DropReason.SCHEMA_REFERENCE_REFUSED),
        ({"$dynamicAnchor": "node"}, DropReason.SCHEMA_REFERENCE_REFUSED),
        ({"$recursiveRef": "#"}, DropReason.SCHEMA_REFERENCE_REFUSED),
        ({"$vocabulary": {"https://evil.example": True}}, DropReason.SCHEMA_REFERENCE_REFUSED),
        ({"$ref": "#"}, DropReason.SCHEMA_TOO_COSTLY),
        ({"pattern": "^(?!a)"}, DropReason.SCHEMA_PATTERN_REFUSED),
        ({"pattern": "(a)\\1"}, DropReason.SCHEMA_PATTERN_REFUSED),
        ({"pattern": "a" * 300}, DropReason.SCHEMA_PATTERN_REFUSED),
        ({"allOf": [{"pattern": "a"}] * 33}, DropReason.SCHEMA_PATTERN_REFUSED),
        ({"patternProperties": {"((a{99}){99}){99}": True}}, DropReason.SCHEMA_PATTERN_REFUSED),
        ({"patternProperties": {"(": True}}, DropReason.SCHEMA_PATTERN_REFUSED),
        ({"enum": list(range(2_100))}, DropReason.DISCOVERY_TOO_COMPLEX),
    ],
    ids=lambda each: repr(each)[:40],
)
@promise("ingest:no-external-references")
def test_a_schema_that_is_none_or_reaches_beyond_itself_is_dropped(
    schema: object, reason: DropReason
) -> None:
    assert why_dropped(discovery(schema=schema)) is reason


@case("CT-025")
@pytest.mark.parametrize("schema", [{}, {"properties": {}}, {"type": "object"}, {"not": False}])
def test_a_schema_that_admits_everything_does_not(schema: Json) -> None:
    assert read(discovery(schema=schema)).method == "GET"
    trace = discovery(info=http_info(method="TRACE"), schema=schema)
    assert why_dropped(trace) is DropReason.METHOD_UNSUPPORTED


@case("CT-026")
@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"body": {"city": "Paris"}}, DropReason.BODY_NOT_ALLOWED),
        ({"bodyType": "json"}, DropReason.BODY_NOT_ALLOWED),
        ({"method": "POST", "bodyType": "xml"}, DropReason.BODY_TYPE_INVALID),
        ({"method": "POST", "bodyType": ["json"]}, DropReason.BODY_TYPE_INVALID),
        ({"queryParams": "city=Paris"}, DropReason.INFO_FIELD_INVALID),
        ({"headers": ["x"]}, DropReason.INFO_FIELD_INVALID),
        ({"pathParams": 7}, DropReason.INFO_FIELD_INVALID),
    ],
)
def test_info_that_contradicts_itself_is_dropped(more: Json, reason: DropReason) -> None:
    assert why_dropped(discovery(info=http_info(**more))) is reason


@case("CT-026")
@promise("ingest:schema-of-the-extension")
def test_info_that_does_not_match_its_own_schema_is_dropped() -> None:
    says_post = schema_of(http_info(method="POST"))
    assert why_dropped(discovery(schema=says_post)) is DropReason.INFO_DOES_NOT_MATCH_SCHEMA
    more = {"$schema": DRAFT, "required": ["input", "licence"]}
    assert why_dropped(discovery(schema=more)) is DropReason.INFO_DOES_NOT_MATCH_SCHEMA
    outputs: list[object] = [7, {"type": 7}, {"format": []}]
    for output in outputs:
        info = {**http_info(), "output": output}
        assert why_dropped(discovery(info=info)) is DropReason.INFO_FIELD_INVALID


@case("CT-027")
@pytest.mark.parametrize("kind", ["HTTP", "Mcp", "grpc", "", None, 7, ["http"], {"x": 1}])
def test_a_kind_that_is_neither_is_dropped(kind: object) -> None:
    info = http_info(type=kind)
    assert why_dropped(discovery(info=info, schema={})) is DropReason.INPUT_TYPE_UNSUPPORTED


@case("CT-028")
@pytest.mark.parametrize("method", ["get", "TRACE", "CONNECT", "OPTIONS", ["GET"], LONG, "", None])
def test_a_method_that_is_none_of_the_six_is_dropped(method: object) -> None:
    info = http_info(method=method)
    assert why_dropped(discovery(info=info, schema={})) is DropReason.METHOD_UNSUPPORTED


@case("CT-029")
@pytest.mark.parametrize(
    "name", ["", LONG, "a\nb", "a\x00", "a/b", "a b", "weаther", "ｗeather", "a#b", "a@b", None, 7]
)
@promise("entry:tool-name-source")
def test_a_tool_without_a_plain_name_is_dropped(name: object) -> None:
    info = tool_info(toolName=name)
    assert why_dropped(discovery(info=info, schema={})) is DropReason.TOOL_NAME_INVALID
    if isinstance(name, str):
        url = f"mcp://tool/{name}"
        assert isinstance(read_closely(discovery(url, tool_info()), pay_to=SELLER), Dropped)


@case("CT-029")
def test_a_tool_needs_its_schema_a_known_transport_and_the_name_in_its_url() -> None:
    assert why_dropped(discovery(info=tool_info(inputSchema="x"))) is (
        DropReason.INPUT_SCHEMA_MISSING
    )
    assert why_dropped(discovery(info=tool_info(transport="stdio"))) is (
        DropReason.TRANSPORT_UNSUPPORTED
    )
    assert why_dropped(discovery(info=tool_info(description=7))) is DropReason.INFO_FIELD_INVALID
    named = discovery("mcp://tool/forecast", tool_info())
    assert why_dropped(named) is DropReason.TOOL_NAME_INVALID
    other = discovery("mcp://server/weather", tool_info())
    assert why_dropped(other) is DropReason.RESOURCE_URL_SCHEME


@case("CT-030")
@promise("entry:mcp-key", "catalog:http-and-mcp")
def test_tools_and_resources_of_one_url_are_entries_of_their_own() -> None:
    url = f"{HOST}/mcp"
    found = [
        read(discovery(url, http_info())),
        read(discovery(url, tool_info())),
        read(discovery(url, tool_info(toolName="forecast"))),
        read(discovery(f"{url}2", tool_info())),
        read(discovery("mcp://tool/weather", tool_info())),
    ]
    assert len({each.key for each in found}) == len(found)
    assert [each.type for each in found] == [ListingType.HTTP] + [ListingType.MCP] * 4
    assert [each.tool_name for each in found[:3]] == [None, "weather", "forecast"]
    by_post = read(discovery(url, http_info(method="POST", queryParams={})))
    assert by_post.key == found[0].key  # the method is not part of it


@case("CT-030")
def test_a_tool_url_that_nobody_owns_is_each_recipients_own() -> None:
    text = discovery("mcp://tool/weather", tool_info())
    stranger = type(SELLER)("G" + SELLER[1:-1] + "X")
    assert read(text).key != read(text, pay_to=stranger).key
    assert read(discovery(CITY)).key == read(discovery(CITY), pay_to=stranger).key


@case("CT-035")
@pytest.mark.parametrize(
    "icon",
    [
        *(f"http://{host}/icon.png" for host in LOCAL),
        "https://user@cdn.example/icon.png",
        "javascript:alert(1)",
        "data:image/svg+xml,<svg onload=alert(1)>",
        "https://cdn.example/" + LONG,
        "https://cdn.example\\@evil.example/i.png",
        "https://cdn.example:port/i.png",
        "//cdn.example/icon.png",
        "https://cdn.example/%0a",
        "https://cdn.example/i.png?é",
        7,
    ],
    ids=lambda each: repr(each)[:40],
)
def test_an_icon_that_is_no_public_picture_is_left_out_alone(icon: object) -> None:
    found = read_closely(discovery(resource={"iconUrl": icon}), pay_to=SELLER)
    assert isinstance(found, Read)
    assert found.resource.metadata.icon_url is None
    assert [each.field for each in found.dropped] == ["iconUrl"]


@case("CT-037")
def test_members_nobody_asked_for_are_not_served() -> None:
    text = discovery(
        resource={
            "extra": {"note": "pay me twice"},
            "accepts": [{"amount": "1"}],
            "payTo": "GEVIL",
        },
        info=http_info(),
        terms={"amount": "1"},
        __proto__={"isAdmin": True},
    )
    found = read(text)
    served = msgspec.json.decode(found.extensions)
    assert served.keys() == {"bazaar"}
    assert served["bazaar"].keys() == {"info", "schema"}
    assert b"GEVIL" not in found.extensions
    assert "twice" not in repr(found)


@case("CT-048")
@pytest.mark.parametrize("name", ["a\r\nX-Evil: 1", "é" * 9_000, "y" * 20_000, "\x00\x1b[31m"])
def test_a_reason_is_short_printable_text_whatever_was_sent(name: str) -> None:
    schema = {"properties": {"input": {"properties": {name: {"const": 1}}}}}
    found = read_closely(discovery(info=http_info(**{name: 2}), schema=schema), pay_to=SELLER)
    assert isinstance(found, Dropped)
    assert found.reason is DropReason.INFO_DOES_NOT_MATCH_SCHEMA
    assert len(found.sentence) < 300
    assert found.sentence.isascii()
    assert found.sentence.isprintable()
