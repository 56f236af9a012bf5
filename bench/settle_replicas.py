"""BENCH=settle-replicas: two replicas on one pool of channels; then one is killed under load."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Final

from bench.cores import divide_cores
from bench.settle_audit import PaymentAudit, audit_payments, read_journal
from bench.settle_drive import (
    STARTS_S,
    Load,
    bodies_of,
    new_payments,
    run_load_generator,
    server_of,
    sustained,
)
from bench.settle_load import Plan
from bench.settle_run import Run, Window, WindowUsage, build_run
from bench.settle_setup import CADENCE_S, MeasuredFacilitator, SettleSetup, open_settle_setup
from testing.machine import OurProcess, say, scratch_folder, wait_until
from testing.report import limited, run_and_report, timed

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
    settings: Mapping[str, str]  # short lifetimes, to end sooner


FULL: Final = Size(warm=3, measured=8, before_kill=4, after_kill=18, settings={})
QUICK: Final = Size(
    warm=1,
    measured=2,
    before_kill=1,
    after_kill=2,
    settings={"FAREBOX_TRANSACTION_LIFE_S": "20", "FAREBOX_SETTLE_DEADLINE_S": "25"},
)


@timed
@limited(_AT_MOST_S)
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether the thresholds hold, and the figures."""
    size = QUICK if quick else FULL
    figures = await _replicas(size)
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
            setup = await stack.enter_async_context(
                open_settle_setup(scratch, cores, payers=_CHANNELS)
            )
            await setup.create_channels(_CHANNELS)
            first = await stack.enter_async_context(
                setup.start_farebox_process(_NAMES[0], size.settings)
            )
            alone = (await _measured(setup, [Load(first[0], _CHANNELS)], size))[0]
            second = await stack.enter_async_context(
                setup.start_farebox_process(_NAMES[1], size.settings)
            )
            half = _CHANNELS // 2
            both = await _measured(setup, [Load(first[0], half), Load(second[0], half)], size)
            killed = await _kill_one(setup, first, second[0], size)
            rows = await read_journal(setup.database, within_s=_PATIENCE_S)
            audit = audit_payments(killed, rows)
    figures = _figures(alone, both, killed, audit)
    under_load = killed.series[size.before_kill + 1 : size.before_kill + size.after_kill]
    level = alone.per_ledger * (1 - _RATIO_SLACK)
    return figures | {"ledgers_below_level": sum(count < level for count in under_load)}


async def _measured(setup: SettleSetup, loads: list[Load], size: Size) -> list[Run]:
    return await sustained(setup, loads, warm=size.warm, ledgers=size.measured)


async def _kill_one(
    setup: SettleSetup,
    victim: tuple[MeasuredFacilitator, OurProcess],
    survivor: MeasuredFacilitator,
    size: Size,
) -> Run:
    """Kill a replica under load; callers whose connection breaks continue at the other."""
    ledgers = size.before_kill + size.after_kill
    payments = await new_payments(setup, _CHANNELS * (ledgers + 2))
    sides = (victim[0], survivor)
    for side in sides:
        side.relay.reset()
    first, closed_at = await setup.next_close()
    end = closed_at + CADENCE_S * (1 + ledgers)
    plan = Plan(
        servers=[server_of(side.url) for side in sides],
        bodies=bodies_of(payments),
        in_flight=_CHANNELS,
        start_at=closed_at + STARTS_S,
        stop_at=end,
        patience_s=_PATIENCE_S,
    )
    callers = asyncio.create_task(run_load_generator(plan))
    try:
        await asyncio.sleep(closed_at + CADENCE_S * (1 + size.before_kill) - time.monotonic())
        await _wait_until_half_sent(victim[0])
        victim[1].process.kill()
        say(f"{victim[0].name} is killed")
        report = await callers
    finally:
        callers.cancel()
    last, _ = await setup.next_close()
    landed = await setup.reader.landed(first, last)
    window = Window(range(first + 1, last + 1), plan.start_at, end, [])
    usage = WindowUsage(sum((side.relay.calls for side in sides), Counter[str]()), None)
    run = build_run(survivor, payments, report.answers, landed, window, usage)
    return replace(
        run,
        sends=sum((side.relay.sends for side in sides), Counter[str]()),
        bad_sequences=[each for side in sides for each in side.relay.bad_sequences],
    )


async def _wait_until_half_sent(side: MeasuredFacilitator) -> None:
    """Return once the replica has sent half of its transactions for the next ledger."""
    wanted = side.relay.calls[_SEND] + _CHANNELS // 4
    what = f"{side.name} sends {_CHANNELS // 4} transactions before the kill"
    await wait_until(
        lambda: side.relay.calls[_SEND] >= wanted, what, within_s=CADENCE_S, pause_s=_LOOK_S
    )


def _figures(alone: Run, both: list[Run], killed: Run, audit: PaymentAudit) -> dict[str, object]:
    total = sum(each.per_ledger for each in both)
    all_runs = [alone, *both, killed]
    return {
        "total_ratio": round(total / alone.per_ledger, 4) if alone.per_ledger else 0.0,
        "sequence_errors": sum(each.sequence_errors for each in all_runs),
        "lost_after_kill": audit.lost,
        "per_ledger_one": alone.per_ledger,
        "per_ledger_two": round(total, 2),
        "failed_before_kill": sum(each.failed for each in (alone, *both)),
        "after_kill": audit.figures(),
        "one": alone.figures(),
        "two": [each.figures() for each in both],
        "killed": killed.figures(),
    }


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
