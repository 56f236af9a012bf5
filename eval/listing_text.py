"""A labelled listing as the payload of a stock client describes it."""

import re
from typing import Final

import msgspec

from eval.labelled import Listing
from farebox.x402.extensions import DiscoveryText

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_NAMED: Final = re.compile(r":([A-Za-z_][A-Za-z0-9_]*)")
_WITH_BODY: Final = frozenset(("POST", "PUT", "PATCH"))
_EXAMPLE: Final = "example"
Json = dict[str, object]


def discovery_of(listing: Listing) -> bytes:
    """`resource` and `bazaar` as they are kept with a settlement."""
    path = "/" + listing.url.split("/", 3)[3] if listing.url.count("/") > 2 else "/"
    names = _NAMED.findall(path)
    resource: Json = {
        "url": _NAMED.sub(_EXAMPLE, listing.url.removeprefix("https://")),
        "description": listing.description,
        "mimeType": "application/json",
        "serviceName": listing.service_name,
        "tags": list(listing.tags) or None,
    }
    resource["url"] = f"https://{resource['url']}"
    bazaar = _bazaar(listing, names)
    if names and listing.type == "http":
        bazaar["routeTemplate"] = path
    stated = {key: value for key, value in resource.items() if value is not None}
    return DiscoveryText(msgspec.json.encode(stated), msgspec.json.encode(bazaar)).to_bytes()


def _bazaar(listing: Listing, names: list[str]) -> Json:
    described: Json = {
        name: {"type": "string", "description": text} for name, text in listing.params.items()
    }
    if listing.type == "mcp":
        entry: Json = {
            "type": "mcp",
            "toolName": listing.tool,
            "inputSchema": {"type": "object", "properties": described},
        }
        fixed: Json = {"type": {"const": "mcp"}, "toolName": {"type": "string"}}
    else:
        entry, fixed = _http(listing, described, names)
    info: Json = {"input": entry}
    if listing.output is not None:
        info["output"] = {"type": "json", "example": listing.output}
    schema: Json = {
        "$schema": _DRAFT,
        "type": "object",
        "properties": {"input": {"type": "object", "properties": fixed}},
        "required": ["input"],
    }
    return {"info": info, "schema": schema}


def _http(listing: Listing, described: Json, names: list[str]) -> tuple[Json, Json]:
    method = listing.method or "GET"
    values: Json = {name: _EXAMPLE for name in listing.params if name not in names}
    entry: Json = {"type": "http", "method": method}
    fixed: Json = {"type": {"const": "http"}, "method": {"const": method}}
    part = "body" if method in _WITH_BODY else "queryParams"
    if method in _WITH_BODY:
        entry["bodyType"] = "json"
    entry[part] = values
    fixed[part] = {"type": "object", "properties": described}
    if names:
        entry["pathParams"] = dict.fromkeys(names, _EXAMPLE)
    return entry, fixed
