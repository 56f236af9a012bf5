"""`make prove PROOF=auth`: sessions and keys are issued once, and ended ones are refused.

SEEDS=20 for the whole proof, QUICK=1 for a minute; SEED=n KIND=rotate repeats one case.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from farebox.local.faults import LocalFault
from prove.auth_case import Kind, Outcome, run_case
from prove.auth_control import careless_sources
from prove.concurrency import run_concurrently
from prove.fork_server import ForkServer
from prove.world import World, open_world
from testing.machine import RunFailed, say, scratch_folder, subfolder
from testing.report import run_and_report

_WORKERS: Final = 2
_FAULTS: Final = ("extra_sessions", "extra_keys", "late_accepts")


def plan_cases(seeds: int) -> tuple[list[int], tuple[Kind, ...]]:
    """Plan the seeds and kinds of a run, or the one case that SEED and KIND name."""
    kind = os.environ.get("KIND")
    if kind is None:
        return list(range(1, seeds + 1)), tuple(Kind)
    if kind.upper() not in Kind.__members__:
        raise RunFailed(f"KIND is one of {', '.join(Kind.__members__).lower()}")
    return [int(os.environ.get("SEED", "1"))], (Kind[kind.upper()],)


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    seeds, kinds = plan_cases(int(os.environ.get("SEEDS", "2" if is_quick else "20")))
    with scratch_folder("fbx-prove-") as folder:
        async with open_world(subfolder(folder, "real"), channels=1, payers=1) as world:
            by_seed = await run_concurrently(
                seeds, lambda seed: _run_seed(world, seed, kinds), workers=_WORKERS, label="seeds"
            )
            is_replay = "KIND" in os.environ
            caught = is_replay or await _control_is_caught(world, folder)
    outcomes = [outcome for each in by_seed for outcome in each]
    figures = figures_of(outcomes) | {"seeds": len(seeds)}
    if is_replay:
        for outcome in outcomes:
            say(str(outcome))
    else:
        figures["control_caught"] = caught
    return holds(figures) and caught, figures


async def _run_seed(world: World, seed: int, kinds: Sequence[Kind]) -> list[Outcome]:
    try:
        outcomes = await run_case(world, seed, kinds)
    except LocalFault as fault:
        raise RunFailed(f"SEED={seed} could not be run: {fault}") from fault
    for outcome in outcomes:
        if outcome.is_broken:
            print(f"FAILED {outcome}", file=sys.stderr, flush=True)
    return outcomes


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Count the results of a run."""
    return {
        "cases": len(outcomes),
        "requests": sum(each.requests for each in outcomes),
        "sessions": sum(each.sessions for each in outcomes),
        "keys": sum(each.keys for each in outcomes),
        "used": sum(each.used for each in outcomes),
        "extra_sessions": sum(each.extra_sessions for each in outcomes),
        "extra_keys": sum(each.extra_keys for each in outcomes),
        "late_accepts": sum(each.late_accepts for each in outcomes),
        "unavailable": sum(each.unavailable for each in outcomes),
        "unexplained": sum(len(each.unexpected) for each in outcomes),
        "failing": [str(each.case) for each in outcomes if each.is_broken][:10],
    }


def holds(figures: dict[str, object]) -> bool:
    """Whether no violation occurred."""
    return not any(figures[fault] for fault in (*_FAULTS, "unexplained"))


async def _control_is_caught(world: World, folder: Path) -> bool:
    """Whether a build that issues twice and caches too long shows every fault."""
    async with ForkServer(careless_sources(subfolder(folder, "control"))) as careless:
        outcomes = await run_case(replace(world, fork_server=careless), 0)
    for outcome in outcomes:
        say(f"control: {outcome}")
    figures = figures_of(outcomes)
    return all(figures[fault] for fault in _FAULTS)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
