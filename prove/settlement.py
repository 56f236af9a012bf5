"""`make prove PROOF=settlement`: no settlement is lost or doubled, wherever the service is killed.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n CASE=k plays one case again.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from e2e.ending import end_with_figures
from e2e.machine import RunFailed, say, scratch_folder, subfolder
from farebox.local.faults import LocalFault
from prove.case import Boundaries, Case, Crew, short_sweep, sweep, thrown
from prove.control import control_sources
from prove.crash import Outcome, play, record, record_idle
from prove.crash_loop import Loop, LoopOutcome, loop_of, play_loop
from prove.gate import Boundary, Side
from prove.lanes import in_lanes
from prove.truth import Fault
from prove.world import World, opened_world

_LANES: Final = 6
_RECORDINGS: Final = 3
_QUICK_EVERY: Final = 13
_CONTROL_AT: Final = Boundary("rpc sendTransaction", 1)


async def boundaries_of(world: World) -> Boundaries:
    """Every call boundary of a settlement, found by watching undisturbed ones of each crew."""
    idle = await record_idle(world)
    crews = [crew for crew in Crew for _ in range(_RECORDINGS)]
    recorded = await in_lanes(crews, lambda crew: record(world, crew), lanes=2, told="recording")
    alone = [
        {b.label for b in each}
        for crew, each in zip(crews, recorded, strict=True)
        if crew is Crew.ONE
    ]
    # what an idle replica asks as well is a settlement's own when every settlement asks it
    background = {
        label
        for label in idle
        if label.startswith("rpc ") or not all(label in each for each in alone)
    }
    found: dict[Crew, set[Boundary]] = {crew: set() for crew in Crew}
    for crew, crossed in zip(crews, recorded, strict=True):
        found[crew] |= {boundary for boundary in crossed if boundary.label not in background}
    return {crew: sorted(each) for crew, each in found.items()}


def all_of(boundaries: Boundaries) -> list[Boundary]:
    """Every boundary of any crew, once."""
    return sorted({boundary for each in boundaries.values() for boundary in each})


def planned(boundaries: Boundaries, *, seeds: int, is_quick: bool) -> list[Case | Loop]:
    """The cases of a run; of one case alone when SEED and CASE name it, CASE=0 the crash loop."""
    seed, number = int(os.environ.get("SEED", "1")), os.environ.get("CASE")
    if number == "0":
        return [loop_of(seed)]
    if number is not None:
        wanted = sweep(boundaries) if seed == 1 else thrown(boundaries, seed)
        return [case for case in wanted if case.number == int(number)]
    if is_quick:
        return [*short_sweep(boundaries, every=_QUICK_EVERY), loop_of(1)]
    further = [case for each in range(2, seeds + 1) for case in thrown(boundaries, each)]
    return [*sweep(boundaries), *further, *(loop_of(each) for each in range(1, seeds + 1))]


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """The figures of the whole proof, and whether it holds."""
    began = time.monotonic()
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
        is_replay = "CASE" in os.environ
        caught = is_replay or await _control_is_caught(folder, boundaries)
    figures = figures_of(outcomes) | {"boundaries": len(all_of(boundaries)), "seeds": seeds}
    figures["seconds"] = round(time.monotonic() - began)
    if is_replay:
        for outcome in outcomes:
            say(str(outcome))
    else:
        figures["control_caught"] = caught
    return not any(figures[fault] for fault in Fault) and caught, figures


async def _told(world: World, case: Case | Loop) -> Outcome | LoopOutcome:
    try:
        outcome = await (play_loop(world, case) if isinstance(case, Loop) else play(world, case))
    except (RunFailed, LocalFault) as fault:
        raise RunFailed(f"{case} could not be played: {fault}") from fault
    if outcome.found:
        print(f"FAILED {outcome}", file=sys.stderr, flush=True)
    return outcome


def figures_of(outcomes: Sequence[Outcome | LoopOutcome]) -> dict[str, object]:
    """What a run comes to, counted."""
    found = Counter(str(each.fault) for outcome in outcomes for each in outcome.found)
    kills = [each for each in outcomes if isinstance(each, Outcome)]
    loops = [each for each in outcomes if isinstance(each, LoopOutcome)]
    return {
        "cases": len(outcomes),
        "doubled": found[Fault.DOUBLED],
        "lost": found[Fault.LOST],
        "unresolved": found[Fault.UNRESOLVED],
        "answer_cut": sum(each.answer_cut for each in outcomes),
        "not_reached": sum(not each.is_reached for each in kills),
        "crash_loops": len(loops),
        "failing": [str(each.case) for each in outcomes if each.found][:10],
        "slowest_case_s": round(max((each.took_s for each in kills), default=0.0), 1),
    }


async def _control_is_caught(folder: Path, boundaries: Boundaries) -> bool:
    """Whether a build that writes an envelope down only after sending it fails the same proof."""
    sources = control_sources(subfolder(folder, "control-code"))
    around = [
        case
        for case in sweep(boundaries)
        if case.boundary == _CONTROL_AT and case.side is Side.AFTER
    ]
    async with opened_world(subfolder(folder, "control"), sources=sources) as world:
        outcomes = await in_lanes(
            around, lambda case: play(world, case), lanes=_LANES, told="control"
        )
    for outcome in outcomes:
        say(f"control: {outcome}")
    return any(outcome.found for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(end_with_figures(prove))
