"""The fixed shape of `info`, required whatever its own schema allows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from farebox.catalog.discovery.drop_reason import Dropped, DropReason
from farebox.catalog.listing import ListingType

QUERY_METHODS: Final = frozenset({"GET", "HEAD", "DELETE"})
BODY_METHODS: Final = frozenset({"POST", "PUT", "PATCH"})
_BODY_TYPES: Final = ("json", "form-data", "text")
_TRANSPORTS: Final = ("streamable-http", "sse")
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}\Z", re.ASCII)
_OBJECTS: Final = ("queryParams", "pathParams", "headers")
_TEXTS: Final = ("type", "format")

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class HttpInfo:
    """An HTTP resource: one method of a URL."""

    info: Json
    method: str


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool of an MCP server."""

    info: Json
    tool_name: str
    description: str | None


Info = HttpInfo | ToolInfo


def read_info(info: object) -> Info | Dropped:
    """Parse the info, or give the first rule of its shape that it breaks."""
    if not isinstance(info, dict) or not isinstance(info.get("input"), dict):
        return Dropped(DropReason.INFO_MISSING)
    dropped = _judge_output(info.get("output"))
    if dropped is not None:
        return dropped
    input_info: Json = info["input"]
    match input_info.get("type"):
        case ListingType.HTTP:
            return _read_http(info, input_info)
        case ListingType.MCP:
            return _read_tool(info, input_info)
        case _:
            return Dropped(DropReason.INPUT_TYPE_UNSUPPORTED)


def _read_http(info: Json, input_info: Json) -> Info | Dropped:
    method = input_info.get("method")
    if not isinstance(method, str) or method not in QUERY_METHODS | BODY_METHODS:
        return Dropped(DropReason.METHOD_UNSUPPORTED)
    body_type = input_info.get("bodyType")
    if body_type is not None and body_type not in _BODY_TYPES:
        return Dropped(DropReason.BODY_TYPE_INVALID)
    has_body = body_type is not None or input_info.get("body") is not None
    if has_body and method not in BODY_METHODS:
        return Dropped(DropReason.BODY_NOT_ALLOWED, method)
    for name in _OBJECTS:
        if not isinstance(input_info.get(name), dict | None):
            return Dropped(DropReason.INFO_FIELD_INVALID, f"input.{name}")
    return HttpInfo(info, method)


def _read_tool(info: Json, input_info: Json) -> Info | Dropped:
    name = input_info.get("toolName")
    if not isinstance(name, str) or not _TOOL_NAME.match(name):
        return Dropped(DropReason.TOOL_NAME_INVALID)
    if not isinstance(input_info.get("inputSchema"), dict):
        return Dropped(DropReason.INPUT_SCHEMA_MISSING)
    transport = input_info.get("transport")
    if transport is not None and transport not in _TRANSPORTS:
        return Dropped(DropReason.TRANSPORT_UNSUPPORTED)
    description = input_info.get("description")
    if not isinstance(description, str | None):
        return Dropped(DropReason.INFO_FIELD_INVALID, "input.description")
    return ToolInfo(info, name, description)


def _judge_output(output: object) -> Dropped | None:
    if output is None:
        return None
    if not isinstance(output, dict):
        return Dropped(DropReason.INFO_FIELD_INVALID, "output")
    for name in _TEXTS:
        if not isinstance(output.get(name), str | None):
            return Dropped(DropReason.INFO_FIELD_INVALID, f"output.{name}")
    return None
