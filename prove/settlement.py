"""`make prove PROOF=settlement`: no settlement is lost or doubled, at any crash point.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n CASE=k repeats one case.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from farebox.local.faults import LocalFault
from prove.boundaries import RECORDINGS, background_labels, usual_boundaries
from prove.case import (
    UNDISTURBED,
    Boundaries,
    CallerBehaviour,
    Case,
    Topology,
    draw_cases,
    short_sweep,
    sweep,
)
from prove.concurrency import run_concurrently
from prove.control import control_sources, deaf_sources
from prove.crash import Outcome, record, record_idle, run_case, run_until_reached
from prove.crash_loop import Loop, LoopOutcome, loop_of, run_loop
from prove.interceptor import Boundary, CrashTiming
from prove.ledger_closer import Landing
from prove.payment_check import SettlementViolation
from prove.world import World, open_world
from testing.machine import RunFailed, say, scratch_folder, subfolder
from testing.report import run_and_report

_WORKERS: Final = 6
MOST_CONNECTIONS: Final = 20  # of a process, by the default settings
_QUICK_EVERY: Final = 19
_CONTROL_AT: Final = Boundary("rpc sendTransaction", 1)


async def boundaries_of(world: World) -> Boundaries:
    """Record the call boundaries of settlements without faults, for each topology."""
    idle = await record_idle(world)
    topologies = [topology for topology in Topology for _ in range(RECORDINGS)]
    recorded = await run_concurrently(
        topologies, lambda topology: record(world, topology), workers=2, label="recording"
    )
    by_topology: dict[Topology, list[list[Boundary]]] = {topology: [] for topology in Topology}
    for topology, calls in zip(topologies, recorded, strict=True):
        by_topology[topology].append(calls)
    background = background_labels(idle, by_topology[Topology.ONE])
    return {
        topology: usual_boundaries(each, background, label=topology)
        for topology, each in by_topology.items()
    }


def all_of(boundaries: Boundaries) -> list[Boundary]:
    """Return the boundaries of all topologies, once each."""
    return sorted({boundary for each in boundaries.values() for boundary in each})


def plan_cases(boundaries: Boundaries, *, seeds: int, is_quick: bool) -> list[Case | Loop]:
    """Plan the cases of a run, or the case that SEED and CASE name; CASE=0 is the crash loop."""
    seed, number = int(os.environ.get("SEED", "1")), os.environ.get("CASE")
    if number == "0":
        return [loop_of(seed)]
    if number is not None:
        candidates = sweep(boundaries) if seed == 1 else draw_cases(boundaries, seed)
        return [case for case in candidates if case.number == int(number)]
    if is_quick:
        return [*short_sweep(boundaries, every=_QUICK_EVERY), loop_of(1)]
    drawn = [case for each in range(2, seeds + 1) for case in draw_cases(boundaries, each)]
    return [*sweep(boundaries), *drawn, *(loop_of(each) for each in range(1, seeds + 1))]


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    began = time.monotonic()
    seeds = int(os.environ.get("SEEDS", "1" if is_quick else "20"))
    with scratch_folder("fbx-prove-") as folder:
        async with open_world(subfolder(folder, "real"), workers=_WORKERS) as world:
            boundaries = await boundaries_of(world)
            for boundary in all_of(boundaries):
                say(f"boundary: {boundary}")
            cases = plan_cases(boundaries, seeds=seeds, is_quick=is_quick)
            if not cases:
                raise RunFailed("no case has this number")
            outcomes = await run_concurrently(
                cases, lambda case: _run_and_report(world, case), workers=_WORKERS, label="cases"
            )
        is_replay = "CASE" in os.environ
        caught = is_replay or await _controls_are_caught(folder, boundaries)
    figures = figures_of(outcomes) | {"boundaries": len(all_of(boundaries)), "seeds": seeds}
    figures["seconds"] = round(time.monotonic() - began)
    if is_replay:
        for outcome in outcomes:
            say(str(outcome))
    else:
        figures["control_caught"] = caught
    is_right = not any(figures[fault] for fault in SettlementViolation)
    is_modest = all(each.connections_max <= MOST_CONNECTIONS for each in outcomes)
    return is_right and is_modest and caught, figures


async def _run_and_report(world: World, case: Case | Loop) -> Outcome | LoopOutcome:
    try:
        outcome = await (
            run_loop(world, case) if isinstance(case, Loop) else run_until_reached(world, case)
        )
    except (RunFailed, LocalFault) as fault:
        raise RunFailed(f"{case} could not be run: {fault}") from fault
    if outcome.findings:
        print(f"FAILED {outcome}", file=sys.stderr, flush=True)
    return outcome


def figures_of(outcomes: Sequence[Outcome | LoopOutcome]) -> dict[str, object]:
    """Count the results of a run."""
    findings = Counter(str(each.violation) for outcome in outcomes for each in outcome.findings)
    kills = [each for each in outcomes if isinstance(each, Outcome)]
    loops = [each for each in outcomes if isinstance(each, LoopOutcome)]
    return {
        "cases": len(outcomes),
        "doubled": findings[SettlementViolation.DOUBLED],
        "lost": findings[SettlementViolation.LOST],
        "unresolved": findings[SettlementViolation.UNRESOLVED],
        "answer_cut": sum(each.answer_cut for each in outcomes),
        "played_again": sum(each.runs - 1 for each in kills),
        "not_reached": sum(not each.is_reached for each in kills),
        "not_reached_at": Counter(
            each.case.boundary.label for each in kills if not each.is_reached
        ).most_common(20),
        "connections_max": max((each.connections_max for each in outcomes), default=0),
        "crash_loops": len(loops),
        "failing": [str(each.case) for each in outcomes if each.findings][:10],
        "slowest_case_s": round(max((each.took_s for each in kills), default=0.0), 1),
    }


async def _controls_are_caught(folder: Path, boundaries: Boundaries) -> bool:
    """Whether two builds fail the same proof.

    One records an envelope only after sending it; the other answers the fate of an envelope that
    another replica has replaced.
    """
    # without a repeated request, which would find the transaction
    around_sending = [
        replace(case, behaviour=CallerBehaviour.GIVES_UP)
        for case in sweep(boundaries)
        if (case.boundary, case.timing, case.landing)
        == (_CONTROL_AT, CrashTiming.AFTER, Landing.LANDS)
    ]
    careless = control_sources(subfolder(folder, "careless-code"))
    deaf = deaf_sources(subfolder(folder, "deaf-code"))
    caught = [
        await _is_caught(subfolder(folder, "careless"), careless, around_sending),
        await _is_caught(subfolder(folder, "deaf"), deaf, [UNDISTURBED] * _WORKERS),
    ]
    return all(caught)


async def _is_caught(folder: Path, sources: Path, cases: Sequence[Case]) -> bool:
    async with open_world(folder, sources=sources, workers=_WORKERS) as world:
        outcomes = await run_concurrently(
            cases, lambda case: run_case(world, case), workers=_WORKERS, label="control"
        )
    for outcome in outcomes:
        say(f"control: {outcome}")
    return any(outcome.findings for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
