"""`make prove PROOF=limits-fair`: limits hold for owners of many keys and harm no other caller.

SEEDS=5 for the whole proof, QUICK=1 for one seed; SEED=n repeats one seed, without controls.
"""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from farebox.local.faults import LocalFault
from prove.fork_server import ForkServer
from prove.limits_fair_case import Outcome, run_case
from prove.limits_fair_control import Control, broken_sources
from prove.world import World, open_world
from testing.machine import RunFailed, say, scratch_folder, subfolder
from testing.report import run_and_report

_SEEDS: Final = 5
FAULTS: Final = ("over_limit", "honest_refused", "victims_locked_out")
# figures that must not be 0 for the control
SHOWN: Final[Mapping[Control, Sequence[str]]] = {
    Control.KEYS: ("over_limit", "victims_locked_out"),
    Control.REPLICAS: ("over_limit", "honest_refused"),
}


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    seeds = int(os.environ.get("SEEDS", 1 if is_quick else _SEEDS))
    is_replay = "SEED" in os.environ
    seeds_to_run = [int(os.environ["SEED"])] if is_replay else list(range(1, seeds + 1))
    with scratch_folder("fbx-prove-") as folder:
        async with open_world(subfolder(folder, "real"), channels=2, payers=2) as world:
            outcomes = [await _run_seed(world, seed) for seed in seeds_to_run]
            caught = is_replay or await are_controls_caught(world, folder)
    figures = figures_of(outcomes)
    if is_replay:
        for outcome in outcomes:
            say(str(outcome))
    else:
        figures["control_caught"] = caught
    return holds(figures) and caught, figures


async def _run_seed(world: World, seed: int) -> Outcome:
    try:
        outcome = await run_case(world, seed)
    except LocalFault as fault:
        raise RunFailed(f"SEED={seed} could not be run: {fault}") from fault
    print(outcome, file=sys.stderr, flush=True)
    return outcome


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Sum up all outcomes."""
    return {
        "over_limit": sum(each.over.total() for each in outcomes),
        "honest_refused": sum(len(each.refused) for each in outcomes),
        "victims_locked_out": sum(len(each.locked_out) for each in outcomes),
        "seeds": len(outcomes),
        "requests": sum(each.requests for each in outcomes),
        "admitted": sum(each.admitted for each in outcomes),
        "honest": sum(each.honest for each in outcomes),
        "settled": sum(each.settled for each in outcomes),
        "repeated": sum(each.repeated for each in outcomes),
        "failing": [str(each) for each in outcomes if each.is_broken][:5],
    }


def holds(figures: Mapping[str, object]) -> bool:
    """Whether no violation occurred."""
    return not any(figures[fault] for fault in FAULTS)


async def are_controls_caught(world: World, folder: Path) -> bool:
    """Whether each control shows the figures of its defect."""
    async with AsyncExitStack() as opened:
        caught = []
        for control in Control:
            sources = await asyncio.to_thread(
                broken_sources, subfolder(folder, control.name.lower()), control
            )
            fork_server = await opened.enter_async_context(ForkServer(sources))
            outcome = await run_case(replace(world, fork_server=fork_server), 0)
            say(f"control ({control}): {outcome}")
            figures = figures_of([outcome])
            caught.append(all(figures[fault] for fault in SHOWN[control]))
    return all(caught)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
