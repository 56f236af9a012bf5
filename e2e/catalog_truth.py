"""What the catalog must say after the settlements of a run, and what an answer says wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

Kind = tuple[str, str]  # network and type, of which each run lists one
_MAY_BE: Final[Mapping[str, type]] = {
    "description": str,
    "mimeType": str,
    "serviceName": str,
    "tags": list,
    "iconUrl": str,
    "extensions": dict,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One listing as its settlement made it."""

    network: str
    type: str
    resource: str
    accepts: Mapping[str, object]
    bazaar: Mapping[str, object]  # what was declared
    says: Mapping[str, object]  # metadata that must be shown

    @property
    def kind(self) -> Kind:
        """What tells it from the others."""
        return self.network, self.type


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what its answer must hold."""

    parameters: Mapping[str, Any]
    expected: tuple[Kind, ...]
    total: int | None = None  # of a list, where it is more than the page
    in_order: bool = False


def faults(
    name: str, asked: Asked, seen: Mapping[str, Any], entries: Mapping[Kind, Entry]
) -> list[str]:
    """What a client did not understand or was told wrong; empty when all is well."""
    where = f"{name} {dict(asked.parameters)}"
    if "error" in seen:
        return [f"{where}: {seen['error']}"]
    answer = seen["answer"]
    items = answer["items" if name == "list" else "resources"]
    found = [f"{where}: x402Version {answer['x402Version']}"] if answer["x402Version"] != 2 else []
    kinds = [_kind(item) for item in items]
    if sorted(kinds) != sorted(asked.expected):
        found.append(f"{where}: shows {kinds}")
    found += [f"{where}: {line}" for item in items for line in _item_faults(item, entries)]
    if name == "list":
        pagination = answer["pagination"]
        expected = {
            "limit": asked.parameters.get("limit", 20),
            "offset": asked.parameters.get("offset", 0),
            "total": len(asked.expected) if asked.total is None else asked.total,
        }
        if pagination != expected:
            found.append(f"{where}: pagination {pagination}")
    elif not isinstance(answer["partialResults"], bool):
        found.append(f"{where}: partialResults {answer['partialResults']!r}")
    return found


def _kind(item: Mapping[str, Any]) -> Kind:
    return str(item["accepts"][0]["network"]) if item["accepts"] else "", str(item["type"])


def _item_faults(item: Mapping[str, Any], entries: Mapping[Kind, Entry]) -> list[str]:
    entry = entries.get(_kind(item))
    if entry is None:
        return [f"{item['resource']} was never settled for"]
    expected = {
        "resource": entry.resource,
        "type": entry.type,
        "x402Version": 2,
        "accepts": [entry.accepts],
        **entry.says,
    }
    found = [
        f"{key} {item.get(key)!r}" for key, value in expected.items() if item.get(key) != value
    ]
    bazaar = (item.get("extensions") or {}).get("bazaar")
    if bazaar != entry.bazaar:
        found.append(f"extensions.bazaar {bazaar!r}")
    found += [
        f"{key} {item[key]!r}"
        for key, kind in _MAY_BE.items()
        if type(item.get(key, kind())) is not kind
    ]
    at = datetime.fromisoformat(item["lastUpdated"])
    if abs(datetime.now(UTC) - at) > timedelta(hours=1):
        found.append(f"lastUpdated {item['lastUpdated']}")
    return found


def questions(entries: Sequence[Entry]) -> tuple[list[Asked], list[Asked]]:
    """What is asked of browsing and of searching."""
    networks = sorted({entry.network for entry in entries})
    every = tuple(entry.kind for entry in entries)
    lists = [
        Asked({}, every),
        Asked({"limit": 1, "offset": 1}, every[1:2], total=len(every)),
        Asked({"offset": 10_000}, (), total=len(every)),
        Asked({"scheme": "exact", "extensions": "bazaar", "limit": 100}, every),
        Asked({"scheme": "upto"}, ()),
        Asked({"extensions": "payment-identifier"}, ()),
        Asked({"network": "eip155:8453"}, ()),
        Asked({"payTo": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}, ()),
    ]
    searches = [
        Asked({"query": "report"}, _of_type(entries, "http")),
        Asked({"query": "forecast"}, _of_type(entries, "mcp")),
        Asked({"query": "find me a weather forecast"}, _of_type(entries, "mcp")),
        Asked({"query": "forecast", "limit": 1, "walk": True}, _of_type(entries, "mcp")),
        Asked({"query": "forecast", "type": "http"}, ()),
        Asked({"query": "xylophone zymurgy"}, ()),
        Asked({"query": "forecast", "network": "eip155:8453"}, ()),
        Asked({"query": "forecast", "extensions": "bazaar"}, _of_type(entries, "mcp")),
        Asked({"query": "forecast", "extensions": "payment-identifier"}, ()),
    ]
    for network in networks:
        own = tuple(kind for kind in every if kind[0] == network)
        lists.append(Asked({"network": network}, own))
        lists += [Asked({"network": network, "type": kind[1]}, (kind,)) for kind in own]
        pay_to = next(e.accepts["payTo"] for e in entries if e.network == network)
        lists.append(Asked({"payTo": pay_to}, own))
        tool = ((network, "mcp"),)
        searches.append(Asked({"query": "forecast", "network": network, "type": "mcp"}, tool))
        searches.append(Asked({"query": "forecast", "payTo": pay_to, "scheme": "exact"}, tool))
    return lists, searches


def _of_type(entries: Sequence[Entry], kind: str) -> tuple[Kind, ...]:
    return tuple(entry.kind for entry in entries if entry.type == kind)
