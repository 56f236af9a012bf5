"""Hold load on facilitators for some ledgers, or send a burst, and look what became of it."""

import asyncio
import base64
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import msgspec

from bench.part import generate_load
from bench.settle_ground import CADENCE_S, Ground, Side
from bench.settle_load import Plan, Report
from bench.settle_payments import Payment
from bench.settle_run import Run, Seen, Window, run_of
from e2e.machine import RunFailed, say

STARTS_S: Final = 1.5  # until the load generator is up
_BEFORE_CLOSE_S: Final = 0.3
_SPARE: Final = 4  # ledgers' worth of payments beyond those measured
_STALLED_S: Final = 200.0  # longer than any caller waits


@dataclass(frozen=True, slots=True)
class Load:
    """So many callers at once on these servers; the first side's relay is what is read."""

    side: Side
    in_flight: int


async def sustained(ground: Ground, loads: Sequence[Load], *, warm: int, ledgers: int) -> list[Run]:
    """Closed loops on every side at once for `warm` ledgers unmeasured and `ledgers` measured."""
    enough = warm + ledgers + _SPARE
    payments = [await new_payments(ground, each.in_flight * enough) for each in loads]
    first, closed_at = await ground.next_close()
    begin = closed_at + CADENCE_S * (1 + warm)
    end = begin + CADENCE_S * ledgers
    for each in loads:
        each.side.tap.reset()
    callers = [
        asyncio.create_task(
            call(
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
        window = await _window(ground, [each.side for each in loads], begin, end)
        reports = [await each for each in callers]
    finally:
        for caller in callers:
            caller.cancel()
    landed = await ground.reader.landed(first, await ground.reader.latest())
    runs = [
        run_of(load.side, own, report.answers, landed, window, seen)
        for load, own, report, seen in zip(loads, payments, reports, window.sides, strict=True)
    ]
    for load, run in zip(loads, runs, strict=True):
        _say(load, run)
    return runs


def _say(load: Load, run: Run) -> None:
    say(
        f"{load.side.name}, {load.in_flight} in flight: {run.per_ledger} a ledger, "
        f"p50 {run.latency_s(0.5)} s, p95 {run.latency_s(0.95)} s, {run.failed} failed"
    )


async def _window(ground: Ground, sides: Sequence[Side], begin: float, end: float) -> Window:
    """Wait out the window; which ledgers closed in it, and what each side used meanwhile.

    It is cut just before ledgers close, when everybody waits: what was sent for a ledger falls
    whole into the window or outside of it.
    """
    await asyncio.sleep(begin - _BEFORE_CLOSE_S - time.monotonic())
    before = await ground.reader.latest()
    await ground.devnet.reset_counts()
    calls = [(side.tap.calls.copy(), side.tap.bytes.copy()) for side in sides]
    cpu = [side.cpu_s() if side.pid else None for side in sides]
    await asyncio.sleep(end - _BEFORE_CLOSE_S - time.monotonic())
    counted = await ground.devnet.counts()
    after = await ground.reader.latest()
    seen = []
    for side, (had, read), used in zip(sides, calls, cpu, strict=True):
        share = round((side.cpu_s() - used) / (end - begin), 3) if used is not None else None
        seen.append(Seen(side.tap.calls - had, share, side.tap.bytes - read))
    _agree(counted, sum((each.calls for each in seen), Counter[str]()))
    return Window(range(before + 2, after + 2), begin, end, seen)


def _agree(counted: dict[str, int], relayed: Counter[str]) -> None:
    """The devnet's own count is the truth; the relays only say whose calls they were.

    Raises:
        RunFailed: somebody reached the devnet past the relays.
    """
    beyond = sum(counted.values()) - relayed.total()
    if abs(beyond) > max(20, relayed.total() // 100):  # calls under way at either end
        raise RunFailed(f"the devnet counted {counted}, the relays {dict(relayed)}")


async def new_payments(ground: Ground, count: int) -> list[Payment]:
    """`count` new payments, good from now on."""
    now = await ground.reader.latest()
    return await asyncio.to_thread(ground.press.payments, count, now=now)


def bodies_of(payments: Sequence[Payment]) -> list[str]:
    """Their requests, as a plan holds them."""
    return [base64.b64encode(each.body).decode() for each in payments]


def server_of(url: str) -> tuple[str, int]:
    """Host and port of a URL."""
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or 80


async def call(plan: Plan) -> Report:
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


async def burst(ground: Ground, side: Side, count: int) -> Run:
    """`count` payments at once, just after a ledger closed; each is answered or given up."""
    payments = await new_payments(ground, count)
    first, closed_at = await ground.next_close()
    start_at = closed_at + STARTS_S
    side.tap.reset()
    plan = Plan(
        servers=[server_of(side.url)],
        bodies=bodies_of(payments),
        in_flight=count,
        start_at=start_at,
        stop_at=start_at + CADENCE_S,
    )
    report = await call(plan)
    last = await ground.reader.latest()
    window = Window(range(first + 1, last + 1), start_at, time.monotonic(), [])
    landed = await ground.reader.landed(first, last)
    seen = Seen(side.tap.calls.copy(), None)
    run = run_of(side, payments, report.answers, landed, window, seen)
    say(f"burst of {count} on {side.name}: {len(run.paid)} paid, {run.failed} failed")
    return run
