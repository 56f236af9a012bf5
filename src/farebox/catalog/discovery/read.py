"""From what a payload says of its resource to the resource as it is listed, or why it is not."""

from dataclasses import dataclass, replace
from typing import Final

import msgspec

from farebox.catalog.discovery.canonical_url import MCP, CanonicalUrl, read_url
from farebox.catalog.discovery.drop_reason import Dropped, DropReason, FieldDropped
from farebox.catalog.discovery.info import HttpInfo, Info, ToolInfo, read_info
from farebox.catalog.discovery.metadata import read_metadata
from farebox.catalog.discovery.parameters import read_parameters
from farebox.catalog.discovery.resource_key import http_key, tool_key
from farebox.catalog.discovery.route_template import RouteTemplate, parse_route_template
from farebox.catalog.discovery.schema_validation import judge_info
from farebox.catalog.listing import ListingType, Resource
from farebox.kernel.addresses import Address
from farebox.x402.discovery import MAX_DISCOVERY_BYTES

BAZAAR: Final = "bazaar"
_TEMPLATE_IGNORED: Final = "is no route template of the path in resource.url; the path stands."


class _Text(msgspec.Struct):
    resource: dict[str, object]
    bazaar: msgspec.Raw


class _Bazaar(msgspec.Struct):
    info: msgspec.Raw = msgspec.Raw(b"null")
    schema: msgspec.Raw = msgspec.Raw(b"null")
    route_template: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"null"), name="routeTemplate")


_TEXT: Final = msgspec.json.Decoder(_Text)
_BAZAAR: Final = msgspec.json.Decoder(_Bazaar)
_ANY: Final = msgspec.json.Decoder()


@dataclass(frozen=True, slots=True)
class Read:
    """A resource that may be listed, and what of it is left out."""

    resource: Resource
    dropped: tuple[FieldDropped, ...]


def read_discovery(
    text: bytes, *, pay_to: Address, is_local_allowed: bool = False
) -> Resource | Dropped:
    """The resource that the bytes of a `DiscoveryText` describe, or why it is not listed.

    Total over all bytes, and bounded in time.
    """
    read = read_closely(text, pay_to=pay_to, is_local_allowed=is_local_allowed)
    return read.resource if isinstance(read, Read) else read


def read_closely(text: bytes, *, pay_to: Address, is_local_allowed: bool = False) -> Read | Dropped:
    """As `read_discovery`, with the fields that were left out."""
    if len(text) > MAX_DISCOVERY_BYTES:
        return Dropped(DropReason.DISCOVERY_TOO_LARGE)
    try:
        outer = _TEXT.decode(text)
        parts = _BAZAAR.decode(outer.bazaar)
        info, schema, template = (
            _ANY.decode(raw) for raw in (parts.info, parts.schema, parts.route_template)
        )
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Dropped(DropReason.DISCOVERY_UNREADABLE)
    url = read_url(outer.resource.get("url"), is_local_allowed=is_local_allowed)
    if isinstance(url, DropReason):
        return Dropped(url)
    described = read_info(info)
    if isinstance(described, Dropped):
        return described
    refused = _judge_kind(url, described) or judge_info(described.info, schema)
    if refused is not None:
        return refused
    return _read(_Given(outer.resource, url, described, schema, parts), template, pay_to)


@dataclass(frozen=True, slots=True)
class _Given:
    """Everything said of a resource, judged."""

    resource: dict[str, object]
    url: CanonicalUrl
    described: Info
    schema: dict[str, object]
    parts: _Bazaar


def _judge_kind(url: CanonicalUrl, described: Info) -> Dropped | None:
    """Whether the URL is one for what is described."""
    if url.scheme != MCP:
        return None
    if isinstance(described, HttpInfo):
        return Dropped(DropReason.RESOURCE_URL_SCHEME, "mcp:// is for tools")
    if url.path != f"/{described.tool_name}":
        return Dropped(DropReason.TOOL_NAME_INVALID, "the URL names another tool")
    return None


def _read(given: _Given, template_text: object, pay_to: Address) -> Read:
    described = given.described
    spoken = described.description if isinstance(described, ToolInfo) else None
    metadata, dropped = read_metadata(given.resource, spoken=spoken)
    template = None
    if template_text is not None and isinstance(described, HttpInfo):
        template = parse_route_template(template_text)
        if template is None or not template.covers(given.url.path):
            template = None
            dropped += (FieldDropped("routeTemplate", _TEMPLATE_IGNORED),)
    resource = Resource(
        type=ListingType.HTTP if isinstance(described, HttpInfo) else ListingType.MCP,
        key=_key(given, template, pay_to),
        url=str(given.url if template is None else replace(given.url, path=template.path)),
        metadata=metadata,
        extensions=_extensions(given.parts, template),
        extension_keys=(BAZAAR,),
        parameters=read_parameters(described.info, given.schema),
        tool_name=described.tool_name if isinstance(described, ToolInfo) else None,
        method=described.method if isinstance(described, HttpInfo) else None,
        asked_url=str(given.url),
    )
    return Read(resource, dropped)


def _key(given: _Given, template: RouteTemplate | None, pay_to: Address) -> str:
    if isinstance(given.described, ToolInfo):
        return tool_key(given.url, given.described.tool_name, pay_to)
    return http_key(given.url, template)


def _extensions(parts: _Bazaar, template: RouteTemplate | None) -> bytes:
    """The members that were judged, to the letter; no others."""
    members = [b'"info":' + bytes(parts.info), b'"schema":' + bytes(parts.schema)]
    if template is not None:
        members.append(b'"routeTemplate":' + bytes(parts.route_template))
    return b'{"bazaar":{' + b",".join(members) + b"}}"
