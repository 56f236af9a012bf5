"""Applies sustained load or a burst to facilitators and reads the results off the ledger."""

import asyncio
import base64
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import msgspec

from bench.child_process import generate_load
from bench.process_use import cpu_s
from bench.settle_load import Plan, Report
from bench.settle_payments import Payment
from bench.settle_run import Run, Window, WindowUsage, build_run
from bench.settle_setup import CADENCE_S, MeasuredFacilitator, SettleSetup
from testing.machine import RunFailed, say

STARTS_S: Final = 1.5  # until the load generator is up
_BEFORE_CLOSE_S: Final = 0.3
_SPARE: Final = 4  # ledgers' worth of payments beyond those measured
_STALLED_S: Final = 200.0  # longer than any caller waits


@dataclass(frozen=True, slots=True)
class Load:
    """Concurrent callers on one facilitator."""

    side: MeasuredFacilitator
    in_flight: int


async def sustained(
    setup: SettleSetup, loads: Sequence[Load], *, warm: int, ledgers: int
) -> list[Run]:
    """Run closed loops on all sides at once, `warm` ledgers unmeasured and `ledgers` measured."""
    enough = warm + ledgers + _SPARE
    payments = [await new_payments(setup, each.in_flight * enough) for each in loads]
    first, closed_at = await setup.next_close()
    begin = closed_at + CADENCE_S * (1 + warm)
    end = begin + CADENCE_S * ledgers
    for each in loads:
        each.side.relay.reset()
    callers = [
        asyncio.create_task(
            run_load_generator(
                Plan(
                    servers=[server_of(load.side.url)],
                    bodies=bodies_of(own),
                    in_flight=load.in_flight,
                    start_at=closed_at + STARTS_S,
                    stop_at=end,
                )
            )
        )
        for load, own in zip(loads, payments, strict=True)
    ]
    try:
        window = await _measure_window(setup, [each.side for each in loads], begin, end)
        reports = [await each for each in callers]
    finally:
        for caller in callers:
            caller.cancel()
    landed = await setup.reader.landed(first, await setup.reader.latest())
    runs = [
        build_run(load.side, own, report.answers, landed, window, usage)
        for load, own, report, usage in zip(loads, payments, reports, window.sides, strict=True)
    ]
    for load, run in zip(loads, runs, strict=True):
        _report_run(load, run)
    return runs


def _report_run(load: Load, run: Run) -> None:
    say(
        f"{load.side.name}, {load.in_flight} in flight: {run.per_ledger} a ledger, "
        f"p50 {run.latency_s(0.5)} s, p95 {run.latency_s(0.95)} s, {run.failed} failed"
    )


async def _measure_window(
    setup: SettleSetup, sides: Sequence[MeasuredFacilitator], begin: float, end: float
) -> Window:
    """Wait for the end of the window; return its ledgers and the usage of each side.

    Its ends lie just before ledgers close, when all callers wait, so that no ledger's payments are
    split.
    """
    await asyncio.sleep(begin - _BEFORE_CLOSE_S - time.monotonic())
    before = await setup.reader.latest()
    await setup.devnet.reset_counts()
    calls = [(side.relay.calls.copy(), side.relay.bytes.copy()) for side in sides]
    cpu = [cpu_s(side.pid) if side.pid else None for side in sides]
    await asyncio.sleep(end - _BEFORE_CLOSE_S - time.monotonic())
    devnet_counts = await setup.devnet.counts()
    after = await setup.reader.latest()
    usage = []
    for side, (calls_before, bytes_before), used in zip(sides, calls, cpu, strict=True):
        share = None
        if used is not None and side.pid:
            share = round((cpu_s(side.pid) - used) / (end - begin), 3)
        usage.append(
            WindowUsage(side.relay.calls - calls_before, share, side.relay.bytes - bytes_before)
        )
    _check_counts(devnet_counts, sum((each.calls for each in usage), Counter[str]()))
    return Window(range(before + 2, after + 2), begin, end, usage)


def _check_counts(devnet_counts: dict[str, int], relayed: Counter[str]) -> None:
    """Compare the devnet's count of calls with that of the relays.

    Raises:
        RunFailed: calls reached the devnet without a relay.
    """
    beyond = sum(devnet_counts.values()) - relayed.total()
    if abs(beyond) > max(20, relayed.total() // 100):  # calls under way at either end
        raise RunFailed(f"the devnet counted {devnet_counts}, the relays {dict(relayed)}")


async def new_payments(setup: SettleSetup, count: int) -> list[Payment]:
    """Sign `count` new payments, valid from now on."""
    now = await setup.reader.latest()
    return await asyncio.to_thread(setup.payment_factory.payments, count, now=now)


def bodies_of(payments: Sequence[Payment]) -> list[str]:
    """Encode the request bodies of payments for a plan."""
    return [base64.b64encode(each.body).decode() for each in payments]


def server_of(url: str) -> tuple[str, int]:
    """Return host and port of a URL."""
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or 80


async def run_load_generator(plan: Plan) -> Report:
    """Run a load generator in a process of its own.

    Raises:
        RunFailed: it could not finish.
    """
    allowed_s = plan.stop_at - time.monotonic() + plan.answer_s + plan.patience_s + _STALLED_S
    try:
        async with asyncio.timeout(allowed_s):
            out = await generate_load("settle_load", plan)
    except TimeoutError as error:
        raise RunFailed("the load generator did not end") from error
    return msgspec.json.decode(out, type=Report)


async def burst(setup: SettleSetup, side: MeasuredFacilitator, count: int) -> Run:
    """Send `count` payments at once, just after a ledger closed, and wait for all answers."""
    payments = await new_payments(setup, count)
    first, closed_at = await setup.next_close()
    start_at = closed_at + STARTS_S
    side.relay.reset()
    plan = Plan(
        servers=[server_of(side.url)],
        bodies=bodies_of(payments),
        in_flight=count,
        start_at=start_at,
        stop_at=start_at + CADENCE_S,
    )
    report = await run_load_generator(plan)
    last = await setup.reader.latest()
    window = Window(range(first + 1, last + 1), start_at, time.monotonic(), [])
    landed = await setup.reader.landed(first, last)
    usage = WindowUsage(side.relay.calls.copy(), None)
    run = build_run(side, payments, report.answers, landed, window, usage)
    say(f"burst of {count} on {side.name}: {len(run.paid)} paid, {run.failed} failed")
    return run
