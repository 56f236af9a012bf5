"""BENCH=gateway: our gateway beside the npm express middleware, in front of one upstream.

One process and one core each, rounds in turn, medians of the rounds; settlement is a stand-in on
both sides. Also: long responses to slow readers, and the cost as the number of wrappers grows.
"""

import asyncio
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Final

import aiohttp
import msgspec

from bench.child_process import generate_load
from bench.cores import divide_cores
from bench.gateway_readers import ReadersPlan, ReadersResult
from bench.gateway_setup import (
    GatewaySetup,
    offered,
    open_gateway_setup,
    raw_request,
    wrapper_settings,
)
from bench.load import Result
from bench.measure import Requests, Rounds, load, median_ratio, per_second
from bench.process_use import resident_mb
from testing.machine import ROOT, RunFailed, say, scratch_folder
from testing.packages import install
from testing.report import numbers_of, run_and_report, timed

OURS: Final = "farebox"
THEIRS: Final = "npm"
ALONE: Final = "the upstream alone"
LEAST_PER_S: Final = 2_000
MOST_ADDED_MS: Final = 5.0
MOST_STREAM_MB: Final = 64.0
MOST_HEALTH_MS: Final = 100.0
MOST_GROWTH: Final = 1.3
_SLUG: Final = "bench-0"
_READER_BYTES_PER_S: Final = 250_000


@dataclass(frozen=True, slots=True)
class Size:
    """The rounds, the paid calls of a round, the readers and the numbers of wrappers of a run."""

    rounds: int
    round_s: float
    paid: int
    readers: int
    reading_s: float
    wrappers: tuple[int, ...]


