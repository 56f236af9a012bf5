"""`make prove PROOF=nodes`: no valid payment is refused, failed, doubled or lost by a faulty node.

SEEDS=20 for the whole proof, QUICK=1 for less than a minute; SEED=n KIND=lag repeats one case.
"""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from farebox.local.faults import LocalFault
from prove.concurrency import run_concurrently
from prove.fork_server import ForkServer
from prove.nodes_case import RECOVERED_MS, Case, Outcome, run_case
from prove.nodes_control import CASES as CASES_OF
from prove.nodes_control import Control, broken_sources
from prove.nodes_faults import Kind
from prove.nodes_verdict import Violation
from prove.world import World, open_world
from testing.machine import RunFailed, say, scratch_folder, subfolder
from testing.report import run_and_report

CASES: Final = 300
_SEEDS: Final = 20
_WORLDS: Final = 3
_WORKERS_PER_WORLD: Final = 3
_CONTROL_ROUNDS: Final = 4
_LATER_SEEDS: Final = 10


def plan_cases(seeds: int) -> list[Case]:
    """Plan every kind under every seed, or the one case that SEED and KIND name."""
    kind = os.environ.get("KIND")
    if kind is not None:
        if kind.upper() not in Kind.__members__:
            raise RunFailed(f"KIND is one of {', '.join(Kind.__members__).lower()}")
        return [Case(int(os.environ.get("SEED", "1")), Kind[kind.upper()])]
    return [Case(seed, each) for seed in range(1, seeds + 1) for each in Kind]


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    seeds = int(os.environ.get("SEEDS", 1 if is_quick else _SEEDS))
    is_replay = "KIND" in os.environ
    cases = plan_cases(seeds)
    with scratch_folder("fbx-prove-") as folder:
        async with open_worlds(folder, 1 if is_replay else _WORLDS) as worlds:
            results = await run_cases(worlds, folder, cases, () if is_replay else tuple(Control))
    figures = figures_of(results.outcomes)
    if is_replay:
        say(", ".join(results.outcomes[0].answers))
        return holds(figures), figures
    figures["control_caught"] = results.are_controls_caught
    is_whole = is_quick or seeds < _SEEDS or len(cases) >= CASES
    return holds(figures) and results.are_controls_caught and is_whole, figures


@asynccontextmanager
async def open_worlds(folder: Path, count: int = _WORLDS) -> AsyncIterator[list[World]]:
    """Open worlds with a database server each, enough for three concurrent cases."""
    async with AsyncExitStack() as opened:
        folders = [subfolder(folder, f"world-{number}") for number in range(count)]
        opening_worlds = (opened.enter_async_context(open_world(each)) for each in folders)
        yield list(await asyncio.gather(*opening_worlds))


@dataclass(frozen=True, slots=True)
class Results:
    """The outcomes of the cases and of the controls."""

    outcomes: Sequence[Outcome]
    controls: Mapping[Control, Sequence[Outcome]]

    def is_caught(self, control: Control) -> bool:
        """Whether the control fails one of its cases."""
        return any(each.is_failed for each in self.controls[control])

    @property
    def are_controls_caught(self) -> bool:
        """Whether every control fails."""
        return all(map(self.is_caught, self.controls))


async def run_cases(
    worlds: list[World], folder: Path, cases: Sequence[Case], controls: Sequence[Control]
) -> Results:
    """Run every case, and those of every control with its build, a few at a time in each world."""
    free_worlds: asyncio.Queue[World] = asyncio.Queue()
    for world in worlds * _WORKERS_PER_WORLD:
        free_worlds.put_nowait(world)
    async with AsyncExitStack() as opened:
        builds: dict[Control | None, ForkServer] = {}
        for control in controls:
            sources = broken_sources(subfolder(folder, control.name.lower()), control)
            builds[control] = await opened.enter_async_context(ForkServer(sources))

        async def one(item: tuple[Case, Control | None]) -> Outcome:
            case, control = item
            world = await free_worlds.get()
            try:
                build = builds.get(control, world.fork_server)
                return await _run_one(replace(world, fork_server=build), case, control)
            finally:
                free_worlds.put_nowait(world)

        items: list[tuple[Case, Control | None]]
        items = [(case, control) for control in controls for case in CASES_OF[control]]
        items += [(case, None) for case in cases]
        outcomes = await run_concurrently(items, one, workers=free_worlds.qsize(), label="cases")
        by_build: dict[Control | None, list[Outcome]] = {build: [] for build in (*controls, None)}
        for (_, build), outcome in zip(items, outcomes, strict=True):
            by_build[build].append(outcome)
        results = Results(by_build.pop(None), {each: by_build[each] for each in controls})
        for control in controls:
            for case in _later_cases(control):
                if not results.is_caught(control):
                    by_build[control].append(await one((case, control)))
    return results


def _later_cases(control: Control) -> list[Case]:
    """Plan cases for a control that its first ones missed: a defect shows by chance."""
    return [
        replace(case, seed=case.seed + _LATER_SEEDS * turn)
        for turn in range(1, _CONTROL_ROUNDS)
        for case in CASES_OF[control]
    ]


async def _run_one(world: World, case: Case, control: Control | None) -> Outcome:
    began = time.monotonic()
    try:
        outcome = await run_case(world, case)
    except (LocalFault, RunFailed) as fault:
        raise RunFailed(f"{case} could not be run: {fault}") from fault
    result = "FAILED" if outcome.is_failed else "passed"
    named = f"control ({control}) " if control is not None else ""
    took_s = time.monotonic() - began
    print(f"{named}{result} in {took_s:.0f} s: {outcome}", file=sys.stderr, flush=True)
    return outcome


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Sum up all outcomes."""
    counted = Counter(each.violation for outcome in outcomes for each in outcome.findings)
    return {
        **{violation.value: counted[violation] for violation in Violation},
        "recovered_ms_max": max(each.recovered_ms for each in outcomes),
        "cases": len(outcomes),
    }


def holds(figures: dict[str, object]) -> bool:
    """Whether there is no finding and every replica recovered in time."""
    recovered_ms = int(str(figures["recovered_ms_max"]))
    return not any(figures[violation] for violation in Violation) and recovered_ms <= RECOVERED_MS


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
