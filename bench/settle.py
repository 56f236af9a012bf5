"""BENCH=settle: settlements a ledger with 1, 19 and 220 channels, and those of the npm facilitator.

Landed payments are read from the ledger, RPC calls are counted at the devnet. PLOT=path draws
a plot.
"""

import asyncio
import os
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.cores import Cores, divide_cores
from bench.facilitators import PEER
from bench.settle_capacity import admitted, envelope_parts, fill, usage_of
from bench.settle_drive import Load, burst, sustained
from bench.settle_peer import start_npm_facilitator
from bench.settle_plot import draw_ledgers
from bench.settle_run import Run
from bench.settle_setup import CADENCE_S, SettleSetup, open_settle_setup
from testing.horizon import HorizonStub
from testing.machine import say, scratch_folder
from testing.packages import install
from testing.report import limited, numbers_of, run_and_report, timed

_MANY: Final = 220
_SOME: Final = 19
_BURST: Final = 76
_BURST_SETTINGS: Final = {  # a burst of four payments a channel waits for three ledgers
    "FAREBOX_CHANNEL_WAIT_S": "60",
    "FAREBOX_SETTLE_DEADLINE_S": "120",
}
_PER_LEDGER_220: Final = 205
_P50_S: Final = 6.0
_P95_S: Final = 11.0
_RATIO_19: Final = 3.0
_RPC_PER_SETTLE: Final = 2.2
_MEMORY_MB: Final = 400.0
_AT_MOST_S: Final = 900.0


@dataclass(frozen=True, slots=True)
class Size:
    """The ledgers of the warm-up and of the measurement."""

    few: int
    few_warm: int
    many: int
    many_warm: int
    slp7: int  # 0: not at all
    slp7_warm: int
    has_single: bool


FULL: Final = Size(few=6, few_warm=1, many=20, many_warm=4, slp7=6, slp7_warm=4, has_single=True)
QUICK: Final = Size(few=2, few_warm=1, many=5, many_warm=1, slp7=0, slp7_warm=0, has_single=False)


@dataclass(slots=True)
class Measurements:
    """The runs of both facilitators, by number of channels or signers."""

    ours: dict[int, Run]
    theirs: dict[int, Run]
    our_burst: Run | None = None
    their_burst: Run | None = None
    memory_mb: float = 0.0
    ledger_bytes: int = 0  # of contract calls in one ledger, with mainnet's limits
    slp7: dict[str, object] | None = None
    slp7_run: Run | None = None


