"""The expected catalog after the settlements of a run, and the check of answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

Kind = tuple[str, str]  # network and type, of which each run lists one
_OPTIONAL: Final[Mapping[str, type]] = {
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
    bazaar: Mapping[str, object]  # the declaration
    metadata: Mapping[str, object]  # metadata that must be shown

    @property
    def kind(self) -> Kind:
        """The network and type, unique within a run."""
        return self.network, self.type


@dataclass(frozen=True, slots=True)
class Expectation:
    """The parameters of a request and the expected answer."""

    parameters: Mapping[str, Any]
    expected: tuple[Kind, ...]
    total: int | None = None  # of a list, where it is more than the page
    in_order: bool = False


def find_faults(
    name: str, expectation: Expectation, result: Mapping[str, Any], entries: Mapping[Kind, Entry]
) -> list[str]:
    """Find the faults of an answer as a client parsed it; empty when there are none."""
    place = f"{name} {dict(expectation.parameters)}"
    if "error" in result:
        return [f"{place}: {result['error']}"]
    answer = result["answer"]
    items = answer["items" if name == "list" else "resources"]
    found = [f"{place}: x402Version {answer['x402Version']}"] if answer["x402Version"] != 2 else []
    kinds = [_kind(item) for item in items]
    if sorted(kinds) != sorted(expectation.expected):
        found.append(f"{place}: shows {kinds}")
    found += [f"{place}: {line}" for item in items for line in _item_faults(item, entries)]
    if name == "list":
        pagination = answer["pagination"]
        expected = {
            "limit": expectation.parameters.get("limit", 20),
            "offset": expectation.parameters.get("offset", 0),
            "total": len(expectation.expected) if expectation.total is None else expectation.total,
        }
        if pagination != expected:
            found.append(f"{place}: pagination {pagination}")
    elif not isinstance(answer["partialResults"], bool):
        found.append(f"{place}: partialResults {answer['partialResults']!r}")
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
        **entry.metadata,
    }
    found = [
        f"{key} {item.get(key)!r}" for key, value in expected.items() if item.get(key) != value
    ]
    bazaar = (item.get("extensions") or {}).get("bazaar")
    if bazaar != entry.bazaar:
        found.append(f"extensions.bazaar {bazaar!r}")
    found += [
        f"{key} {item[key]!r}"
        for key, kind in _OPTIONAL.items()
        if type(item.get(key, kind())) is not kind
    ]
    at = datetime.fromisoformat(item["lastUpdated"])
    if abs(datetime.now(UTC) - at) > timedelta(hours=1):
        found.append(f"lastUpdated {item['lastUpdated']}")
    return found


def build_expectations(entries: Sequence[Entry]) -> tuple[list[Expectation], list[Expectation]]:
    """Build the requests and expected answers of browsing and of searching."""
    networks = sorted({entry.network for entry in entries})
    every = tuple(entry.kind for entry in entries)
    lists = [
        Expectation({}, every),
        Expectation({"limit": 1, "offset": 1}, every[1:2], total=len(every)),
        Expectation({"offset": 10_000}, (), total=len(every)),
        Expectation({"scheme": "exact", "extensions": "bazaar", "limit": 100}, every),
        Expectation({"scheme": "upto"}, ()),
        Expectation({"extensions": "payment-identifier"}, ()),
        Expectation({"network": "eip155:8453"}, ()),
        Expectation({"payTo": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}, ()),
    ]
    searches = [
        Expectation({"query": "report"}, _of_type(entries, "http")),
        Expectation({"query": "forecast"}, _of_type(entries, "mcp")),
        Expectation({"query": "find me a weather forecast"}, _of_type(entries, "mcp")),
        Expectation({"query": "forecast", "limit": 1, "walk": True}, _of_type(entries, "mcp")),
        Expectation({"query": "forecast", "type": "http"}, ()),
        Expectation({"query": "xylophone zymurgy"}, ()),
        Expectation({"query": "forecast", "network": "eip155:8453"}, ()),
        Expectation({"query": "forecast", "extensions": "bazaar"}, _of_type(entries, "mcp")),
        Expectation({"query": "forecast", "extensions": "payment-identifier"}, ()),
    ]
    for network in networks:
        own = tuple(kind for kind in every if kind[0] == network)
        lists.append(Expectation({"network": network}, own))
        lists += [Expectation({"network": network, "type": kind[1]}, (kind,)) for kind in own]
        pay_to = next(e.accepts["payTo"] for e in entries if e.network == network)
        lists.append(Expectation({"payTo": pay_to}, own))
        tool = ((network, "mcp"),)
        searches.append(Expectation({"query": "forecast", "network": network, "type": "mcp"}, tool))
        searches.append(
            Expectation({"query": "forecast", "payTo": pay_to, "scheme": "exact"}, tool)
        )
    return lists, searches


def _of_type(entries: Sequence[Entry], kind: str) -> tuple[Kind, ...]:
    return tuple(entry.kind for entry in entries if entry.type == kind)
