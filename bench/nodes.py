"""BENCH=nodes: bytes read from a node whose ledgers are full, idle and for each settlement.

A ledger of mainnet's size closes every five seconds. This checkout's service and that of commit
82b18cf run on the same devnet, each with a database and channels of its own.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bench.cores import divide_cores
from bench.nodes_setup import BEFORE, export_sources, open_earlier_setup
from bench.settle_drive import Load, sustained
from bench.settle_run import Run
from bench.settle_setup import CADENCE_S, MeasuredFacilitator, SettleSetup, open_settle_setup
from testing.machine import say, scratch_folder
from testing.report import limited, run_and_report, timed

IDLE_KB_PER_MINUTE: Final = 200.0
META_BYTES: Final = 2_800_000  # of a full ledger of mainnet
_MANY: Final = 200
_AT_MOST_S: Final = 900.0
_QUIET_S: Final = 12.0  # the calls of a start are done by then


@dataclass(frozen=True, slots=True)
class Size:
    """The idle seconds, and the ledgers of the warm-up and of the measurement."""

    idle_s: float
    warm: int
    ledgers: int


FULL: Final = Size(idle_s=60.0, warm=2, ledgers=6)
QUICK: Final = Size(idle_s=20.0, warm=1, ledgers=2)


@dataclass(frozen=True, slots=True)
class NodeTraffic:
    """The bytes that one service read from the node."""

    idle_s: float
    idle: Mapping[str, int]  # bytes by method
    runs: Mapping[int, Run]  # by settlements in flight

    @property
    def idle_kb_per_minute(self) -> float:
        """Thousand bytes a minute without requests."""
        return round(sum(self.idle.values()) / 1000 * 60 / self.idle_s, 1)

    def figures(self, suffix: str = "") -> dict[str, object]:
        """Return the figures of the last line."""
        figures: dict[str, object] = {f"idle_kb_per_minute{suffix}": self.idle_kb_per_minute}
        for count, run in self.runs.items():
            figures[f"kb_per_settlement_{count}{suffix}"] = run.kb_per_settle
        for count, run in self.runs.items():
            figures[f"rpc_per_settle_{count}{suffix}"] = run.rpc_per_settle
        return figures

    def detail(self) -> dict[str, object]:
        """Return the bytes by method, and the settlements."""
        return {
            "idle": dict(self.idle),
            **{
                str(count): {"bytes": dict(run.bytes), "failed": run.failed, "ledgers": run.series}
                for count, run in self.runs.items()
            },
        }


@timed
@limited(_AT_MOST_S)
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether the thresholds hold, and the figures."""
    size = QUICK if quick else FULL
    cores = divide_cores()
    with scratch_folder("farebox-bench-") as scratch:
        sources = await export_sources(scratch)
        async with open_settle_setup(
            scratch, cores, payers=_MANY, ledger_meta_bytes=META_BYTES
        ) as setup:
            now = await _measure_service(setup, "farebox", size)
            earlier = await open_earlier_setup(setup, sources)
            before = await _measure_service(earlier, f"farebox-{BEFORE}", size)
    figures = figures_of(now, before)
    figures["one_core_each"] = cores.service is not None
    return holds(now), figures


async def _measure_service(setup: SettleSetup, name: str, size: Size) -> NodeTraffic:
    """Measure one service: idle, then with one and with many settlements a ledger."""
    await setup.create_channels(_MANY)
    async with setup.start_farebox(name) as side:
        idle = await _idle(side, size)
        runs = {}
        for count in (1, _MANY):
            load = Load(side, count)
            runs[count] = (await sustained(setup, [load], warm=size.warm, ledgers=size.ledgers))[0]
            say(f"{name}, {count} a ledger: {runs[count].kb_per_settle} KB a settlement")
    return NodeTraffic(size.idle_s, idle, runs)


async def _idle(side: MeasuredFacilitator, size: Size) -> dict[str, int]:
    """Measure the bytes by method without requests, while ledgers close."""
    await asyncio.sleep(_QUIET_S + CADENCE_S)
    side.relay.reset()
    await asyncio.sleep(size.idle_s)
    read = dict(side.relay.bytes)
    say(f"{side.name}, idle for {size.idle_s:g} s: {sum(read.values()) / 1000:.1f} KB")
    return read


def figures_of(now: NodeTraffic, before: NodeTraffic) -> dict[str, object]:
    """Return this checkout's figures, then those of the earlier commit."""
    suffix = f"_{BEFORE}"
    return {
        **now.figures(),
        **before.figures(suffix),
        "read": now.detail(),
        f"read{suffix}": before.detail(),
    }


def holds(now: NodeTraffic) -> bool:
    """Whether an idle service reads little, and everything was settled."""
    is_settled = all(not run.failed and sum(run.series) for run in now.runs.values())
    return now.idle_kb_per_minute <= IDLE_KB_PER_MINUTE and is_settled


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
