"""`make prove PROOF=delivery`: who pays at the gateway gets the response, once, or a way to it.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n CASE=k repeats one case.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

from farebox.local.certificates import Authority
from prove.boundaries import record_each, tell_boundaries, usual_boundaries
from prove.delivery_case import (
    DeliveryCase,
    DeliveryOutcome,
    draw_cases,
    record_purchase,
    run_case,
    sweep,
)
from prove.delivery_control import CONTROLS, TIMED, PlayedCase
from prove.delivery_hostile import ShopCase, draw_hostile, run_hostile
from prove.delivery_reports import ReportBatch, run_reports
from prove.delivery_verdict import DeliveryViolation
from prove.interceptor import Boundary
from prove.outcome import are_none, count_violations, name_failing, slowest_s
from prove.run_cases import Wanted, are_controls_caught, check_any, read_wanted, run_cases
from prove.world import World, open_world
from testing.machine import ROOT, RunFailed, say, scratch_folder, subfolder
from testing.report import run_and_report

CASES: Final = 500
_WORKERS: Final = 6
_RECORDINGS: Final = 4
_QUICK_EVERY: Final = 9
_REPORTS: Final = 300_000  # the number of a seed's batch of answers


async def boundaries_of(world: World, authority: Authority) -> list[Boundary]:
    """Record the calls of purchases without faults; return those that most of them make."""
    recorded = await record_each(
        [authority], lambda _: record_purchase(world, authority), times=_RECORDINGS
    )
    return usual_boundaries(recorded[authority], ())


def plan_cases(boundaries: Sequence[Boundary], wanted: Wanted) -> list[PlayedCase]:
    """Plan the cases of a run, or the one case that SEED and CASE name."""

    def quick() -> list[PlayedCase]:
        return [ReportBatch(1, _REPORTS), *draw_hostile(1), *sweep(boundaries)[::_QUICK_EVERY]]

    return wanted.numbered(partial(_cases_of, boundaries), quick=quick)


def _cases_of(boundaries: Sequence[Boundary], seed: int) -> list[PlayedCase]:
    """Plan the cases of a seed: the first one plays every fault, the others each call once."""
    faults = sweep(boundaries) if seed == 1 else draw_cases(boundaries, seed)
    return [ReportBatch(seed, _REPORTS), *draw_hostile(seed), *faults]


async def run_either(authority: Authority, world: World, case: PlayedCase) -> DeliveryOutcome:
    """Run a case of either kind."""
    match case:
        case ReportBatch():
            return await run_reports(world, case)
        case ShopCase():
            return await run_hostile(world, authority, case)
        case DeliveryCase():
            return await run_case(world, authority, case)


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    wanted = read_wanted(is_quick)
    with scratch_folder("fbx-prove-") as folder:
        authority = Authority(folder)
        run = partial(run_either, authority)
        sources = TIMED.write(subfolder(folder, "timed"))
        async with open_world(
            subfolder(folder, "real"), sources=sources, workers=_WORKERS
        ) as world:
            boundaries = await boundaries_of(world, authority)
            tell_boundaries(boundaries)
            cases = plan_cases(boundaries, wanted)
            check_any(cases)
            outcomes = await run_cases(cases, partial(run, world), workers=_WORKERS)
            caught = wanted.is_replay or await are_controls_caught(world, folder, CONTROLS, run)
    figures = figures_of(outcomes) | {"boundaries": len(boundaries), "seeds": wanted.seeds}
    if not wanted.is_replay:
        await _add_console(figures)
    wanted.conclude(figures, outcomes, is_caught=caught)
    figures["seconds"] = wanted.seconds
    is_whole = wanted.is_part or len(cases) >= CASES
    return are_none(figures, DeliveryViolation) and caught and is_whole, figures


async def _add_console(figures: dict[str, object]) -> None:
    """Count what the console says wrong among all that is told wrong."""
    tests, failing = await count_console_faults()
    figures["console_tests"] = tests
    figures[DeliveryViolation.TOLD_WRONG.value] = int(str(figures["told_wrong"])) + len(failing)
    for name in failing:
        say(f"FAILED the console: {name}")


def figures_of(outcomes: Sequence[DeliveryOutcome]) -> dict[str, object]:
    """Count the results of a run."""
    return {
        "cases": len(outcomes),
        **count_violations(outcomes, DeliveryViolation),
        "states": dict(Counter(each.state for each in outcomes)),
        "not_reached": sum(not each.is_reached for each in outcomes),
        "slowest_case_s": slowest_s(outcomes),
        "failing": name_failing(outcomes),
    }


_CONSOLE: Final = ROOT / "console"
_TABLE: Final = "src/features/discover/purchaseTable.test.ts"  # its control is one of its tests
_RUN_S: Final = 300.0


async def count_console_faults() -> tuple[int, list[str]]:
    """Run the table; return how many tests it has, and those that fail.

    Raises:
        RunFailed: it could not be run.
    """
    command = ("node_modules/.bin/vitest", "run", _TABLE, "--reporter=json")
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=_CONSOLE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_RUN_S):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        raise RunFailed("the console's table takes too long") from None
    try:
        (suite,) = json.loads(output)["testResults"]
    except (ValueError, LookupError) as error:
        raise RunFailed(
            "the console's table could not be run: scripts/console builds it"
        ) from error
    tests = suite["assertionResults"]
    return len(tests), [each["fullName"] for each in tests if each["status"] != "passed"]


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
