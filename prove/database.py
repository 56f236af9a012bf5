"""`make prove PROOF=database`: no payment is lost, doubled or stuck by a failing statement.

SEEDS=20 for the whole proof, QUICK=1 for a minute; SEED=n CASE=k repeats one case.
"""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from farebox.local.faults import LocalFault
from prove.boundaries import RECORDINGS, background_labels, usual_boundaries
from prove.case import Topology
from prove.concurrency import run_concurrently
from prove.crash import record, record_idle
from prove.database_case import (
    SETTINGS,
    STUCK_MS,
    Boundaries,
    Case,
    Outcome,
    draw_cases,
    run_case,
    sweep,
)
from prove.database_control import CONTROL_WITHIN_S, Control, broken_sources, control_case
from prove.database_verdict import Violation
from prove.fork_server import ForkServer
from prove.interceptor import Boundary
from prove.world import World, open_world
from testing.machine import RunFailed, say, scratch_folder, subfolder
from testing.report import run_and_report

CASES: Final = 300
_WORKERS: Final = 6
_SEEDS: Final = 20
_QUICK_EVERY: Final = 7


async def boundaries_of(world: World) -> Boundaries:
    """Record the statements of settlements without faults."""
    idle = asyncio.create_task(record_idle(world, settings=SETTINGS))
    kinds = [is_named for is_named in (False, True) for _ in range(RECORDINGS)]
    recorded = await run_concurrently(
        kinds, lambda is_named: statements(world, is_named=is_named), workers=2, label="recording"
    )
    background = background_labels(await idle, recorded)
    plain, named = recorded[:RECORDINGS], recorded[RECORDINGS:]
    return {
        False: usual_boundaries(plain, background, label="without a key"),
        True: usual_boundaries(named, background, label="with a key"),
    }


async def statements(world: World, *, is_named: bool) -> list[Boundary]:
    """Settle one payment without faults; return its statements."""
    headers = {"idempotency-key": "recorded-order"} if is_named else {}
    calls = await record(world, Topology.ONE, headers=headers, settings=SETTINGS)
    return [boundary for boundary in calls if boundary.label.startswith("sql")]


def plan_cases(boundaries: Boundaries, *, seeds: int, is_quick: bool) -> list[Case]:
    """Plan the cases of a run, or the one case that SEED and CASE name."""
    seed, number = int(os.environ.get("SEED", "1")), os.environ.get("CASE")
    if number is not None:
        candidates = sweep(boundaries) if seed == 1 else draw_cases(boundaries, seed)
        return [case for case in candidates if case.number == int(number)]
    if is_quick:
        return [case for case in sweep(boundaries) if case.number % _QUICK_EVERY == 1]
    drawn = [case for each in range(2, seeds + 1) for case in draw_cases(boundaries, each)]
    return sweep(boundaries) + drawn


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    began = time.monotonic()
    seeds = int(os.environ.get("SEEDS", "1" if is_quick else _SEEDS))
    is_replay = "CASE" in os.environ
    with scratch_folder("fbx-prove-") as folder:
        async with open_world(subfolder(folder, "real"), workers=_WORKERS) as world:
            boundaries = await boundaries_of(world)
            cases = plan_cases(boundaries, seeds=seeds, is_quick=is_quick)
            if not cases:
                raise RunFailed("no case has this number")
            controls = (
                {} if is_replay else {each: control_case(boundaries, each) for each in Control}
            )
            results = await run_cases(world, folder, cases, controls)
    if is_replay:
        say(str(results.outcomes[0]))
        return not results.outcomes[0].is_failed, figures_of(results.outcomes)
    known = {boundary for each in boundaries.values() for boundary in each}
    figures = figures_of(results.outcomes) | {"statements": len(known), "seeds": seeds}
    figures["control_caught"] = results.are_controls_caught
    figures["seconds"] = round(time.monotonic() - began)
    is_whole = is_quick or seeds < _SEEDS or len(cases) >= CASES
    return holds(figures) and results.are_controls_caught and is_whole, figures


@dataclass(frozen=True, slots=True)
class Results:
    """The outcomes of the cases and of the controls."""

    outcomes: Sequence[Outcome]
    controls: Mapping[Control, Outcome]

    @property
    def are_controls_caught(self) -> bool:
        """Whether every control shows its defect."""
        return all(control.shows_in(outcome) for control, outcome in self.controls.items())


async def run_cases(
    world: World, folder: Path, cases: Sequence[Case], controls: Mapping[Control, Case]
) -> Results:
    """Run every case, and the case of every control with its build, a few at a time."""
    async with AsyncExitStack() as opened:
        builds: dict[Control | None, World] = {None: world}
        for control in controls:
            sources = broken_sources(subfolder(folder, control.name.lower()), control)
            fork_server = await opened.enter_async_context(ForkServer(sources))
            builds[control] = replace(world, fork_server=fork_server)

        async def one(item: tuple[Control | None, Case]) -> Outcome:
            control, case = item
            return await _run_one(builds[control], case, control)

        items: list[tuple[Control | None, Case]] = [*controls.items()]
        items += [(None, case) for case in cases]
        outcomes = await run_concurrently(items, one, workers=_WORKERS, label="cases")
    return Results(
        outcomes[len(controls) :], dict(zip(controls, outcomes[: len(controls)], strict=True))
    )


async def _run_one(world: World, case: Case, control: Control | None) -> Outcome:
    try:
        if control is None:
            outcome = await run_case(world, case)
        else:
            outcome = await run_case(world, case, within_s=CONTROL_WITHIN_S)
    except (LocalFault, RunFailed) as fault:
        raise RunFailed(f"{case} could not be run: {fault}") from fault
    if control is not None:
        say(f"control ({control}): {outcome}")
    elif outcome.is_failed:
        print(f"FAILED {outcome}", file=sys.stderr, flush=True)
    return outcome


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Sum up all outcomes."""
    counted = Counter(violation for outcome in outcomes for violation, _ in outcome.findings)
    unreached = Counter(each.case.boundary.label for each in outcomes if not each.is_reached)
    return {
        "stuck_ms_max": max(each.stuck_ms for each in outcomes),
        **{violation.value: counted[violation] for violation in Violation},
        "cases": len(outcomes),
        "not_reached": unreached.total(),
        "not_reached_at": unreached.most_common(10),
        "failing": [str(each.case) for each in outcomes if each.is_failed][:10],
    }


def holds(figures: Mapping[str, object]) -> bool:
    """Whether there is no finding and no payment was stuck."""
    stuck_ms = int(str(figures["stuck_ms_max"]))
    return not any(figures[violation] for violation in Violation) and stuck_ms <= STUCK_MS


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
