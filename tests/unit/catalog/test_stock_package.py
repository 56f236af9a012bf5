"""Our rules against those of the stock package: what both decide, they decide alike.

Where they differ on purpose the difference is held here too: each is a case that the stock
package lets through, or spells in more than one way.
"""

from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from x402.extensions.bazaar import (
    DeclareMcpDiscoveryConfig,
    OutputConfig,
    declare_discovery_extension,
    declare_mcp_discovery_extension,
    extract_discovery_info,
    validate_discovery_extension_spec,
)
from x402.extensions.bazaar import facilitator as stock

from farebox.catalog.discovery.canonical_url import CanonicalUrl, read_url
from farebox.catalog.discovery.discovered_resource import DiscoveredResource, parse_discovery
from farebox.catalog.discovery.drop_reason import Dropped
from farebox.catalog.discovery.info import read_info
from farebox.catalog.discovery.metadata import read_icon_url, read_metadata
from farebox.catalog.discovery.route_template import parse_route_template
from farebox.catalog.listing import Resource
from support.discovery import SELLER, Json, http_info, tool_info
from support.examples import examples

HOST: Final = "https://api.weather.example"
PARAMETERS: Final = {"properties": {"city": {"type": "string"}}, "required": ["city"]}


def ours(url: str, bazaar: Json, **resource: object) -> Resource | Dropped:
    document = {"resource": {"url": url, **resource}, "bazaar": bazaar}
    parsed = parse_discovery(msgspec.json.encode(document), pay_to=SELLER)
    return parsed.resource if isinstance(parsed, DiscoveredResource) else parsed


def theirs(url: str, bazaar: Json, **resource: object) -> Any:
    payload = {
        "x402Version": 2,
        "resource": {"url": url, **resource},
        "extensions": {"bazaar": bazaar},
    }
    return extract_discovery_info(payload, {})


def declared(method: str, **more: Any) -> Json:
    """What a stock seller declares, with the method that its server fills in."""
    body_type: Any = "json" if method in ("POST", "PUT", "PATCH") else None
    made = declare_discovery_extension(
        input={"city": "Paris"},
        input_schema=PARAMETERS,
        body_type=body_type,
        output=OutputConfig(example={"degrees": 21}),
    )["bazaar"]
    made["info"]["input"]["method"] = method
    return {**made, **more}


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "POST", "PUT", "PATCH"])
def test_http_declaration_is_read_like_the_stock_package(method: str) -> None:
    bazaar = declared(method, routeTemplate="/v1/:city")
    resource: Json = {"description": "Now", "serviceName": "Weather", "tags": ["a", "A", "b"]}
    url = f"{HOST}/v1/paris?x=1"
    mine, other = ours(url, bazaar, **resource), theirs(url, bazaar, **resource)
    assert isinstance(mine, Resource)
    assert mine.url == other.resource_url == f"{HOST}/v1/:city"
    assert mine.method == other.method == method
    assert mine.metadata.description == other.description
    assert mine.metadata.service_name == other.service_name
    assert list(mine.metadata.tags) == other.tags


def test_tool_declaration_is_read_like_the_stock_package() -> None:
    config = DeclareMcpDiscoveryConfig(
        tool_name="weather",
        input_schema={"type": "object", **PARAMETERS},
        description="Finds the weather.",
        transport="sse",
        example={"city": "Paris"},
    )
    bazaar = declare_mcp_discovery_extension(config)["bazaar"]
    mine, other = ours("mcp://tool/weather", bazaar), theirs("mcp://tool/weather", bazaar)
    assert isinstance(mine, Resource)
    assert mine.url == other.resource_url
    assert mine.tool_name == other.tool_name == "weather"


def test_input_that_fails_its_schema_is_dropped_by_both() -> None:
    bazaar = declared("GET")
    bazaar["info"]["input"]["queryParams"] = {"town": "Paris"}  # type: ignore[index]  # JSON
    assert isinstance(ours(HOST, bazaar), Dropped)
    assert theirs(HOST, bazaar) is None


values = st.one_of(  # no lists or objects: stock raises where it looks for one among the methods
    st.none(),
    st.integers(),
    st.sampled_from(["GET", "POST", "get", "json", "xml", "sse", "http", "mcp", "weather", ""]),
)
members = st.dictionaries(
    st.sampled_from(["type", "method", "bodyType", "toolName", "inputSchema", "transport"]), values
)


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from([http_info(), http_info(method="POST"), tool_info()]), members)
def test_info_refused_by_the_specification_is_dropped(info: Json, changed: Json) -> None:
    given_input = info["input"]
    assert isinstance(given_input, dict)
    merged = {**given_input, **changed}
    changed_info: Json = {**info, "input": merged}
    verdict = validate_discovery_extension_spec({"info": changed_info})
    if not verdict.valid:
        assert isinstance(read_info(changed_info), Dropped)


