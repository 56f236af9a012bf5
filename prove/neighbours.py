"""`make prove PROOF=neighbours`: one caller cannot harm another.

SEEDS=20 for the whole proof, QUICK=1 for three minutes; SEED=n CASE=k repeats one case.
"""

import asyncio
import os
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from farebox.local.certificates import Authority
from prove.automation_world import AutomationWorld, open_automation_world
from prove.gateway_controls import are_controls_caught, run_cases
from prove.neighbours_attackers import Attack
from prove.neighbours_case import (
    MEMORY_MOST_MB,
    RATIO_MOST,
    NeighboursCase,
    NeighboursOutcome,
    run_case,
)
from prove.neighbours_control import TIMED_CONTROLS, Control, broken_sources, timed_sources
from prove.neighbours_ground import Origin
from prove.world import World
from testing.machine import RunFailed, say, scratch_folder, subfolder
from testing.report import run_and_report

_SEEDS: Final = 20
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
    if _SEEDS + seed <= len(attacks):
        alone.append(attacks[_SEEDS + seed - 1])
    groups = [*((each,) for each in alone), tuple(rng.sample(attacks, 2))]
    return [
        NeighboursCase(seed, number, group, rng.choice(list(Origin)))
        for number, group in enumerate(groups, 1)
    ]


def plan_cases(*, seeds: int, is_quick: bool) -> list[NeighboursCase]:
    """Plan the cases of a run, or the one case that SEED and CASE name."""
    seed, number = int(os.environ.get("SEED", "1")), os.environ.get("CASE")
    if number is not None:
        return [case for case in draw_cases(seed) if case.number == int(number)]
    if is_quick:
        origins = list(Origin)
        pairs = zip(_QUICK, origins, strict=True)
        return [NeighboursCase(0, n, (each,), of) for n, (each, of) in enumerate(pairs, 1)]
    return [case for each in range(1, seeds + 1) for case in draw_cases(each)]


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    began = time.monotonic()
    seeds = int(os.environ.get("SEEDS", "1" if is_quick else _SEEDS))
    is_replay = "CASE" in os.environ
    cases = plan_cases(seeds=seeds, is_quick=is_quick)
    if not cases:
        raise RunFailed("no case has this number")
    with scratch_folder("fbx-prove-") as folder:
        authority = Authority(folder)
        sources = timed_sources(subfolder(folder, "timed"))
        async with open_automation_world(
            subfolder(folder, "real"), sources=sources, channels=CHANNELS, workers=WORKERS
        ) as world:
            outcomes = await run_cases(cases, partial(run_case, world, authority), workers=1)
            caught = is_replay or await _controls_are_caught(world, authority, folder)
    figures = figures_of(outcomes) | {"seeds": seeds}
    if is_replay:
        say(str(outcomes[0]))
    else:
        figures["control_caught"] = caught
    figures["seconds"] = round(time.monotonic() - began)
    is_part = is_quick or is_replay or seeds < _SEEDS
    is_whole = is_part or len(_attackers_of(outcomes)) >= _ATTACKERS
    return not any(each.is_failed for each in outcomes) and caught and is_whole, figures


async def _controls_are_caught(world: AutomationWorld, authority: Authority, folder: Path) -> bool:
    """Run the case of every control with its build: a few at a time, the timed ones alone."""

    async def run(broken: World, control: Control) -> tuple[bool, object]:
        outcome = await run_case(replace(world, world=broken), authority, control.case, plays=1)
        return control.shows_in(outcome), outcome

    async def are_caught(group: Sequence[Control]) -> bool:
        return await are_controls_caught(world.world, folder, group, broken_sources, run)

    others = [each for each in Control if each not in TIMED_CONTROLS]
    caught = await asyncio.gather(*(are_caught(others[n::WORKERS]) for n in range(WORKERS)))
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
        "failing": [str(each.case) for each in outcomes if each.is_failed][:10],
        "most": {"honest_p95_ratio": RATIO_MOST, "memory_growth_mb": MEMORY_MOST_MB},
    }


def _attackers_of(outcomes: Sequence[NeighboursOutcome]) -> set[tuple[Attack, Origin]]:
    return {(attack, each.case.origin) for each in outcomes for attack in each.case.attacks}


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
