"""BENCH=nodes: bytes read from a node whose ledgers are full, idle and for each settlement.

A ledger of mainnet's size every five seconds; beside this checkout's service that of commit
82b18cf, each with a database and channels of its own on the same devnet.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bench.cores import divide_cores
from bench.nodes_ground import BEFORE, earlier_ground, exported_sources
from bench.settle_drive import Load, sustained
from bench.settle_ground import CADENCE_S, Ground, Side, ground
from bench.settle_run import Run
from e2e.ending import end_with_figures
from e2e.machine import RunFailed, say, scratch_folder

IDLE_KB_PER_MINUTE: Final = 200.0
META_BYTES: Final = 2_800_000  # of a full ledger of mainnet
_MANY: Final = 200
_AT_MOST_S: Final = 900.0
_QUIET_S: Final = 12.0  # what a start asks for is done by then


@dataclass(frozen=True, slots=True)
class Size:
    """Seconds without a caller, and ledgers that are measured after those that warm up."""

    idle_s: float
    warm: int
    ledgers: int


FULL: Final = Size(idle_s=60.0, warm=2, ledgers=6)
QUICK: Final = Size(idle_s=20.0, warm=1, ledgers=2)


@dataclass(frozen=True, slots=True)
class Read:
    """What one service read from the node."""

    idle_s: float
    idle: Mapping[str, int]  # bytes by method
    runs: Mapping[int, Run]  # by settlements in flight

    @property
    def idle_kb_per_minute(self) -> float:
        """Thousand bytes a minute while nobody asked for anything."""
        return round(sum(self.idle.values()) / 1000 * 60 / self.idle_s, 1)

    def figures(self, suffix: str = "") -> dict[str, object]:
        """The numbers of the last line."""
        figures: dict[str, object] = {f"idle_kb_per_minute{suffix}": self.idle_kb_per_minute}
        for count, run in self.runs.items():
            figures[f"kb_per_settlement_{count}{suffix}"] = run.kb_per_settle
        for count, run in self.runs.items():
            figures[f"rpc_per_settle_{count}{suffix}"] = run.rpc_per_settle
        return figures

    def detail(self) -> dict[str, object]:
        """The bytes by method, and what was settled."""
        return {
            "idle": dict(self.idle),
            **{
                str(count): {"bytes": dict(run.bytes), "failed": run.failed, "ledgers": run.series}
                for count, run in self.runs.items()
            },
        }


async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Whether what is promised holds, and the figures."""
    size = QUICK if quick else FULL
    began = time.monotonic()
    cores = divide_cores()
    try:
        async with asyncio.timeout(_AT_MOST_S):
            with scratch_folder("farebox-bench-") as scratch:
                sources = await exported_sources(scratch)
                async with ground(
                    scratch, cores, payers=_MANY, ledger_meta_bytes=META_BYTES
                ) as here:
                    now = await _read_by(here, "farebox", size)
                    earlier = await earlier_ground(here, sources)
                    before = await _read_by(earlier, f"farebox-{BEFORE}", size)
    except TimeoutError as error:
        raise RunFailed(f"the bench took more than {_AT_MOST_S:g} s") from error
    figures = figures_of(now, before)
    figures["one_core_each"] = cores.service is not None
    figures["seconds"] = round(time.monotonic() - began, 1)
    return holds(now), figures


async def _read_by(here: Ground, name: str, size: Size) -> Read:
    """One service alone on the devnet: idle, then with one and with many settlements a ledger."""
    await here.create_channels(_MANY)
    async with here.ours(name) as side:
        idle = await _idle(side, size)
        runs = {}
        for count in (1, _MANY):
            load = Load(side, count)
            runs[count] = (await sustained(here, [load], warm=size.warm, ledgers=size.ledgers))[0]
            say(f"{name}, {count} a ledger: {runs[count].kb_per_settle} KB a settlement")
    return Read(size.idle_s, idle, runs)


async def _idle(side: Side, size: Size) -> dict[str, int]:
    """Bytes by method while nobody asks for anything, ledgers closing all the time."""
    await asyncio.sleep(_QUIET_S + CADENCE_S)
    side.tap.reset()
    await asyncio.sleep(size.idle_s)
    read = dict(side.tap.bytes)
    say(f"{side.name}, idle for {size.idle_s:g} s: {sum(read.values()) / 1000:.1f} KB")
    return read


def figures_of(now: Read, before: Read) -> dict[str, object]:
    """What is printed last: this checkout's figures, then those of the commit before."""
    suffix = f"_{BEFORE}"
    return {
        **now.figures(),
        **before.figures(suffix),
        "read": now.detail(),
        f"read{suffix}": before.detail(),
    }


def holds(now: Read) -> bool:
    """Whether an idle service reads little, and everything was settled."""
    is_settled = all(not run.failed and sum(run.series) for run in now.runs.values())
    return now.idle_kb_per_minute <= IDLE_KB_PER_MINUTE and is_settled


if __name__ == "__main__":
    raise SystemExit(end_with_figures(run))
