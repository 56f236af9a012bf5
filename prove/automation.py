"""`make prove PROOF=automation`: no run happens twice, is lost or is charged wrongly.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n CASE=k repeats one case.
"""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from e2e.machine import RunFailed, say, scratch_folder, subfolder
from e2e.report import run_and_report
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.local.faults import LocalFault
from prove.automation_case import (
    Boundaries,
    Fate,
    RunCase,
    Scenario,
    draw_cases,
    list_scenarios,
)
from prove.automation_control import CONTROL_S, CONTROLS, Control
from prove.automation_run import (
    RunOutcome,
    is_kill,
    record,
    record_idle,
    run_case,
    run_until_reached,
)
from prove.automation_verdict import RunViolation
from prove.automation_world import AutomationWorld, open_automation_world
from prove.boundaries import background_labels, usual_boundaries
from prove.concurrency import run_concurrently
from prove.fork_server import ForkServer
from prove.interceptor import Boundary

_WORKERS: Final = 6
_RECORDINGS: Final = 3
_LOOKS: Final = ("rpc getTransaction", "rpc getLedgerEntries")
_MOST_LOOKS: Final = 2  # how many there are depends on the ledgers that close meanwhile
_QUICK_CASES: Final = 14
_QUICK_SEEDS: Final = (2, 3)
MOST_CONNECTIONS: Final = 20  # of a process, by the default settings


async def boundaries_of(world: AutomationWorld, scenarios: Sequence[Scenario]) -> Boundaries:
    """Record the calls of runs without faults, for each scenario."""
    plays = [scenario for scenario in scenarios for _ in range(_RECORDINGS)]
    idle, calls = await asyncio.gather(
        record_idle(world),
        run_concurrently(
            plays, lambda scenario: record(world, scenario), workers=_WORKERS - 1, label="recording"
        ),
    )
    recorded: dict[Scenario, list[list[Boundary]]] = {each: [] for each in scenarios}
    for scenario, made in zip(plays, calls, strict=True):
        recorded[scenario].append(made)
    every = [made for plays_of in recorded.values() for made in plays_of]
    background = background_labels(idle, every)
    return {
        scenario: [
            boundary
            for boundary in usual_boundaries(
                each, background, label=str(scenario), usual=_RECORDINGS - 1
            )
            if boundary.occurrence <= _MOST_LOOKS or not boundary.label.startswith(_LOOKS)
        ]
        for scenario, each in recorded.items()
    }


def all_of(boundaries: Boundaries) -> list[Boundary]:
    """Return the boundaries of all scenarios, once each."""
    return sorted({boundary for each in boundaries.values() for boundary in each})


def plan_cases(boundaries: Boundaries, *, seeds: int, is_quick: bool) -> list[RunCase]:
    """Plan the cases of a run, or the case that SEED and CASE name."""
    number = os.environ.get("CASE")
    if number is not None:
        drawn = draw_cases(boundaries, int(os.environ.get("SEED", "1")))
        return [case for case in drawn if case.number == int(number)]
    if is_quick:
        drawn = [case for seed in _QUICK_SEEDS for case in draw_cases(boundaries, seed)]
        return drawn[:: max(1, len(drawn) // _QUICK_CASES)]
    return [case for seed in range(1, seeds + 1) for case in draw_cases(boundaries, seed)]


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    began = time.monotonic()
    seeds = int(os.environ.get("SEEDS", "1" if is_quick else "20"))
    scenarios = _quick_scenarios() if is_quick and "CASE" not in os.environ else list_scenarios()
    with scratch_folder("fbx-prove-") as folder:
        async with open_automation_world(subfolder(folder, "real"), workers=_WORKERS) as world:
            boundaries = await boundaries_of(world, scenarios)
            for boundary in all_of(boundaries):
                say(f"boundary: {boundary}")
            cases = plan_cases(boundaries, seeds=seeds, is_quick=is_quick)
            if not cases:
                raise RunFailed("no case has this number")
            outcomes = await run_concurrently(
                cases, lambda case: _run_and_report(world, case), workers=_WORKERS, label="cases"
            )
            is_replay = "CASE" in os.environ
            caught = is_replay or await _controls_are_caught(world, folder)
    figures = figures_of(outcomes) | {"boundaries": len(all_of(boundaries)), "seeds": seeds}
    figures["seconds"] = round(time.monotonic() - began)
    if is_replay:
        for outcome in outcomes:
            say(str(outcome))
    else:
        figures["control_caught"] = caught
    is_right = not any(figures[violation] for violation in RunViolation)
    is_modest = all(each.connections_max <= MOST_CONNECTIONS for each in outcomes)
    return is_right and is_modest and caught, figures


def _quick_scenarios() -> list[Scenario]:
    return [
        Scenario(AuthorityMode.OPEN, Fate.LANDS),
        Scenario(AuthorityMode.PRESIGNED, Fate.STRANGER),
        Scenario(AuthorityMode.SESSION, Fate.KEPT),
        Scenario(AuthorityMode.MANDATE, Fate.NEVER),
    ]


async def _run_and_report(world: AutomationWorld, case: RunCase) -> RunOutcome:
    try:
        outcome = await run_until_reached(world, case)
    except (RunFailed, LocalFault) as fault:
        raise RunFailed(f"{case} could not be run: {fault}") from fault
    if outcome.findings:
        print(f"FAILED {outcome}", file=sys.stderr, flush=True)
    return outcome


def figures_of(outcomes: Sequence[RunOutcome]) -> dict[str, object]:
    """Count the results of a run."""
    found = Counter(each.violation for outcome in outcomes for each in outcome.findings)
    return {
        "cases": len(outcomes),
        "kills": sum(is_kill(each.case) for each in outcomes),
        **{violation.value: found[violation] for violation in RunViolation},
        "runs": sum(len(each.states) for each in outcomes),
        "attempts": sum(each.attempts for each in outcomes),
        "played_again": sum(each.plays - 1 for each in outcomes),
        "not_reached": sum(not each.is_reached for each in outcomes),
        "not_reached_at": Counter(
            each.case.boundary.label for each in outcomes if not each.is_reached
        ).most_common(10),
        "connections_max": max((each.connections_max for each in outcomes), default=0),
        "failing": [str(each.case) for each in outcomes if each.findings][:10],
        "slowest_case_s": round(max((each.took_s for each in outcomes), default=0.0), 1),
    }


async def _controls_are_caught(world: AutomationWorld, folder: Path) -> bool:
    """Whether each broken build is caught, on the network and databases of the sound one."""
    return all(await asyncio.gather(*(_is_caught(world, folder, each) for each in CONTROLS)))


async def _is_caught(world: AutomationWorld, folder: Path, control: Control) -> bool:
    """Whether the verdict finds that the build reuses an authorization or doubles a run."""
    async with ForkServer(control.make(subfolder(folder, control.name))) as fork_server:
        broken = replace(world, world=replace(world.world, fork_server=fork_server))
        outcomes = await run_concurrently(
            control.cases,
            lambda case: run_case(broken, case, patience_s=CONTROL_S),
            workers=len(control.cases),
            label=f"control, {control.name}",
        )
    for outcome in outcomes:
        say(f"control, {control.name}: {outcome}")
    caught = {each.violation for outcome in outcomes for each in outcome.findings}
    return bool(caught & {RunViolation.REUSED, RunViolation.DOUBLED})


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
