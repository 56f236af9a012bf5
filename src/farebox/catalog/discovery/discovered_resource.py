"""Parse a payment's discovery data into the resource to list, or the reason against it."""

from dataclasses import dataclass, replace
from typing import Final

import msgspec

from farebox.catalog.discovery.canonical_url import MCP, CanonicalUrl, read_url
from farebox.catalog.discovery.drop_reason import Dropped, DropReason, FieldDropped
from farebox.catalog.discovery.info import HttpInfo, Info, ToolInfo, read_info
from farebox.catalog.discovery.metadata import read_metadata
from farebox.catalog.discovery.parameters import read_parameters
from farebox.catalog.discovery.route_template import RouteTemplate, parse_route_template
from farebox.catalog.discovery.schema_validation import judge_info
from farebox.catalog.listing import ListingType, Resource
from farebox.kernel.addresses import Address
from farebox.x402.extensions import MAX_DISCOVERY_BYTES

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
class DiscoveredResource:
    """A resource that may be listed, and the fields left out of it."""

    resource: Resource
    dropped: tuple[FieldDropped, ...]


def parse_discovery(
    text: bytes, *, pay_to: Address, is_local_allowed: bool = False
) -> DiscoveredResource | Dropped:
    """Parse the bytes of a `DiscoveryText`; total over all bytes, and bounded in time."""
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
    dropped = _judge_url_scheme(url, described) or judge_info(described.info, schema)
    if dropped is not None:
        return dropped
    return _build(_ValidDiscovery(outer.resource, url, described, schema, parts), template, pay_to)


@dataclass(frozen=True, slots=True)
class _ValidDiscovery:
    """Validated discovery data."""

    resource: dict[str, object]
    url: CanonicalUrl
    described: Info
    schema: dict[str, object]
    parts: _Bazaar


def _judge_url_scheme(url: CanonicalUrl, described: Info) -> Dropped | None:
    """Reject an `mcp://` URL that is not that of the described tool."""
    if url.scheme != MCP:
        return None
    if isinstance(described, HttpInfo):
        return Dropped(DropReason.RESOURCE_URL_SCHEME, "mcp:// is for tools")
    if url.path != f"/{described.tool_name}":
        return Dropped(DropReason.TOOL_NAME_INVALID, "the URL names another tool")
    return None


def _build(data: _ValidDiscovery, template_text: object, pay_to: Address) -> DiscoveredResource:
    described = data.described
    fallback = described.description if isinstance(described, ToolInfo) else None
    metadata, dropped = read_metadata(data.resource, fallback_description=fallback)
    template = None
    if template_text is not None and isinstance(described, HttpInfo):
        template = parse_route_template(template_text)
        if template is None or not template.matches(data.url.path):
            template = None
            dropped += (FieldDropped("routeTemplate", _TEMPLATE_IGNORED),)
    resource = Resource(
        type=ListingType.HTTP if isinstance(described, HttpInfo) else ListingType.MCP,
        key=_key(data, template, pay_to),
        url=str(data.url if template is None else replace(data.url, path=template.path)),
        metadata=metadata,
        extensions=_extensions(data.parts, template),
        extension_keys=(BAZAAR,),
        parameters=read_parameters(described.info, data.schema),
        tool_name=described.tool_name if isinstance(described, ToolInfo) else None,
        method=described.method if isinstance(described, HttpInfo) else None,
        paid_url=str(data.url),
    )
    return DiscoveredResource(resource, dropped)


def _key(data: _ValidDiscovery, template: RouteTemplate | None, pay_to: Address) -> str:
    """The listing's key, unique together with the network.

    For HTTP it is the canonical URL, whatever the method, with the template's shape for the path.
    For a tool it is the canonical URL and the tool's name; an `mcp://` URL has no owner, so the
    recipient is part of its key.
    """
    if isinstance(data.described, ToolInfo):
        key = f"{data.url}#{data.described.tool_name}"
        return f"{key}@{pay_to}" if data.url.scheme == MCP else key
    if template is None:
        return str(data.url)
    return f"{data.url.scheme}://{data.url.authority}{template.shape}"


def _extensions(parts: _Bazaar, template: RouteTemplate | None) -> bytes:
    """The validated members only, byte for byte."""
    members = [b'"info":' + bytes(parts.info), b'"schema":' + bytes(parts.schema)]
    if template is not None:
        members.append(b'"routeTemplate":' + bytes(parts.route_template))
    return b'{"bazaar":{' + b",".join(members) + b"}}"
