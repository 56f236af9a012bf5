"""`make prove PROOF=limits`: the limits of a wrapper hold exactly, on two replicas and after kills.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n CASE=k repeats one case.
"""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from farebox.local.certificates import Authority
from prove.delivery_control import timed_sources
from prove.gateway_controls import are_controls_caught, run_cases
from prove.limits_case import LimitsCase, LimitsOutcome, draw_cases, run_case
from prove.limits_control import Control, broken_sources
from prove.world import World, open_world
from testing.machine import RunFailed, say, scratch_folder, subfolder
from testing.report import run_and_report

_WORKERS: Final = 4
_SEEDS: Final = 20
_CASES: Final = 8  # of a seed


def plan_cases(*, seeds: int, is_quick: bool) -> list[LimitsCase]:
    """Plan the cases of a run, or the one case that SEED and CASE name."""
    seed, number = int(os.environ.get("SEED", "1")), os.environ.get("CASE")
    if number is not None:
        return [case for case in draw_cases(seed, _CASES) if case.number == int(number)]
    count = _CASES // 2 if is_quick else _CASES
    return [case for each in range(1, seeds + 1) for case in draw_cases(each, count)]


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
        async with open_world(
            subfolder(folder, "real"), sources=sources, workers=_WORKERS
        ) as world:
            outcomes = await run_cases(
                cases, lambda case: run_case(world, authority, case), workers=_WORKERS
            )
            caught = is_replay or await _controls_are_caught(world, authority, folder)
    figures = figures_of(outcomes) | {"seeds": seeds}
    if is_replay:
        say(str(outcomes[0]))
    else:
        figures["control_caught"] = caught
    figures["seconds"] = round(time.monotonic() - began)
    return not any(each.is_failed for each in outcomes) and caught, figures


async def _controls_are_caught(world: World, authority: Authority, folder: Path) -> bool:
    """Run the case of every control with its build."""

    async def run(broken: World, control: Control) -> tuple[bool, object]:
        outcome = await run_case(broken, authority, control.case)
        return control.shows_in(outcome), outcome

    return await are_controls_caught(world, folder, Control, broken_sources, run)


def figures_of(outcomes: Sequence[LimitsOutcome]) -> dict[str, object]:
    """Count the results of a run."""
    return {
        "cases": len(outcomes),
        "landed": sum(each.landed for each in outcomes),
        "landed_beyond": sum(each.landed_beyond for each in outcomes),
        "counters_off": sum(bool(each.counters_off) for each in outcomes),
        "refused_429": sum(each.answers.get(429, 0) for each in outcomes),
        "failing": [str(each.case) for each in outcomes if each.is_failed][:10],
    }


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
