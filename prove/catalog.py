"""`make prove PROOF=catalog`: no settlement pays for what goes wrong in the catalog.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n KIND=locked plays one case again.
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
from prove.catalog_case import Case, Outcome, Told, play
from prove.catalog_control import together_sources
from prove.catalog_faults import Kind
from prove.lanes import in_lanes
from prove.warm import Warm
from prove.world import World, opened_world

_LANES: Final = 3
_CONTROLS: Final = (Kind.FAILS, Kind.LOCKED)


def planned(seeds: int) -> list[Case]:
    """Every kind under every seed; one case alone when SEED and KIND name it."""
    kind = os.environ.get("KIND")
    if kind is not None:
        if kind.upper() not in Kind.__members__:
            raise RunFailed(f"KIND is one of {', '.join(Kind.__members__).lower()}")
        return [Case(int(os.environ.get("SEED", "1")), Kind[kind.upper()])]
    return [Case(seed, each) for seed in range(1, seeds + 1) for each in Kind]


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """The figures of the whole proof, and whether it holds."""
    seeds = int(os.environ.get("SEEDS", "1" if is_quick else "20"))
    cases = planned(seeds)
    with scratch_folder("fbx-prove-") as folder:
        async with opened_world(subfolder(folder, "real")) as world:
            outcomes = await in_lanes(
                cases, lambda case: _told(world, case), lanes=_LANES, told="cases"
            )
            is_replay = "KIND" in os.environ
            caught = is_replay or await _control_is_caught(world, folder)
    figures = figures_of(outcomes) | {"seeds": seeds}
    if is_replay:
        for outcome in outcomes:
            say(str(outcome))
    else:
        figures["control_caught"] = caught
    holds = not any(figures[fault] for fault in ("settles_failed", "late", "unexplained"))
    return holds and not figures["failing"] and caught, figures


async def _told(world: World, case: Case) -> Outcome:
    try:
        outcome = await play(world, case)
    except LocalFault as fault:
        raise RunFailed(f"{case} could not be played: {fault}") from fault
    if outcome.why or outcome.late:
        print(f"FAILED {outcome}", file=sys.stderr, flush=True)
    return outcome


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """What a run comes to, counted."""
    told = [each for outcome in outcomes for each in outcome.told]
    asked = [each for outcome in outcomes for each in outcome.asked]
    normal = _times([each for outcome in outcomes for each in outcome.unasked])
    faulty = [each for each in outcomes if each.case.kind is not Kind.NONE]
    under_faults = _times([each for outcome in faulty for each in outcome.asked])
    return {
        "cases": len(outcomes),
        "settles": len(told),
        "settles_failed": sum(not each.is_success for each in told),
        "late": sum(len(outcome.late) for outcome in outcomes),
        "unexplained": sum(not each.says_why for each in asked),
        "listed_at_once": sum(each.is_listed for each in asked),
        "final_successes": sum(outcome.counted.confirmed for outcome in outcomes),
        "listings": sum(outcome.counted.listings for outcome in outcomes),
        "purchases_counted": sum(outcome.counted.purchases for outcome in outcomes),
        "normal_p50_ms": _middle_ms(normal),
        "normal_max_ms": round(normal[-1] * 1000) if normal else 0,
        "faulty_p50_ms": _middle_ms(under_faults),
        "faulty_max_ms": round(under_faults[-1] * 1000) if under_faults else 0,
        "slowest_listing_s": round(max(each.listed_after_s for each in outcomes), 1),
        "failing": [str(each.case) for each in outcomes if each.why][:10],
    }


def _times(told: Sequence[Told]) -> list[float]:
    return sorted(each.took_s for each in told)


def _middle_ms(times: Sequence[float]) -> int:
    return round(times[len(times) // 2] * 1000) if times else 0


async def _control_is_caught(world: World, folder: Path) -> bool:
    """Whether a build that settles and lists in one transaction fails under every such fault."""
    cases = [Case(0, kind) for kind in _CONTROLS]
    async with Warm(together_sources(subfolder(folder, "control"))) as together:
        control = replace(world, warm=together)
        outcomes = await in_lanes(
            cases, lambda case: play(control, case), lanes=_LANES, told="control"
        )
    for outcome in outcomes:
        say(f"control: {outcome}")
    return not any(each.is_success for outcome in outcomes for each in outcome.told)


if __name__ == "__main__":
    sys.exit(end_with_figures(prove))
