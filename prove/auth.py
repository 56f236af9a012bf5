"""`make prove PROOF=auth`: what is given out once is given out once, what has ended has ended.

SEEDS=20 for the whole proof, QUICK=1 for a minute; SEED=n KIND=rotate plays one case again.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from e2e.ending import end_with_figures
from e2e.machine import RunFailed, say, scratch_folder, subfolder
from farebox.local.faults import LocalFault
from prove.auth_case import Kind, Outcome, play
from prove.auth_control import careless_sources
from prove.lanes import in_lanes
from prove.warm import Warm
from prove.world import World, opened_world

_LANES: Final = 2
_FAULTS: Final = ("extra_sessions", "extra_keys", "late_accepts")


def planned(seeds: int) -> tuple[list[int], tuple[Kind, ...]]:
    """Which kinds under which seeds: one case alone when SEED and KIND name it."""
    kind = os.environ.get("KIND")
    if kind is None:
        return list(range(1, seeds + 1)), tuple(Kind)
    if kind.upper() not in Kind.__members__:
        raise RunFailed(f"KIND is one of {', '.join(Kind.__members__).lower()}")
    return [int(os.environ.get("SEED", "1"))], (Kind[kind.upper()],)


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """The figures of the whole proof, and whether it holds."""
    seeds, kinds = planned(int(os.environ.get("SEEDS", "2" if is_quick else "20")))
    with scratch_folder("fbx-prove-") as folder:
        async with opened_world(subfolder(folder, "real"), channels=1, payers=1) as world:
            played = await in_lanes(
                seeds, lambda seed: _told(world, seed, kinds), lanes=_LANES, told="seeds"
            )
            is_replay = "KIND" in os.environ
            caught = is_replay or await _control_is_caught(world, folder)
    outcomes = [outcome for each in played for outcome in each]
    figures = figures_of(outcomes) | {"seeds": len(seeds)}
    if is_replay:
        for outcome in outcomes:
            say(str(outcome))
    else:
        figures["control_caught"] = caught
    return holds(figures) and caught, figures


async def _told(world: World, seed: int, kinds: Sequence[Kind]) -> list[Outcome]:
    try:
        outcomes = await play(world, seed, kinds)
    except LocalFault as fault:
        raise RunFailed(f"SEED={seed} could not be played: {fault}") from fault
    for outcome in outcomes:
        if outcome.is_broken:
            print(f"FAILED {outcome}", file=sys.stderr, flush=True)
    return outcomes


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """What a run comes to, counted."""
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
        "unexplained": sum(len(each.odd) for each in outcomes),
        "failing": [str(each.case) for each in outcomes if each.is_broken][:10],
    }


def holds(figures: dict[str, object]) -> bool:
    """Whether nothing happened that must not."""
    return not any(figures[fault] for fault in (*_FAULTS, "unexplained"))


async def _control_is_caught(world: World, folder: Path) -> bool:
    """Whether a build that gives out twice and remembers too long shows every fault there is."""
    async with Warm(careless_sources(subfolder(folder, "control"))) as careless:
        outcomes = await play(replace(world, warm=careless), 0)
    for outcome in outcomes:
        say(f"control: {outcome}")
    figures = figures_of(outcomes)
    return all(figures[fault] for fault in _FAULTS)


if __name__ == "__main__":
    sys.exit(end_with_figures(prove))