@timed
@limited(_AT_MOST_S)
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether the thresholds hold, and the figures."""
    size = QUICK if quick else FULL
    await asyncio.to_thread(install, PEER)
    cores = divide_cores()
    measurements = Measurements({}, {})
    with scratch_folder("farebox-bench-") as scratch:
        await _mainnet(measurements, scratch, cores, size)
        if size.slp7:
            await _slp7(measurements, scratch, cores, size)
    figures = _figures(measurements)
    if plot := os.environ.get("PLOT"):
        _draw(measurements, Path(plot))
    figures["one_core_each"] = cores.service is not None
    return _holds(figures), figures


async def _mainnet(measurements: Measurements, scratch: Path, cores: Cores, size: Size) -> None:
    async with AsyncExitStack() as stack:
        setup = await stack.enter_async_context(open_settle_setup(scratch, cores, payers=_MANY))
        horizon = HorizonStub(cadence_s=CADENCE_S)
        horizon_url = await stack.enter_async_context(horizon.serving())
        for count in (1, _SOME) if size.has_single else (_SOME,):
            await _side_by_side(measurements, setup, horizon_url, count, size)
        await _bursts(measurements, setup, horizon_url)
        await setup.create_channels(_MANY)
        measurements.ledger_bytes = (await setup.reader.limits()).transaction_bytes
        async with setup.start_farebox("farebox") as side:
            load = Load(side, _MANY)
            runs = await sustained(setup, [load], warm=size.many_warm, ledgers=size.many)
            measurements.ours[_MANY] = runs[0]
            measurements.memory_mb = side.peak_mb()


async def _side_by_side(
    measurements: Measurements, setup: SettleSetup, horizon_url: str, count: int, size: Size
) -> None:
    """Measure both facilitators at once, each with `count` accounts, far from a full ledger."""
    await setup.create_channels(count)
    async with (
        setup.start_farebox(f"farebox-{count}") as ours,
        start_npm_facilitator(setup, horizon_url, signers=count) as npm,
    ):
        loads = [Load(ours, count), Load(npm, count)]
        runs = await sustained(setup, loads, warm=size.few_warm, ledgers=size.few)
        measurements.ours[count], measurements.theirs[count] = runs


async def _bursts(measurements: Measurements, setup: SettleSetup, horizon_url: str) -> None:
    async with setup.start_farebox("farebox-burst", _BURST_SETTINGS) as side:
        measurements.our_burst = await burst(setup, side, _BURST)
    async with start_npm_facilitator(setup, horizon_url, signers=_SOME) as side:
        measurements.their_burst = await burst(setup, side, _BURST)


async def _slp7(measurements: Measurements, scratch: Path, cores: Cores, size: Size) -> None:
    """Measure as many channels as the limits of the SLP-7 proposal admit."""
    use = usage_of(measurements.ours[_MANY].landed)
    async with open_settle_setup(scratch, cores, payers=1000, limits="slp7") as setup:
        limits = await setup.reader.limits()
        channels = admitted(limits, use)
        say(f"slp7 admits {channels} settlements a ledger")
        await setup.create_channels(channels)
        async with setup.start_farebox("farebox") as side:
            load = Load(side, channels)
            runs = await sustained(setup, [load], warm=size.slp7_warm, ledgers=size.slp7)
            measurements.slp7_run = runs[0]
            used = fill(runs[0].landed, runs[0].ledgers, limits)
            measurements.slp7 = {
                "channels": channels,
                "fill": used,
                "binds": [name for name in used if used[name] == max(used.values())],
                "memory_mb": side.peak_mb(),
                **runs[0].figures(),
            }


def _figures(measurements: Measurements) -> dict[str, object]:
    many = measurements.ours[_MANY]
    all_runs = [
        *measurements.ours.values(),
        *(each for each in (measurements.our_burst, measurements.slp7_run) if each),
    ]
    ours, npm = measurements.our_burst, measurements.their_burst
    ratio = _share(ours) / _share(npm) if ours and npm and _share(npm) else 0.0
    fills = measurements.slp7["fill"] if measurements.slp7 else None
    return {
        "per_ledger_1": _rate(measurements.ours, 1),
        "per_ledger_19": _rate(measurements.ours, _SOME),
        "per_ledger_220": many.per_ledger,
        "per_ledger_220_min": min(many.series),
        "npm_per_ledger_1": _rate(measurements.theirs, 1),
        "npm_per_ledger_19": _rate(measurements.theirs, _SOME),
        "sequence_errors": sum(each.sequence_errors for each in all_runs),
        "failed": sum(each.failed for each in all_runs),
        "p50_s": many.latency_s(0.5),
        "p95_s": many.latency_s(0.95),
        "ratio_19": round(ratio, 2),
        "rpc_per_settle": many.rpc_per_settle,
        "npm_rpc_per_settle": measurements.theirs[_SOME].rpc_per_settle,
        "memory_mb": measurements.memory_mb,
        "fill_slp7": max(fills.values()) if isinstance(fills, dict) else None,
        "envelope": envelope_parts(many.landed),
        "ledger_bytes": measurements.ledger_bytes,
        "envelopes_per_ledger": measurements.ledger_bytes // envelope_parts(many.landed)["bytes"],
        "burst": {each.side: _burst_figures(each) for each in (ours, npm) if each},
        "ours": {str(count): each.figures() for count, each in measurements.ours.items()},
        "npm": {str(count): each.figures() for count, each in measurements.theirs.items()},
        "slp7": measurements.slp7,
    }


def _draw(measurements: Measurements, path: Path) -> None:
    """Draw the runs with mainnet's limits and the byte limit of a ledger."""
    series = {
        _series_name("farebox", "channel", n): run.whole_series
        for n, run in measurements.ours.items()
    }
    npm = {
        _series_name("npm", "signer", n): run.whole_series for n, run in measurements.theirs.items()
    }
    ceiling = measurements.ledger_bytes // envelope_parts(measurements.ours[_MANY].landed)["bytes"]
    draw_ledgers(
        path,
        series | npm,
        dotted=frozenset(npm),
        ceiling=ceiling,
        ceiling_name="the ledger's byte limit",
    )
    say(f"drawn to {path}")


def _series_name(side: str, source: str, count: int) -> str:
    return f"{side}, {count} {source}{'s' if count > 1 else ''}"


def _rate(runs: dict[int, Run], count: int) -> float | None:
    return runs[count].per_ledger if count in runs else None


def _share(run: Run) -> float:
    return len(run.paid) / len(run.answers)


def _burst_figures(run: Run) -> dict[str, object]:
    times = sorted(each.answered_at - each.sent_at for each in run.paid)
    return {
        "paid": len(run.paid),
        "of": len(run.answers),
        "first_s": round(times[0], 2) if times else None,
        "median_s": round(times[len(times) // 2], 2) if times else None,
        "last_s": round(times[-1], 2) if times else None,
        "settings": dict(_BURST_SETTINGS) if run.side.startswith("farebox") else {},
        "reasons": run.figures()["reasons"],
        "send_answers": dict(run.sends),
    }


def _holds(figures: dict[str, object]) -> bool:
    number = numbers_of(figures)
    return (
        number("per_ledger_220") >= _PER_LEDGER_220
        and number("sequence_errors") == 0
        and number("failed") == 0
        and number("p50_s") <= _P50_S
        and number("p95_s") <= _P95_S
        and number("ratio_19") >= _RATIO_19
        and number("rpc_per_settle") <= _RPC_PER_SETTLE
        and number("memory_mb") < _MEMORY_MB
    )


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