references = st.recursive(
    st.sampled_from(["#", "#/x", "https://evil.example", "x.json", "", "string"]) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["$ref", "$id", "properties", "examples"]), inner)
    ),
    max_leaves=6,
)


@settings(max_examples=examples(80), deadline=None)
@given(st.dictionaries(st.sampled_from(["$defs", "properties", "allOf"]), references))
def test_reference_refused_by_the_stock_package_is_dropped(schema: dict[str, object]) -> None:
    if stock._has_external_schema_reference(schema):
        found = ours(HOST, {"info": http_info(), "schema": schema})
        assert isinstance(found, Dropped)


@settings(max_examples=examples(150), deadline=None)
@given(st.text(alphabet="/:.%25eEfFabc-_~\\é ", max_size=24))
def test_template_refused_by_the_stock_package_is_none(template: str) -> None:
    if not stock._is_valid_route_template(template):
        assert parse_route_template(template) is None


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text(alphabet="abAB", min_size=1, max_size=2), st.text(max_size=40), st.integers()
        ),
        max_size=9,
    ),
    st.text(max_size=40) | st.text(alphabet="ab~!", max_size=40),
)
def test_names_and_tags_are_read_like_the_stock_package(tags: list[object], name: str) -> None:
    mine, _ = read_metadata({"tags": tags, "serviceName": name})
    other = stock._sanitize_resource_service_metadata({"tags": tags, "serviceName": name})
    sound = [tag for tag in tags if not isinstance(tag, str) or tag == tag.strip()]
    if len(sound) == len(tags):
        assert list(mine.tags) == (other.tags or [])
    assert mine.service_name == ((other.service_name or "").strip() or None)


icons = st.builds(
    "{}://{}/{}".format,
    st.sampled_from(["http", "https", "ftp", "HTTPS"]),
    st.text(alphabet="aé.-0123456789xu@:[]%ｌ", min_size=1, max_size=16)
    | st.sampled_from(["localhost", "127.0.0.1", "cdn.example", "[::1]", "2130706433"]),
    st.text(alphabet="ab/.%é ", max_size=6),
)


@settings(max_examples=examples(120), deadline=None)
@given(icons)
def test_icon_refused_by_the_stock_package_is_none(icon: str) -> None:
    if not stock._is_valid_icon_url(icon) and icon[:5].lower() != "https":
        assert read_icon_url(icon) is None


@settings(max_examples=examples(80), deadline=None)
@given(st.text(alphabet="abcXYZ019-_.~/", max_size=20))
def test_plain_url_has_the_form_of_the_stock_package(path: str) -> None:
    url = read_url(f"{HOST}/{path}?q=1#x")
    assert isinstance(url, CanonicalUrl)
    other = theirs(f"{HOST}/{path}?q=1#x", declared("GET"))
    if not {".", ".."} & set(path.split("/")):
        assert str(url) == other.resource_url


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("HTTPS://API.weather.example/x", f"{HOST}/x"),
        (f"{HOST}:443/x", f"{HOST}/x"),
        (f"{HOST}/a/../x", f"{HOST}/x"),
        (HOST, f"{HOST}/"),
        ("https://user:pw@api.weather.example/x", None),
        ("https://127.0.0.1/x", None),
        ("", None),
    ],
)
def test_url_has_one_canonical_form_where_the_stock_package_keeps_it_as_typed(
    url: str, kept: str | None
) -> None:
    mine, other = ours(url, declared("GET")), theirs(url, declared("GET"))
    assert (mine.url if isinstance(mine, Resource) else None) == kept
    assert other is not None
    assert other.resource_url != kept


@pytest.mark.parametrize(
    "bazaar",
    [
        {"info": http_info(method="GET", body={"x": 1}), "schema": {}},
        {"info": tool_info(toolName="a/b"), "schema": {}},
        {"info": http_info(), "schema": {"$schema": "http://json-schema.org/draft-07/schema#"}},
    ],
)
def test_declaration_accepted_by_the_stock_package_is_dropped(bazaar: Json) -> None:
    assert isinstance(ours(HOST, bazaar), Dropped)
    assert theirs(HOST, bazaar) is not None
