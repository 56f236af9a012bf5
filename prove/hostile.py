"""`make prove PROOF=hostile`: hostile clients do not keep others from paying.

SEEDS=5 for the whole proof, QUICK=1 for a minute and a half; SEED=n repeats one seed.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from prove.fork_server import ForkServer
from prove.hostile_case import Case, Outcome, run_case
from prove.hostile_control import unbounded_sources
from prove.hostile_kinds import Hostility
from prove.world import World, open_world
from testing.machine import say, scratch_folder, subfolder
from testing.report import run_and_report

MEMORY_GROWTH_MB: Final = 100
HEALTH_P95_MS: Final = 200
OPEN_AFTER_S: Final = 30
LOOP_STALL_MS: Final = 50
CONTROL: Final = Case(
    0,
    connections=24,
    seconds=12.0,
    judged=1,
    kinds=(Hostility.FIELDS, Hostility.DEAF),
    stops_at_mb=300,
)
_SEEDS: Final = 5


def plan_cases(*, is_quick: bool) -> list[Case]:
    """Plan one case for each seed."""
    if "SEED" in os.environ:
        seeds = [int(os.environ["SEED"])]
    else:
        seeds = list(range(1, 1 + int(os.environ.get("SEEDS", 1 if is_quick else _SEEDS))))
    if is_quick:
        return [Case(seed, connections=400, seconds=5.0, judged=28) for seed in seeds]
    return [Case(seed, connections=2_000, seconds=20.0, judged=140) for seed in seeds]


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    outcomes = []
    with scratch_folder("fbx-prove-") as folder:
        async with open_world(subfolder(folder, "real")) as world:
            for case in plan_cases(is_quick=is_quick):
                outcomes.append(await run_case(world, case))
                say(str(outcomes[-1]))
            figures = figures_of(outcomes)
            if "SEED" in os.environ:
                return holds(figures), figures
            figures["control_caught"] = is_caught(await run_control(world, folder))
    return holds(figures) and figures["control_caught"] is True, figures


async def run_control(world: World, folder: Path) -> Outcome:
    """Run the build that must fail."""
    async with ForkServer(unbounded_sources(subfolder(folder, "control"))) as unbounded:
        outcome = await run_case(replace(world, fork_server=unbounded), CONTROL)
    say(f"control: {outcome}")
    return outcome


def is_caught(control: Outcome) -> bool:
    """Whether its memory grows and its loop is held up."""
    return control.memory_growth_mb > MEMORY_GROWTH_MB and control.loop_stall_ms > LOOP_STALL_MS


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Return the worst figures of all outcomes, and the totals."""
    return {
        "honest_failed": sum(len(each.honest_failed) for each in outcomes),
        "health_failed": sum(each.health_failed for each in outcomes),
        "memory_growth_mb": max(each.memory_growth_mb for each in outcomes),
        "health_p95_ms": max(each.health_p95_ms for each in outcomes),
        "health_p95_raw_ms": max(each.health_p95_raw_ms for each in outcomes),
        "open_after_s": max(each.open_after_s for each in outcomes),
        "left_open": sum(each.left_open for each in outcomes),
        "loop_stall_ms_max": max(each.loop_stall_ms for each in outcomes),
        "attack_stall_ms_max": max(each.attack_stall_ms for each in outcomes),
        "honest": sum(each.honest for each in outcomes),
        "judged": sum(each.judged for each in outcomes),
        "connections": sum(each.report.opened for each in outcomes),
        "seeds": len(outcomes),
    }


def holds(figures: dict[str, object]) -> bool:
    """Whether every figure is within its bound."""

    def most(key: str, bound: float) -> bool:
        return float(str(figures[key])) <= bound

    return (
        most("honest_failed", 0)
        and most("health_failed", 0)
        and most("left_open", 0)
        and most("memory_growth_mb", MEMORY_GROWTH_MB)
        and most("health_p95_ms", HEALTH_P95_MS)
        and most("open_after_s", OPEN_AFTER_S)
        and most("loop_stall_ms_max", LOOP_STALL_MS)
    )


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
