"""`make prove PROOF=settlement`: no settlement is lost or doubled, wherever the service is killed.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n CASE=k plays one case again.
"""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from e2e.ending import end_with_figures
from e2e.machine import RunFailed, say, scratch_folder, subfolder
from prove.case import Boundaries, Case, Crew, short_sweep, sweep, thrown
from prove.control import control_sources
from prove.crash import Outcome, play, record, record_idle
from prove.gate import Boundary
from prove.lanes import in_lanes
from prove.truth import Fault
from prove.world import World, opened_world

_LANES: Final = 6
_RECORDINGS: Final = 3
_QUICK_EVERY: Final = 11
_CONTROL_EVERY: Final = 7


async def boundaries_of(world: World) -> Boundaries:
    """Every call boundary of a settlement, found by watching undisturbed ones of each crew."""
    idle = await record_idle(world)
    crews = [crew for crew in Crew for _ in range(_RECORDINGS)]
    recorded = await in_lanes(crews, lambda crew: record(world, crew), lanes=2, told="recording")
    found: dict[Crew, set[Boundary]] = {crew: set() for crew in Crew}
    for crew, crossed in zip(crews, recorded, strict=True):
        found[crew] |= {boundary for boundary in crossed if boundary.label not in idle}
    return {crew: sorted(each) for crew, each in found.items()}


def all_of(boundaries: Boundaries) -> list[Boundary]:
    """Every boundary of any crew, once."""
    return sorted({boundary for each in boundaries.values() for boundary in each})


def planned(boundaries: Boundaries, *, seeds: int, is_quick: bool) -> list[Case]:
    """The cases of a run; of one case alone when SEED and CASE name it."""
    seed, number = os.environ.get("SEED"), os.environ.get("CASE")
    if number is not None:
        wanted = sweep(boundaries) if seed == "1" else thrown(boundaries, int(seed or "1"))
        return [case for case in wanted if case.number == int(number)]
    if is_quick:
        return short_sweep(boundaries, every=_QUICK_EVERY)
    further = [case for each in range(2, seeds + 1) for case in thrown(boundaries, each)]
    return sweep(boundaries) + further


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """The figures of the whole proof, and whether it holds."""
    seeds = int(os.environ.get("SEEDS", "1" if is_quick else "20"))
    with scratch_folder("fbx-prove-") as folder:
        async with opened_world(subfolder(folder, "real")) as world:
            boundaries = await boundaries_of(world)
            for boundary in all_of(boundaries):
                say(f"boundary: {boundary}")
            cases = planned(boundaries, seeds=seeds, is_quick=is_quick)
            if not cases:
                raise RunFailed("there is no such case")
            outcomes = await in_lanes(
                cases, lambda case: _told(world, case), lanes=_LANES, told="cases"
            )
        caught = await _control_is_caught(folder, boundaries)
    figures = figures_of(outcomes) | {
        "boundaries": len(all_of(boundaries)),
        "seeds": seeds,
        "control_caught": caught,
    }
    return not any(figures[fault] for fault in Fault) and caught, figures


async def _told(world: World, case: Case) -> Outcome:
    outcome = await play(world, case)
    if outcome.found:
        print(f"FAILED {outcome}", file=sys.stderr, flush=True)
    return outcome


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """What a run comes to, counted."""
    found = Counter(str(each.fault) for outcome in outcomes for each in outcome.found)
    return {
        "cases": len(outcomes),
        "doubled": found[Fault.DOUBLED],
        "lost": found[Fault.LOST],
        "unresolved": found[Fault.UNRESOLVED],
        "answer_cut": sum(outcome.is_answer_cut for outcome in outcomes),
        "not_reached": sum(not outcome.is_reached for outcome in outcomes),
        "failing": [str(outcome.case) for outcome in outcomes if outcome.found][:10],
        "slowest_case_s": round(max(outcome.took_s for outcome in outcomes), 1),
    }


async def _control_is_caught(folder: Path, boundaries: Boundaries) -> bool:
    """Whether a build that writes an envelope down only after sending it fails the same proof."""
    sources = control_sources(subfolder(folder, "control-code"))
    cases = short_sweep(boundaries, every=_CONTROL_EVERY)
    around = [case for case in cases if "rpc sendTransaction" in case.boundary.label]
    async with opened_world(subfolder(folder, "control"), sources=sources) as world:
        outcomes = await in_lanes(
            around, lambda case: play(world, case), lanes=_LANES, told="control"
        )
    for outcome in outcomes:
        say(f"control: {outcome}")
    return any(outcome.found for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(end_with_figures(prove))
