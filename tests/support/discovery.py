"""Discovery metadata as JSON that a test may damage, and the reading of it."""

from typing import Final

import msgspec

from farebox.catalog.discovery.discovered_resource import DiscoveredResource, parse_discovery
from farebox.catalog.discovery.drop_reason import Dropped, DropReason
from farebox.catalog.listing import Resource
from farebox.kernel.addresses import Address

Json = dict[str, object]

SELLER: Final = Address("GBEAOWSZPZZBUFLOFYDZTXS4YDCTETOG47VPDTOUMJIINDWFGIK53RM6")
DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
LOCAL_HOSTS: Final = [
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


def http_info(**more: object) -> Json:
    """A GET that looks up the weather of a city."""
    return {
        "input": {"type": "http", "method": "GET", "queryParams": {"city": "Paris"}, **more},
        "output": {"type": "json", "example": {"degrees": 21}},
    }


def tool_info(**more: object) -> Json:
    """A tool that looks up the weather of a city."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    return {"input": {"type": "mcp", "toolName": "weather", "inputSchema": schema, **more}}


def schema_of(info: Json) -> Json:
    """A schema as stock sellers make it: the kind is fixed, the rest is described."""
    given = info.get("input")
    given = given if isinstance(given, dict) else {}
    fixed: Json = {"type": {"type": "string", "const": given.get("type")}}
    if given.get("type") == "http":
        fixed["method"] = {"type": "string", "enum": [given.get("method")]}
    return {
        "$schema": DRAFT,
        "type": "object",
        "properties": {"input": {"type": "object", "properties": fixed, "required": ["type"]}},
        "required": ["input"],
    }


def discovery(
    url: object = "https://api.weather.example/v1/now",
    info: object = None,
    schema: object = None,
    *,
    resource: Json | None = None,
    **bazaar: object,
) -> bytes:
    """Build the bytes that are stored with a settlement."""
    info = http_info() if info is None else info
    made = schema_of(info) if schema is None and isinstance(info, dict) else schema
    document = {
        "resource": {"url": url, **(resource or {})},
        "bazaar": {"info": info, "schema": made, **bazaar},
    }
    return msgspec.json.encode(document)


def read(text: bytes, *, pay_to: Address = SELLER, is_local_allowed: bool = False) -> Resource:
    """Read the resource of acceptable bytes."""
    found = parse_discovery(text, pay_to=pay_to, is_local_allowed=is_local_allowed)
    assert isinstance(found, DiscoveredResource), found
    return found.resource


def why_dropped(text: bytes) -> DropReason:
    """Return why bytes are not acceptable."""
    found = parse_discovery(text, pay_to=SELLER)
    assert isinstance(found, Dropped), found
    return found.reason
