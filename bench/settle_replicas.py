"""BENCH=settle-replicas: two replicas on one pool of channels; then one is killed under load."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Final

from bench.cores import divide_cores
from bench.settle_aftermath import Aftermath, aftermath, journal_rows
from bench.settle_drive import (
    STARTS_S,
    Load,
    bodies_of,
    call,
    new_payments,
    server_of,
    sustained,
)
from bench.settle_ground import CADENCE_S, Ground, Side, ground
from bench.settle_load import Plan
from bench.settle_run import Run, Seen, Window, run_of
from e2e.ending import end_with_figures
from e2e.machine import OurProcess, RunFailed, say, scratch_folder

_CHANNELS: Final = 220
_NAMES: Final = ("farebox-a", "farebox-b")
_SEND: Final = "sendTransaction"
_LOOK_S: Final = 0.005
_PATIENCE_S: Final = 120.0
_RATIO_SLACK: Final = 0.05
_AT_MOST_S: Final = 480.0


@dataclass(frozen=True, slots=True)
class Size:
    """Ledgers of each part: warming up, measured, and under load before and after the kill."""

    warm: int
    measured: int
    before_kill: int
    after_kill: int
    settings: Mapping[str, str]  # shorter lives end sooner


FULL: Final = Size(warm=3, measured=8, before_kill=4, after_kill=18, settings={})
QUICK: Final = Size(
    warm=1,
    measured=2,
    before_kill=1,
    after_kill=2,
    settings={"FAREBOX_TRANSACTION_LIFE_S": "20", "FAREBOX_SETTLE_DEADLINE_S": "25"},
)


async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Whether what is promised holds, and the figures."""
    size = QUICK if quick else FULL
    began = time.monotonic()
    try:
        async with asyncio.timeout(_AT_MOST_S):
            figures = await _replicas(size)
    except TimeoutError as error:
        raise RunFailed(f"the bench took more than {_AT_MOST_S:g} s") from error
    figures["seconds"] = round(time.monotonic() - began, 1)
    holds = (
        abs(float(str(figures["total_ratio"])) - 1) <= _RATIO_SLACK
        and figures["sequence_errors"] == 0
        and figures["lost_after_kill"] == 0
    )
    return holds, figures


async def _replicas(size: Size) -> dict[str, object]:
    cores = divide_cores()
    with scratch_folder("farebox-bench-") as scratch:
        async with AsyncExitStack() as stack:
            here = await stack.enter_async_context(ground(scratch, cores, payers=_CHANNELS))
            await here.create_channels(_CHANNELS)
            first = await stack.enter_async_context(here.ours_process(_NAMES[0], size.settings))
            alone = (await _measured(here, [Load(first[0], _CHANNELS)], size))[0]
            second = await stack.enter_async_context(here.ours_process(_NAMES[1], size.settings))
            half = _CHANNELS // 2
            both = await _measured(here, [Load(first[0], half), Load(second[0], half)], size)
            killed = await _one_killed(here, first, second[0], size)
            rows = await journal_rows(here.database, within_s=_PATIENCE_S)
            after = aftermath(killed, rows)
    figures = _figures(alone, both, killed, after)
    under_load = killed.series[size.before_kill + 1 : size.before_kill + size.after_kill]
    level = alone.per_ledger * (1 - _RATIO_SLACK)
    return figures | {"ledgers_below_level": sum(count < level for count in under_load)}


async def _measured(here: Ground, loads: list[Load], size: Size) -> list[Run]:
    return await sustained(here, loads, warm=size.warm, ledgers=size.measured)


async def _one_killed(
    here: Ground, victim: tuple[Side, OurProcess], survivor: Side, size: Size
) -> Run:
    """Kill a replica under load; callers whose connection breaks go on at the other."""
    ledgers = size.before_kill + size.after_kill
    payments = await new_payments(here, _CHANNELS * (ledgers + 2))
    sides = (victim[0], survivor)
    for side in sides:
        side.tap.reset()
    first, closed_at = await here.next_close()
    end = closed_at + CADENCE_S * (1 + ledgers)
    plan = Plan(
        servers=[server_of(side.url) for side in sides],
        bodies=bodies_of(payments),
        in_flight=_CHANNELS,
        start_at=closed_at + STARTS_S,
        stop_at=end,
        patience_s=_PATIENCE_S,
    )
    callers = asyncio.create_task(call(plan))
    try:
        await asyncio.sleep(closed_at + CADENCE_S * (1 + size.before_kill) - time.monotonic())
        await _half_sent(victim[0])
        victim[1].process.kill()
        say(f"{victim[0].name} is killed")
        report = await callers
    finally:
        callers.cancel()
    last, _ = await here.next_close()
    landed = await here.reader.landed(first, last)
    window = Window(range(first + 1, last + 1), plan.start_at, end, [])
    seen = Seen(sum((side.tap.calls for side in sides), Counter[str]()), None)
    run = run_of(survivor, payments, report.answers, landed, window, seen)
    return replace(
        run,
        sends=sum((side.tap.sends for side in sides), Counter[str]()),
        bad_sequences=[each for side in sides for each in side.tap.bad_sequences],
    )


async def _half_sent(side: Side) -> None:
    """Return once the replica has sent half of what it has for the next ledger."""
    until = time.monotonic() + CADENCE_S
    wanted = side.tap.calls[_SEND] + _CHANNELS // 4
    while side.tap.calls[_SEND] < wanted:
        if time.monotonic() > until:
            raise RunFailed(f"{side.name} sent too little to be killed over it")
        await asyncio.sleep(_LOOK_S)


def _figures(alone: Run, both: list[Run], killed: Run, after: Aftermath) -> dict[str, object]:
    total = sum(each.per_ledger for each in both)
    every = [alone, *both, killed]
    return {
        "total_ratio": round(total / alone.per_ledger, 4) if alone.per_ledger else 0.0,
        "sequence_errors": sum(each.sequence_errors for each in every),
        "lost_after_kill": after.lost,
        "per_ledger_one": alone.per_ledger,
        "per_ledger_two": round(total, 2),
        "failed_before_kill": sum(each.failed for each in (alone, *both)),
        "after_kill": after.figures(),
        "one": alone.figures(),
        "two": [each.figures() for each in both],
        "killed": killed.figures(),
    }


if __name__ == "__main__":
    raise SystemExit(end_with_figures(run))
