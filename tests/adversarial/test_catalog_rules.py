"""Cases 2.1 of the rules: what a seller's or a buyer's words about a place can do, and cannot.

Everything here is decided from bytes alone, after the payment; so a refusal costs a listing and
never a payment.
"""

from typing import Final

import msgspec
import pytest

from farebox.catalog.discovery.discovered_resource import DiscoveredResource, parse_discovery
from farebox.catalog.discovery.drop_reason import Dropped, DropReason
from farebox.catalog.listing import ListingType
from support.discovery import (
    DRAFT,
    LOCAL_HOSTS,
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
def test_invalid_text_fields_are_dropped_with_a_reason(text: bytes, reason: DropReason) -> None:
    assert why_dropped(text) is reason


@case("CT-025")
@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (True, DropReason.SCHEMA_MISSING), (False, DropReason.SCHEMA_MISSING),
        ("{}", DropReason.SCHEMA_MISSING), ([], DropReason.SCHEMA_MISSING),
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
)  # fmt: skip
@promise("ingest:no-external-references")
def test_invalid_or_external_schema_is_dropped(schema: object, reason: DropReason) -> None:
    assert why_dropped(discovery(schema=schema)) is reason


@case("CT-025")
@pytest.mark.parametrize("schema", [{}, {"properties": {}}, {"type": "object"}, {"not": False}])
def test_permissive_schema_does_not_admit_invalid_metadata(schema: Json) -> None:
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
def test_contradictory_info_is_dropped(more: Json, reason: DropReason) -> None:
    assert why_dropped(discovery(info=http_info(**more))) is reason


@case("CT-026")
@promise("ingest:schema-of-the-extension")
def test_info_that_does_not_match_its_schema_is_dropped() -> None:
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
def test_unknown_input_type_is_dropped(kind: object) -> None:
    info = http_info(type=kind)
    assert why_dropped(discovery(info=info, schema={})) is DropReason.INPUT_TYPE_UNSUPPORTED


@case("CT-028")
@pytest.mark.parametrize("method", ["get", "TRACE", "CONNECT", "OPTIONS", ["GET"], LONG, "", None])
def test_unknown_http_method_is_dropped(method: object) -> None:
    info = http_info(method=method)
    assert why_dropped(discovery(info=info, schema={})) is DropReason.METHOD_UNSUPPORTED


@case("CT-029")
@pytest.mark.parametrize(
    "name", ["", LONG, "a\nb", "a\x00", "a/b", "a b", "weаther", "ｗeather", "a#b", "a@b", None, 7]
)
@promise("entry:tool-name-source")
def test_tool_without_valid_name_is_dropped(name: object) -> None:
    info = tool_info(toolName=name)
    assert why_dropped(discovery(info=info, schema={})) is DropReason.TOOL_NAME_INVALID
    if isinstance(name, str):
        url = f"mcp://tool/{name}"
        assert isinstance(parse_discovery(discovery(url, tool_info()), pay_to=SELLER), Dropped)


@case("CT-029")
def test_tool_needs_schema_known_transport_and_name_in_url() -> None:
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
def test_tools_and_resources_of_one_url_have_separate_keys() -> None:
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
def test_mcp_url_key_includes_recipient() -> None:
    text = discovery("mcp://tool/weather", tool_info())
    stranger = type(SELLER)("G" + SELLER[1:-1] + "X")
    assert read(text).key != read(text, pay_to=stranger).key
    assert read(discovery(CITY)).key == read(discovery(CITY), pay_to=stranger).key


@case("CT-035")
@pytest.mark.parametrize(
    "icon",
    [
        *(f"http://{host}/icon.png" for host in LOCAL_HOSTS),
        "https://user@cdn.example/icon.png",
        "javascript:alert(1)",
        "data:image/svg+xml,<svg onload=alert(1)>",
        "https://cdn.example/" + LONG,
        "https://cdn.example\\@evil.example/i.png", "https://cdn.example:port/i.png",
        "//cdn.example/icon.png", "https://cdn.example/%0a", "https://cdn.example/i.png?é", 7,
    ],
    ids=lambda each: repr(each)[:40],
)  # fmt: skip
def test_invalid_icon_url_is_left_out_alone(icon: object) -> None:
    found = parse_discovery(discovery(resource={"iconUrl": icon}), pay_to=SELLER)
    assert isinstance(found, DiscoveredResource)
    assert found.resource.metadata.icon_url is None
    assert [each.field for each in found.dropped] == ["iconUrl"]


@case("CT-037")
def test_unknown_metadata_members_are_not_served() -> None:
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
def test_drop_reason_is_short_printable_text_for_any_input(name: str) -> None:
    schema = {"properties": {"input": {"properties": {name: {"const": 1}}}}}
    found = parse_discovery(discovery(info=http_info(**{name: 2}), schema=schema), pay_to=SELLER)
    assert isinstance(found, Dropped)
    assert found.reason is DropReason.INFO_DOES_NOT_MATCH_SCHEMA
    assert len(found.sentence) < 300
    assert found.sentence.isascii()
    assert found.sentence.isprintable()
