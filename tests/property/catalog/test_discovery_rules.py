"""Canonical URLs, route templates and discovery data for every possible input."""

import time
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from farebox.catalog.discovery.canonical_url import MAX_URL, CanonicalUrl, read_url
from farebox.catalog.discovery.discovered_resource import DiscoveredResource, parse_discovery
from farebox.catalog.discovery.drop_reason import Dropped, DropReason
from farebox.catalog.discovery.route_template import RouteTemplate, parse_route_template
from farebox.outbound.target import Target, parse_target
from support.damaged_bytes import damaged
from support.discovery import SELLER, Json, discovery, http_info, schema_of, tool_info
from support.examples import examples

ODD: Final = "/.%:@?#\\{}[]~;=&+'\"<>|^`é中\u202e\u0000\n 25eE2fF0aAlocalhostxn--12"
paths = st.text(alphabet=ODD, max_size=40).map(lambda text: "/" + text)
hosts = st.one_of(
    st.text(alphabet="aé中.-1234567890xnABC_ß。", min_size=1, max_size=30),
    st.ip_addresses().map(str),
    st.just("api.weather.example"),
)
urls = st.one_of(
    st.text(max_size=60),
    st.builds(
        "{}://{}{}{}".format,
        st.sampled_from(["https", "HTTPS", "http", "mcp"]),
        hosts,
        st.sampled_from(["", ":443", ":8443", ":0"]),
        paths,
    ),
)
templates = st.one_of(paths, st.text(alphabet="/:.%2eEfF5abc-_~", max_size=60))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
keywords = st.sampled_from(
    [
        *("$ref", "$id", "$schema", "$anchor", "type", "enum", "properties", "items", "allOf"),
        *("not", "pattern", "patternProperties", "required", "$defs", "unevaluatedProperties"),
        *("const", "if"),
    ]
)
schemas = st.recursive(
    values | st.sampled_from(["#", "#/properties/input", "string", "^(a+)+$", "(a|b){1,9}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords, inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=examples(100), deadline=None)
@given(urls)
def test_canonical_url_is_idempotent(text: str) -> None:
    url = read_url(text)
    if isinstance(url, CanonicalUrl):
        assert read_url(str(url)) == url
        assert str(url).isascii()
        assert len(str(url)) <= MAX_URL
        assert not {"..", "."} & set(url.path.split("/"))
        assert not set("?#\\@ ") & set(url.authority)
        split = urlsplit(str(url))
        assert (split.scheme, split.netloc, split.path) == (url.scheme, url.authority, url.path)
        assert (split.username, split.query, split.fragment) == (None, "", "")
        if url.scheme == "https" and ":" not in url.authority:
            assert isinstance(parse_target(str(url)), Target)  # its ownership can be verified


@settings(max_examples=examples(60), deadline=None)
@given(urls, urls)
def test_equal_canonical_urls_have_one_host(one: str, other: str) -> None:
    first, second = read_url(one), read_url(other)
    if isinstance(first, CanonicalUrl) and first == second:
        assert urlsplit(str(first)).hostname == urlsplit(str(second)).hostname


@settings(max_examples=examples(150), deadline=None)
@given(templates)
def test_route_template_decodes_to_no_parent_segment_and_no_separator(text: str) -> None:
    template = parse_route_template(text)
    if template is None:
        return
    decoded = template.path
    for _ in range(12):
        decoded = unquote(decoded)
        assert ".." not in decoded
        assert "//" not in decoded
        assert "\\" not in decoded
        assert decoded.count("/") == text.count("/")
        assert decoded.isprintable()
    assert parse_route_template(template.path) == template
    assert isinstance(read_url(f"https://a.example{template.path}"), CanonicalUrl)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.text(alphabet="abcdez-_.~", min_size=1, max_size=6), min_size=1, max_size=5))
def test_route_template_matches_the_path_it_was_made_of(segments: list[str]) -> None:
    path = read_url("https://a.example/" + "/".join(segments))
    assert isinstance(path, CanonicalUrl)
    given_path = path.path.split("/")[1:]
    wanted = "/" + "/".join(":p" if n % 2 else s for n, s in enumerate(given_path))
    template = parse_route_template(wanted)
    if isinstance(template, RouteTemplate):
        assert template.matches(path.path) == all(s or not n % 2 for n, s in enumerate(given_path))
        assert not template.matches(path.path + "/x")


@settings(max_examples=examples(100), deadline=None)
@given(damaged(st.sampled_from([discovery(), discovery("mcp://tool/weather", tool_info())])))
def test_parse_discovery_returns_for_damaged_bytes(text: bytes) -> None:
    check_parsed(text)


@settings(max_examples=examples(60), deadline=None)
@given(st.binary(max_size=200))
def test_parse_discovery_drops_arbitrary_bytes(text: bytes) -> None:
    assert isinstance(parse_discovery(text, pay_to=SELLER), Dropped)


@settings(max_examples=examples(80), deadline=None)
@given(urls, values, schemas, templates)
def test_parse_discovery_returns_for_arbitrary_members(
    url: str, more: object, schema: object, template: str
) -> None:
    info = http_info(queryParams=more) if isinstance(more, dict) else http_info(extra=more)
    resource: Json = {"description": more, "tags": more, "iconUrl": url, "serviceName": url}
    check_parsed(discovery(url, info, schema, resource=resource, routeTemplate=template))
    check_parsed(discovery(info=info, schema=schema, resource=resource, routeTemplate=template))


def check_parsed(text: bytes) -> None:
    started = time.thread_time()
    found = parse_discovery(text, pay_to=SELLER)
    assert time.thread_time() - started < 1
    if isinstance(found, Dropped):
        assert isinstance(found.reason, DropReason)
        assert len(found.sentence) < 400
        return
    assert isinstance(found, DiscoveredResource)
    resource = found.resource
    assert len(resource.key) <= MAX_URL + 200
    assert msgspec.json.decode(resource.extensions).keys() == {"bazaar"}
    assert len(resource.parameters) <= 4_096


@settings(max_examples=examples(30), deadline=None)
@given(st.dictionaries(st.text(max_size=8), values, max_size=4))
def test_parse_discovery_keeps_extension_data_byte_for_byte(query: dict[str, object]) -> None:
    info = http_info(queryParams=query)
    text = discovery(info=info, schema=schema_of(info))
    found = parse_discovery(text, pay_to=SELLER)
    if isinstance(found, DiscoveredResource):
        assert found.resource.extensions[len(b'{"bazaar":') : -1] in text
