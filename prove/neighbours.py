"""`make prove PROOF=neighbours`: one caller cannot harm another.

SEEDS=20 for the whole proof, QUICK=1 for three minutes; SEED=n CASE=k repeats one case.
"""

import asyncio
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from farebox.local.certificates import Authority
from prove.automation_world import AutomationWorld, open_automation_world
from prove.neighbours_attackers import Attack
from prove.neighbours_case import (
    MEMORY_MOST_MB,
    RATIO_MOST,
    NeighboursCase,
    NeighboursOutcome,
    run_case,
)
from prove.neighbours_control import CONTROLS, TIMED, TIMED_CONTROLS, NeighboursControl
from prove.neighbours_ground import Origin
from prove.outcome import name_failing
from prove.run_cases import (
    SEEDS,
    Wanted,
    are_controls_caught,
    check_any,
    read_wanted,
    run_cases,
)
from prove.world import World
from testing.machine import scratch_folder, subfolder
from testing.report import run_and_report

_ATTACKERS: Final = 20  # at least, of a whole run
CHANNELS: Final = 8  # an attacker is to take them all, and not the machine
WORKERS: Final = 3  # of controls; cases are measured one after another
_QUICK: Final = (Attack.MISSING, Attack.HANGING, Attack.AGENT_CALLS)


def draw_cases(seed: int) -> list[NeighboursCase]:
    """Draw the cases of a seed: one or two single attackers, and a pair.

    Twenty seeds play every attacker alone.
    """
    rng = random.Random(f"neighbours {seed}")
    attacks = list(Attack)
    alone = [attacks[(seed - 1) % len(attacks)]]
    if SEEDS + seed <= len(attacks):
        alone.append(attacks[SEEDS + seed - 1])
    groups = [*((each,) for each in alone), tuple(rng.sample(attacks, 2))]
    return [
        NeighboursCase(seed, number, group, rng.choice(list(Origin)))
        for number, group in enumerate(groups, 1)
    ]


def plan_cases(wanted: Wanted) -> list[NeighboursCase]:
    """Plan the cases of a run, or the one case that SEED and CASE name."""

    def quick() -> list[NeighboursCase]:
        pairs = zip(_QUICK, Origin, strict=True)
        return [NeighboursCase(0, n, (each,), of) for n, (each, of) in enumerate(pairs, 1)]

    return wanted.numbered(draw_cases, quick=quick)


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    wanted = read_wanted(is_quick)
    cases = plan_cases(wanted)
    check_any(cases)
    with scratch_folder("fbx-prove-") as folder:
        authority = Authority(folder)
        sources = TIMED.write(subfolder(folder, "timed"))
        async with open_automation_world(
            subfolder(folder, "real"), sources=sources, channels=CHANNELS, workers=WORKERS
        ) as world:
            outcomes = await run_cases(cases, partial(run_case, world, authority), workers=1)
            caught = wanted.is_replay or await _controls_are_caught(world, authority, folder)
    figures = figures_of(outcomes) | {"seeds": wanted.seeds}
    wanted.conclude(figures, outcomes, is_caught=caught)
    figures["seconds"] = wanted.seconds
    is_whole = wanted.is_part or len(_attackers_of(outcomes)) >= _ATTACKERS
    return not any(each.is_failed for each in outcomes) and caught and is_whole, figures


async def _controls_are_caught(world: AutomationWorld, authority: Authority, folder: Path) -> bool:
    """Run the case of every control with its build: a few at a time, the timed ones alone."""

    async def run(broken: World, case: NeighboursCase) -> NeighboursOutcome:
        return await run_case(replace(world, world=broken), authority, case, plays=1)

    async def are_caught(group: Sequence[NeighboursControl]) -> bool:
        return await are_controls_caught(world.world, folder, group, run)

    caught = await asyncio.gather(*(are_caught(CONTROLS[n::WORKERS]) for n in range(WORKERS)))
    return all([*caught, await are_caught(TIMED_CONTROLS)])


def figures_of(outcomes: Sequence[NeighboursOutcome]) -> dict[str, object]:
    """Count the results of a run; ratio and memory are those of the worst case."""
    return {
        "cases": len(outcomes),
        "attackers": len(_attackers_of(outcomes)),
        "ways": len({attack for attack, _ in _attackers_of(outcomes)}),
        "honest_refused": sum(len(each.refused) for each in outcomes),
        "honest_p95_ratio": round(max(each.ratio for each in outcomes), 2),
        "listings_lost": sum(each.lost for each in outcomes),
        "memory_growth_mb": round(max(each.memory_mb for each in outcomes), 1),
        "honest": sum(each.honest for each in outcomes),
        "attacks": sum(each.attacks for each in outcomes),
        "played_again": sum(each.plays - 1 for each in outcomes),
        "slowest_case_s": round(max(each.took_s for each in outcomes), 1),
        "failing": name_failing(outcomes),
        "most": {"honest_p95_ratio": RATIO_MOST, "memory_growth_mb": MEMORY_MOST_MB},
    }


def _attackers_of(outcomes: Sequence[NeighboursOutcome]) -> set[tuple[Attack, Origin]]:
    return {(attack, each.case.origin) for each in outcomes for attack in each.case.attacks}


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
