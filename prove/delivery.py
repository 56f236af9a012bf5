"""`make prove PROOF=delivery`: who pays at the gateway gets the response, once, or a way to it.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n CASE=k repeats one case.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from farebox.local.certificates import Authority
from prove.concurrency import run_concurrently
from prove.delivery_case import (
    DeliveryCase,
    DeliveryOutcome,
    draw_cases,
    record_purchase,
    run_case,
    sweep,
)
from prove.delivery_console import count_console_faults
from prove.delivery_control import Control, broken_sources, timed_sources
from prove.delivery_hostile import HostileCase, draw_hostile, run_hostile
from prove.delivery_reports import ReportBatch, run_reports
from prove.delivery_verdict import DeliveryViolation
from prove.gateway_controls import are_controls_caught, run_cases
from prove.interceptor import Boundary
from prove.world import World, open_world
from testing.machine import RunFailed, say, scratch_folder, subfolder
from testing.report import run_and_report

CASES: Final = 500
_WORKERS: Final = 6
_RECORDINGS: Final = 4
_USUAL: Final = 3
_SEEDS: Final = 20
_QUICK_EVERY: Final = 9
_REPORTS: Final = 300_000  # the number of a seed's batch of answers


async def boundaries_of(world: World, authority: Authority) -> list[Boundary]:
    """Record the calls of purchases without faults; return those that most of them make."""
    recorded = await run_concurrently(
        range(_RECORDINGS),
        lambda _: record_purchase(world, authority),
        workers=2,
        label="recording",
    )
    times = Counter(boundary for calls in recorded for boundary in set(calls))
    return sorted(boundary for boundary, count in times.items() if count >= _USUAL)


Case = DeliveryCase | HostileCase | ReportBatch


def plan_cases(boundaries: Sequence[Boundary], *, seeds: int, is_quick: bool) -> list[Case]:
    """Plan the cases of a run, or the one case that SEED and CASE name."""
    seed, number = int(os.environ.get("SEED", "1")), os.environ.get("CASE")
    if number is not None:
        return [case for case in _cases_of(boundaries, seed) if case.number == int(number)]
    if is_quick:
        return [ReportBatch(1, _REPORTS), *draw_hostile(1), *sweep(boundaries)[::_QUICK_EVERY]]
    return [case for each in range(1, seeds + 1) for case in _cases_of(boundaries, each)]


def _cases_of(boundaries: Sequence[Boundary], seed: int) -> list[Case]:
    """Plan the cases of a seed: the first one plays every fault, the others each call once."""
    faults = sweep(boundaries) if seed == 1 else draw_cases(boundaries, seed)
    return [ReportBatch(seed, _REPORTS), *draw_hostile(seed), *faults]


async def run_either(world: World, authority: Authority, case: Case) -> DeliveryOutcome:
    """Run a case of either kind."""
    if isinstance(case, ReportBatch):
        return await run_reports(world, case)
    if isinstance(case, HostileCase):
        return await run_hostile(world, authority, case)
    return await run_case(world, authority, case)


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    began = time.monotonic()
    seeds = int(os.environ.get("SEEDS", "1" if is_quick else _SEEDS))
    is_replay = "CASE" in os.environ
    with scratch_folder("fbx-prove-") as folder:
        authority = Authority(folder)
        sources = timed_sources(subfolder(folder, "timed"))
        async with open_world(
            subfolder(folder, "real"), sources=sources, workers=_WORKERS
        ) as world:
            boundaries = await boundaries_of(world, authority)
            for boundary in boundaries:
                say(f"boundary: {boundary}")
            cases = plan_cases(boundaries, seeds=seeds, is_quick=is_quick)
            if not cases:
                raise RunFailed("no case has this number")
            outcomes = await run_cases(
                cases, lambda case: run_either(world, authority, case), workers=_WORKERS
            )
            caught = is_replay or await _controls_are_caught(world, authority, folder)
    figures = figures_of(outcomes) | {"boundaries": len(boundaries), "seeds": seeds}
    if not is_replay:
        await _add_console(figures)
    if is_replay:
        say(str(outcomes[0]))
    else:
        figures["control_caught"] = caught
    figures["seconds"] = round(time.monotonic() - began)
    is_whole = is_quick or is_replay or seeds < _SEEDS or len(cases) >= CASES
    is_right = not any(figures[violation] for violation in DeliveryViolation)
    return is_right and caught and is_whole, figures


async def _add_console(figures: dict[str, object]) -> None:
    """Count what the console says wrong among all that is told wrong."""
    tests, failing = await count_console_faults()
    figures["console_tests"] = tests
    figures[DeliveryViolation.TOLD_WRONG.value] = int(str(figures["told_wrong"])) + len(failing)
    for name in failing:
        say(f"FAILED the console: {name}")


async def _controls_are_caught(world: World, authority: Authority, folder: Path) -> bool:
    """Run the case of every control with its build."""

    async def run(broken: World, control: Control) -> tuple[bool, object]:
        outcome = await run_either(broken, authority, control.case)
        return control.shows_in(outcome), outcome

    return await are_controls_caught(world, folder, Control, broken_sources, run)


def figures_of(outcomes: Sequence[DeliveryOutcome]) -> dict[str, object]:
    """Count the results of a run."""
    counted = Counter(violation for outcome in outcomes for violation, _ in outcome.findings)
    unreached = [each for each in outcomes if not each.is_reached]
    return {
        "cases": len(outcomes),
        **{violation.value: counted[violation] for violation in DeliveryViolation},
        "states": dict(Counter(each.state for each in outcomes)),
        "not_reached": len(unreached),
        "slowest_case_s": round(max(each.took_s for each in outcomes), 1),
        "failing": [str(each.case) for each in outcomes if each.is_failed][:10],
    }


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
