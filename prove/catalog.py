"""`make prove PROOF=catalog`: no settlement fails because of a fault in the catalog.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n KIND=locked repeats one case.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from farebox.local.faults import LocalFault
from prove.catalog_case import Case, Outcome, SettleResponse, run_case
from prove.catalog_control import coupled_sources
from prove.catalog_faults import Kind
from prove.concurrency import run_concurrently
from prove.fork_server import ForkServer
from prove.world import World, open_world
from testing.machine import RunFailed, say, scratch_folder, subfolder
from testing.report import run_and_report

_WORKERS: Final = 3
_CONTROLS: Final = (Kind.FAILS, Kind.LOCKED)


def plan_cases(seeds: int) -> list[Case]:
    """Plan every kind under every seed, or the one case that SEED and KIND name."""
    kind = os.environ.get("KIND")
    if kind is not None:
        if kind.upper() not in Kind.__members__:
            raise RunFailed(f"KIND is one of {', '.join(Kind.__members__).lower()}")
        return [Case(int(os.environ.get("SEED", "1")), Kind[kind.upper()])]
    return [Case(seed, each) for seed in range(1, seeds + 1) for each in Kind]


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    seeds = int(os.environ.get("SEEDS", "1" if is_quick else "20"))
    cases = plan_cases(seeds)
    with scratch_folder("fbx-prove-") as folder:
        async with open_world(subfolder(folder, "real"), workers=_WORKERS) as world:
            outcomes = await run_concurrently(
                cases, lambda case: _run_and_report(world, case), workers=_WORKERS, label="cases"
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


async def _run_and_report(world: World, case: Case) -> Outcome:
    try:
        outcome = await run_case(world, case)
    except LocalFault as fault:
        raise RunFailed(f"{case} could not be run: {fault}") from fault
    if outcome.violations or outcome.late:
        print(f"FAILED {outcome}", file=sys.stderr, flush=True)
    return outcome


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Count the results of a run."""
    responses = [each for outcome in outcomes for each in outcome.responses]
    with_listing = [each for outcome in outcomes for each in outcome.with_listing]
    normal = _times([each for outcome in outcomes for each in outcome.without_listing])
    with_fault = [each for each in outcomes if each.case.kind is not Kind.NONE]
    under_faults = _times([each for outcome in with_fault for each in outcome.with_listing])
    return {
        "cases": len(outcomes),
        "settles": len(responses),
        "settles_failed": sum(not each.is_success for each in responses),
        "late": sum(len(outcome.late) for outcome in outcomes),
        "unexplained": sum(not each.reports_listing for each in with_listing),
        "listed_at_once": sum(each.is_listed for each in with_listing),
        "final_successes": sum(outcome.counted.confirmed for outcome in outcomes),
        "listings": sum(outcome.counted.listings for outcome in outcomes),
        "purchases_counted": sum(outcome.counted.purchases for outcome in outcomes),
        "normal_p50_ms": _median_ms(normal),
        "normal_max_ms": round(normal[-1] * 1000) if normal else 0,
        "faulty_p50_ms": _median_ms(under_faults),
        "faulty_max_ms": round(under_faults[-1] * 1000) if under_faults else 0,
        "slowest_listing_s": round(max(each.listed_after_s for each in outcomes), 1),
        "failing": [str(each.case) for each in outcomes if each.violations][:10],
    }


def _times(responses: Sequence[SettleResponse]) -> list[float]:
    return sorted(each.took_s for each in responses)


def _median_ms(times: Sequence[float]) -> int:
    return round(times[len(times) // 2] * 1000) if times else 0


async def _control_is_caught(world: World, folder: Path) -> bool:
    """Whether a build that settles and lists in one transaction fails under these faults."""
    cases = [Case(0, kind) for kind in _CONTROLS]
    async with ForkServer(coupled_sources(subfolder(folder, "control"))) as coupled:
        control = replace(world, fork_server=coupled)
        outcomes = await run_concurrently(
            cases, lambda case: run_case(control, case), workers=_WORKERS, label="control"
        )
    for outcome in outcomes:
        say(f"control: {outcome}")
    return not any(each.is_success for outcome in outcomes for each in outcome.responses)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
