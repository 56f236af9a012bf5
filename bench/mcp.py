"""BENCH=mcp: `/mcp` beside the official Python SDK's server, and beside the search by HTTP.

One process and one core each, rounds in turn, medians of the rounds. Also: searches and memory
while as many paid calls as may be in progress wait for a silent upstream.
"""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from bench.cores import divide_cores
from bench.load import Result
from bench.mcp_pairs import Pair, measure_pairs
from bench.mcp_setup import McpSetup, MeasuredServer, open_mcp_setup
from bench.measure import Requests, Rounds, load, median_ratio, per_second, say_result
from bench.process_use import cpu_s, resident_mb
from testing.machine import say, scratch_folder
from testing.report import run_and_report, timed

OURS: Final = "farebox"
THEIRS: Final = "mcp SDK"
TOOL: Final = "search_services"
LEAST_RATIO: Final = 5.0
MOST_ADDED_MS: Final = 1.5
MOST_P95_RATIO: Final = 2.0
MOST_GROWTH_MB: Final = 50.0
BOUND: Final = 24  # of calls of addresses without a payment: a quarter of FAREBOX_AGENT_CALLS
_CALLERS: Final = BOUND + 8
_QUERIES: Final = 40
_LIMIT: Final = 10
_ROUND_AT_MOST_S: Final = 60.0
_HEADERS: Final = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-06-18",
}


@dataclass(frozen=True, slots=True)
class Size:
    """The rounds of a run, the seconds of a round of calls, and how often each search is sent."""

    rounds: int
    round_s: float
    repeats: int


@dataclass(slots=True)
class Side:
    """The rounds of one server, and the seconds that it was on the processor meanwhile."""

    server: MeasuredServer
    rounds: Rounds = field(default_factory=Rounds)
    cpu_s: float = 0.0

    @property
    def per_cpu_s(self) -> float:
        """The calls answered in a second on the processor."""
        return self.rounds.answers / max(self.cpu_s, 0.001)

    def figures(self) -> dict[str, object]:
        """Return the medians, and the calls in a second on the processor."""
        return self.rounds.figures() | {"per_cpu_s": round(self.per_cpu_s)}


FULL: Final = Size(rounds=5, round_s=4.0, repeats=4)
QUICK: Final = Size(rounds=2, round_s=1.0, repeats=1)


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether the thresholds hold, and the figures."""
    size = QUICK if quick else FULL
    cores = divide_cores()
    with scratch_folder("farebox-bench-") as scratch:
        async with open_mcp_setup(scratch, cores) as setup:
            pings = await _beside_sdk(setup, size, "ping", '"result":{}')
            lists = await _beside_sdk(setup, size, "tools/list", '"paid_call"')
            say("the same searches by the tool and by HTTP")
            pairs = await asyncio.to_thread(
                measure_pairs, setup.ours.url, _pairs(setup), rounds=size.rounds * size.repeats
            )
            stalled = await _beside_stalled_calls(setup, size)
    sides = [*pings.values(), *lists.values()]
    figures = {
        "calls_per_s": round(pings[OURS].rounds.per_second),
        "sdk_ratio": _ratio(pings),
        "sdk_ratio_cpu": round(pings[OURS].per_cpu_s / pings[THEIRS].per_cpu_s, 3),
        "sdk_ratio_lists": _ratio(lists),
        "added_ms_p50": round(pairs.added_ms, 3),
        **stalled,
        "ping": {name: each.figures() for name, each in pings.items()},
        "tools_list": {name: each.figures() for name, each in lists.items()},
        "search": pairs.figures(),
        "unexpected": sum(each.rounds.unexpected for each in sides),
        "one_core_each": cores.service is not None,
    }
    return _holds(figures), figures


def _ratio(sides: dict[str, Side]) -> float:
    return median_ratio(sides[OURS].rounds, sides[THEIRS].rounds, per_second)


def _holds(figures: dict[str, Any]) -> bool:
    return bool(
        figures["sdk_ratio"] >= LEAST_RATIO
        and figures["added_ms_p50"] <= MOST_ADDED_MS
        and figures["search_p95_ratio"] <= MOST_P95_RATIO
        and figures["memory_growth_mb"] <= MOST_GROWTH_MB
        and figures["paid_calls_at_once"] == BOUND
        and not figures["unexpected"]
    )


async def _beside_sdk(setup: McpSetup, size: Size, method: str, expected: str) -> dict[str, Side]:
    """Measure one method at both servers."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode()
    requests = Requests("/mcp", (body,), (expected,), _HEADERS)
    sides = {OURS: Side(setup.ours), THEIRS: Side(setup.theirs)}
    for turn in range(size.rounds + 1):
        for name, side in sides.items():
            before = cpu_s(side.server.process_id)
            result = await load(side.server.url, requests, seconds=size.round_s)
            if turn:  # the first one warms up
                side.rounds.results.append(result)
                side.cpu_s += cpu_s(side.server.process_id) - before
                say_result(f"{method}, round {turn}/{size.rounds}, {name}", result)
    return sides


async def _beside_stalled_calls(setup: McpSetup, size: Size) -> dict[str, object]:
    """Measure searches with and without as many stalled paid calls as may be in progress."""
    without, during = Rounds(), Rounds()
    before = most = resident_mb(setup.ours.process_id)
    refused, at_once = 0, BOUND
    for turn in range(size.rounds):
        label = f"round {turn + 1}/{size.rounds}"
        without.results.append(await _search(setup, size, f"searches alone, {label}"))
        async with setup.stalled_calls(_CALLERS, bound=BOUND) as stalled:
            during.results.append(await _search(setup, size, f"beside stalled calls, {label}"))
            at_once = min(at_once, setup.upstream.at_once)
            most = max(most, resident_mb(setup.ours.process_id))
            refused += stalled.refused
    return {
        "search_p95_ratio": median_ratio(during, without, lambda result: result.p95_ms),
        "search_p95_ms": [round(without.p95_ms, 2), round(during.p95_ms, 2)],
        "memory_growth_mb": round(most - before, 1),
        "paid_calls_at_once": at_once,
        "paid_calls_refused": refused,
    }


async def _search(setup: McpSetup, size: Size, label: str) -> Result:
    """Send every search once after the other, the same in every round."""
    bodies = tuple(pair.body for pair in _pairs(setup)) * size.repeats
    requests = Requests("/mcp", bodies, ('"resources":[',), _HEADERS, is_once=True)
    result = await load(setup.ours.url, requests, seconds=_ROUND_AT_MOST_S, in_flight=1)
    say_result(label, result)
    return result


def _pairs(setup: McpSetup) -> list[Pair]:
    return [_pair(query.text) for query in setup.labelled.queries[:_QUERIES]]


def _pair(query: str) -> Pair:
    params = {"name": TOOL, "arguments": {"query": query, "limit": _LIMIT}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    target = f"/discovery/search?limit={_LIMIT}&query={quote(query)}"
    return Pair(json.dumps(message).encode(), target)


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