FULL: Final = Size(5, 3.0, 150, 300, 20.0, (10, 1_000, 100_000))
QUICK: Final = Size(2, 1.0, 30, 40, 5.0, (10, 1_000))


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether the thresholds hold, and the figures."""
    size = QUICK if quick else FULL
    await asyncio.to_thread(install, ROOT / "e2e")
    cores = divide_cores()
    needed = size.rounds * size.paid + size.readers + size.paid
    with scratch_folder("farebox-bench-") as scratch:
        async with open_gateway_setup(scratch, cores, payments=needed) as setup:
            envelopes = iter(setup.payments)
            growth = await _growth(setup, size)
            unpaid = await _unpaid(setup, size)
            paid_calls = size.rounds * size.paid
            paid = await _paid(setup, size, list(islice(envelopes, paid_calls)))
            streamed = await _stream(setup, size, list(islice(envelopes, size.readers)))
    figures = _figures(unpaid, paid) | growth | streamed
    figures["one_core_each"] = cores.service is not None
    return _holds(figures), figures


def _figures(unpaid: dict[str, Rounds], paid: dict[str, Rounds]) -> dict[str, object]:
    added = {side: _added(paid[side], paid[ALONE]) for side in (OURS, THEIRS)}
    return {
        "unpaid_per_s": round(unpaid[OURS].per_second),
        "unpaid_ratio": median_ratio(unpaid[OURS], unpaid[THEIRS], per_second),
        "added_ms_p50": added[OURS][0],
        "added_ms_p99": added[OURS][1],
        "added_ms_p50_theirs": added[THEIRS][0],
        "added_ms_p99_theirs": added[THEIRS][1],
        "paid_ratio": round(added[THEIRS][0] / max(added[OURS][0], 0.001), 3),
        "unpaid": {side: each.figures() for side, each in unpaid.items()},
        "paid": {side: each.figures() for side, each in paid.items()},
        "unexpected": sum(each.unexpected for each in (*unpaid.values(), *paid.values())),
    }


def _added(rounds: Rounds, alone: Rounds) -> tuple[float, float]:
    """Return what a side adds to the upstream: median and 99th percentile, in milliseconds."""
    return round(rounds.p50_ms - alone.p50_ms, 3), round(rounds.p99_ms - alone.p99_ms, 3)


def _holds(figures: dict[str, object]) -> bool:
    number = numbers_of(figures)
    return (
        number("unpaid_per_s") >= LEAST_PER_S
        and number("unpaid_ratio") >= 1
        and number("added_ms_p50") <= MOST_ADDED_MS
        and number("paid_ratio") >= 1
        and number("stream_growth_mb") <= MOST_STREAM_MB
        and number("health_p95_ms") <= MOST_HEALTH_MS
        and number("growth") <= MOST_GROWTH
        and not figures["unexpected"]
    )


async def _growth(setup: GatewaySetup, size: Size) -> dict[str, object]:
    """Measure unpaid requests to the same ten wrappers, among more and more of them."""
    rates: dict[int, float] = {}
    known = 0
    for count in size.wrappers:
        await _insert_wrappers(setup, first=known, count=count - known)
        known = count
        requests = _requests(setup, [f"bench-{n}" for n in range(10)])
        await load(setup.ours.url, requests, seconds=1.0)
        results = [
            await load(setup.ours.url, requests, seconds=size.round_s) for _ in range(size.rounds)
        ]
        rates[count] = median(each.per_second for each in results)
        say(f"{count} wrappers: {rates[count]:.0f}/s")
    fewest = rates[size.wrappers[0]]
    return {
        "growth": round(max(fewest / each for each in rates.values()), 3),
        "per_s_by_wrappers": {str(count): round(rate) for count, rate in rates.items()},
    }


async def _insert_wrappers(setup: GatewaySetup, *, first: int, count: int) -> None:
    await setup.execute(
        "INSERT INTO wrapper_slugs (slug, owner) SELECT 'bench-' || n, 'user_bench'"
        " FROM generate_series($1::int, $2::int) AS n",
        first,
        first + count - 1,
    )
    await setup.execute(
        "INSERT INTO wrappers (id, owner, slug, settings, is_established, is_enabled)"
        " SELECT 'wrp_' || n, 'user_bench', 'bench-' || n, $3::text::jsonb, true, true"
        " FROM generate_series($1::int, $2::int) AS n",
        first,
        first + count - 1,
        wrapper_settings(setup.terms),
    )
    await setup.execute("ANALYZE wrappers")


def _requests(setup: GatewaySetup, slugs: Sequence[str]) -> Requests:
    whole = tuple(raw_request(setup.ours.url, f"/gateway/{slug}/1k") for slug in slugs)
    return Requests("", (), ("x402Version",), whole=whole)


async def _unpaid(setup: GatewaySetup, size: Size) -> dict[str, Rounds]:
    """Measure the unpaid 402 of both sides."""
    ours = _requests(setup, [_SLUG])
    theirs = Requests("", (), ("402 Payment",), whole=(raw_request(setup.theirs, "/paid"),))
    sides = {OURS: (setup.ours.url, ours), THEIRS: (setup.theirs, theirs)}
    rounds = {side: Rounds() for side in sides}
    for turn in range(size.rounds + 1):
        for side, (url, requests) in sides.items():
            result = await load(url, requests, seconds=size.round_s)
            if turn:  # the first one warms up
                rounds[side].results.append(result)
                say(f"unpaid, round {turn}/{size.rounds}, {side}: {result.per_second:.0f}/s")
    return rounds


async def _paid(setup: GatewaySetup, size: Size, envelopes: Sequence[str]) -> dict[str, Rounds]:
    """Measure paid calls of 1 KB one after the other, and the upstream without either side."""
    accepted = await offered(f"{setup.theirs}/paid")
    rounds = {side: Rounds() for side in (ALONE, OURS, THEIRS)}
    for turn in range(size.rounds):
        own = envelopes[turn * size.paid : (turn + 1) * size.paid]
        whole = setup.paid_requests(_SLUG, "/1k", own)
        ours = Requests("", (), ("report",), whole=whole, is_once=True)
        whole = tuple(raw_request(setup.theirs, "/paid", accepted, each) for each in own)
        theirs = Requests("", (), ("report",), whole=whole, is_once=True)
        for side, url, requests in (
            (OURS, setup.ours.url, ours),
            (THEIRS, setup.theirs, theirs),
        ):
            result = await load(url, requests, seconds=60, in_flight=1)
            rounds[side].results.append(result)
            say(
                f"paid, round {turn + 1}/{size.rounds}, {side}: p50 {result.p50_ms:.2f} ms, "
                f"p99 {result.p99_ms:.2f} ms"
            )
            if result.unexpected:
                say(f"unexpected: {result.first_unexpected[-300:]}")
        alone = await load_upstream(setup, count=size.paid)
        rounds[ALONE].results.append(alone)
        say(f"paid, round {turn + 1}/{size.rounds}, {ALONE}: p50 {alone.p50_ms:.2f} ms")
    return rounds


async def load_upstream(setup: GatewaySetup, *, count: int) -> Result:
    """Call the upstream itself over one connection, one request after the other."""
    trust = ssl.create_default_context(cafile=setup.authority)
    url = setup.upstream.replace("127.0.0.1", "localhost") + "/1k"
    times = []
    connector = aiohttp.TCPConnector(ssl=trust)
    async with aiohttp.ClientSession(connector=connector) as session:
        began = time.perf_counter()
        for _ in range(count):
            started = time.perf_counter()
            async with session.get(url) as response:
                await response.read()
            times.append(time.perf_counter() - started)
        elapsed = time.perf_counter() - began
    ordered = sorted(times)
    return Result(
        answers=count,
        unexpected=0,
        elapsed_s=elapsed,
        per_second=count / elapsed,
        p50_ms=ordered[count // 2] * 1000,
        p99_ms=ordered[min(count - 1, int(count * 0.99))] * 1000,
        busy=0.0,
    )


async def _stream(setup: GatewaySetup, size: Size, envelopes: Sequence[str]) -> dict[str, object]:
    """Stream long responses to slow readers; measure memory and health meanwhile."""
    host, _, port = setup.ours.url.partition("//")[2].partition(":")
    requests = [each.decode() for each in setup.paid_requests(_SLUG, "/10m", envelopes)]
    plan = ReadersPlan(host, int(port), requests, _READER_BYTES_PER_S, size.reading_s)
    before = resident_mb(setup.ours.process.pid)
    reading = asyncio.create_task(generate_load("gateway_readers", plan))
    health: list[float] = []
    most = before
    async with aiohttp.ClientSession() as session:
        while not reading.done():
            started = time.perf_counter()
            async with session.get(f"{setup.ours.url}/health/live") as response:
                await response.read()
            health.append((time.perf_counter() - started) * 1000)
            most = max(most, resident_mb(setup.ours.process.pid))
            await asyncio.sleep(0.05)
    read = msgspec.json.decode(await reading, type=ReadersResult)
    if read.started != size.readers:
        raise RunFailed(f"only {read.started} of {size.readers} responses began: {read.statuses}")
    ordered = sorted(health)
    return {
        "stream_growth_mb": round(most - before, 1),
        "health_p95_ms": round(ordered[int(len(ordered) * 0.95)], 1),
        "readers": size.readers,
        "read_mb": read.read_mb,
    }


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
