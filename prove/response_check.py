"""Check the responses of the catalog to any query, without the service's code."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qs

import orjson

from prove.query_generator import GeneratedQuery

_AMOUNT: Final = re.compile(r"[1-9][0-9]{0,38}\Z", re.ASCII)
_CURSOR: Final = re.compile(r"[A-Za-z0-9_-]+\Z", re.ASCII)
_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "/discovery/resources": ("x402Version", "items", "pagination"),
    "/discovery/search": ("x402Version", "resources", "partialResults", "pagination"),
    "/discovery/merchant": ("payTo", "resources", "pagination"),
}
_OPTIONAL: Final = {"unappliedFilters", "truncated", "explain"}
_ITEM: Final[Mapping[str, type]] = {
    "resource": str,
    "type": str,
    "x402Version": int,
    "accepts": list,
    "lastUpdated": str,
    "extensions": dict,
    "network": str,
    "ownership": str,
    "quality": dict,
    "untrusted": list,
}
_ITEM_OPTIONAL: Final[Mapping[str, type]] = {
    "description": str,
    "mimeType": str,
    "serviceName": str,
    "tags": list,
    "iconUrl": str,
    "toolName": str,
    "method": str,
    "explain": dict,
    "tokens": dict,
    "probe": dict,
}
_MAX_ITEMS: Final = 100
_URL_BYTES: Final = 8 * 1024


@dataclass(frozen=True, slots=True)
class RawResponse:
    """A response as received."""

    status: int
    body: bytes
    took_s: float


def code_of(response: RawResponse) -> str:
    """Read the code of a refusal; empty when the body is not a standard error body."""
    try:
        error = orjson.loads(response.body)["error"]
    except (ValueError, KeyError, TypeError):
        return ""
    is_whole = isinstance(error, dict) and set(error) == {"code", "message", "requestId"}
    return str(error["code"]) if is_whole and error["code"] and error["message"] else ""


def find_faults(query: GeneratedQuery, response: RawResponse) -> list[str]:
    """Find the faults of a response; empty when it is well formed and matches its query."""
    is_too_long = len(query.target) > _URL_BYTES  # refused by the server, before the catalog
    if response.status == 400 or (response.status == 414 and is_too_long):
        return [] if code_of(response) else ["a refusal without a code"]
    if response.status != 200:
        return [f"status {response.status}"]
    if query.is_forged:
        return ["a cursor that was not issued for this query was accepted"]
    body = orjson.loads(response.body)
    found = [f"no {name}" for name in _MEMBERS[query.path] if name not in body]
    if found:
        return found
    extra = body.keys() - set(_MEMBERS[query.path]) - _OPTIONAL
    found += [f"has {name}" for name in sorted(extra)]
    found += _page_faults(query.path, body)
    items = body["items"] if "items" in body else body["resources"]
    filters = {name: values[-1] for name, values in parse_qs(query.query).items()}
    for item in items:
        found += [f"{line} in {item.get('resource')}" for line in _item_faults(item)]
        found += [
            f"{item['resource']} does not meet {name}" for name in _unmet_filters(item, filters)
        ]
    return found


def _page_faults(path: str, body: Mapping[str, Any]) -> Iterator[str]:
    pagination = body["pagination"]
    items = body["items"] if "items" in body else body["resources"]
    limit = pagination["limit"]
    if not (isinstance(limit, int) and 1 <= limit <= _MAX_ITEMS and len(items) <= limit):
        yield f"{len(items)} items for a limit of {limit}"
    if path != "/discovery/search":
        offset, total = pagination["offset"], pagination["total"]
        if len(items) != max(0, min(limit, total - offset)):
            yield f"{len(items)} items of {total} from {offset} on"
        return
    cursor = pagination["cursor"]
    if body["partialResults"] is not (cursor is not None):
        yield "partialResults and cursor disagree"
    if cursor is not None and not _CURSOR.match(cursor):
        yield "the cursor is not base64url"


def _item_faults(item: Mapping[str, Any]) -> list[str]:
    mistyped = [name for name, kind in _ITEM.items() if type(item.get(name)) is not kind]
    mistyped += [
        name
        for name in item.keys() - _ITEM.keys()
        if name not in _ITEM_OPTIONAL or type(item[name]) is not _ITEM_OPTIONAL[name]
    ]
    if mistyped:
        return [f"{name} is {item.get(name)!r}" for name in mistyped]
    found = []
    if item["type"] not in ("http", "mcp") or (item["type"] == "mcp") != ("toolName" in item):
        found.append("type and toolName disagree")
    if datetime.fromisoformat(item["lastUpdated"]).tzinfo is None:
        found.append("lastUpdated has no zone")
    found += [
        f"accepts {terms}"
        for terms in item["accepts"]
        if terms["network"] != item["network"] or not _AMOUNT.match(terms["amount"])
    ]
    return found


_FILTER_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any], str], bool]]] = {
    "type": lambda item, value: item["type"] == value,
    "network": lambda item, value: item["network"] == value,
    "scheme": lambda item, value: all(terms["scheme"] == value for terms in item["accepts"]),
    "payTo": lambda item, value: all(
        terms["payTo"] in (value, value.upper()) for terms in item["accepts"]
    ),
    "extensions": lambda item, value: value in item["extensions"],
    "extension": lambda item, value: value in item["extensions"],
}


def _unmet_filters(item: Mapping[str, Any], filters: Mapping[str, str]) -> Iterator[str]:
    for name, is_met in _FILTER_CHECKS.items():
        if name in filters and not is_met(item, filters[name]):
            yield name
