"""`make prove PROOF=database`: no payment is lost, doubled or stuck by a failing statement.

SEEDS=20 for the whole proof, QUICK=1 for a minute; SEED=n CASE=k repeats one case.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from prove.boundaries import all_of, background_labels, record_each, usual_boundaries
from prove.broken_build import Build, End
from prove.case import Topology
from prove.crash import record, record_idle
from prove.database_case import (
    SETTINGS,
    STUCK_MS,
    Boundaries,
    DatabaseCase,
    DatabaseOutcome,
    cases_of,
    run_case,
    sweep,
)
from prove.database_faults import DatabaseFault, StatementFault
from prove.interceptor import Boundary
from prove.outcome import are_none, count_unreached, count_violations, name_failing
from prove.payment_check import SettlementViolation
from prove.run_cases import (
    Control,
    Played,
    Wanted,
    check_any,
    finds,
    open_builds,
    play_beside_controls,
    read_wanted,
    run_named,
    tell,
)
from prove.seller_verdict import DATABASE_VIOLATIONS
from prove.world import World, open_world
from testing.machine import RunFailed, say, scratch_folder, subfolder
from testing.report import run_and_report

CASES: Final = 300
_WORKERS: Final = 6
_QUICK_EVERY: Final = 7
_CONTROL_WITHIN_S: Final = 6.0  # a payment without an answer by then is stuck
_KINDS: Final = {False: "without a key", True: "with a key"}
DatabaseControl = Control[DatabaseCase, DatabaseOutcome]
DatabasePlayed = Played[DatabaseCase, DatabaseOutcome]


async def boundaries_of(world: World) -> Boundaries:
    """Record the statements of settlements without faults."""
    idle = asyncio.create_task(record_idle(world, settings=SETTINGS))
    recorded = await record_each(_KINDS, lambda is_named: statements(world, is_named=is_named))
    every = [calls for each in recorded.values() for calls in each]
    background = background_labels(await idle, every)
    return {
        is_named: usual_boundaries(recorded[is_named], background, label=label)
        for is_named, label in _KINDS.items()
    }


async def statements(world: World, *, is_named: bool) -> list[Boundary]:
    """Settle one payment without faults; return its statements."""
    headers = {"idempotency-key": "recorded-order"} if is_named else {}
    calls = await record(world, Topology.ONE, headers=headers, settings=SETTINGS)
    return [boundary for boundary in calls if boundary.label.startswith("sql")]


def plan_cases(boundaries: Boundaries, wanted: Wanted) -> list[DatabaseCase]:
    """Plan the cases of a run, or the one case that SEED and CASE name."""

    def quick() -> list[DatabaseCase]:
        return [case for case in sweep(boundaries) if case.number % _QUICK_EVERY == 1]

    return wanted.numbered(partial(cases_of, boundaries), quick=quick)


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    wanted = read_wanted(is_quick)
    with scratch_folder("fbx-prove-") as folder:
        async with open_world(subfolder(folder, "real"), workers=_WORKERS) as world:
            boundaries = await boundaries_of(world)
            cases = plan_cases(boundaries, wanted)
            check_any(cases)
            controls = [] if wanted.is_replay else controls_of(boundaries)
            played = await play(world, folder, cases, controls)
    figures = figures_of(played.outcomes)
    caught = played.are_controls_caught
    if not wanted.is_replay:
        figures |= {"statements": len(all_of(boundaries)), "seeds": wanted.seeds}
    wanted.conclude(figures, played.outcomes, is_caught=caught)
    if not wanted.is_replay:
        figures["seconds"] = wanted.seconds
    return holds(figures) and caught and (wanted.is_part or len(cases) >= CASES), figures


async def play(
    world: World, folder: Path, cases: Sequence[DatabaseCase], controls: Sequence[DatabaseControl]
) -> DatabasePlayed:
    """Run every case, and the case of every control with its build, a few at a time."""
    async with open_builds(folder, controls) as builds:

        async def run(case: DatabaseCase, control: DatabaseControl | None) -> DatabaseOutcome:
            if control is None:
                outcome = await run_named(case, run_case(world, case))
                if outcome.is_failed:
                    tell(f"FAILED {outcome}")
                return outcome
            broken = replace(world, fork_server=builds[control.name])
            running = run_case(broken, case, within_s=_CONTROL_WITHIN_S)
            outcome = await run_named(case, running)
            say(f"{control}: {outcome}")
            return outcome

        return await play_beside_controls(cases, controls, run, workers=_WORKERS)


def figures_of(outcomes: Sequence[DatabaseOutcome]) -> dict[str, object]:
    """Sum up all outcomes."""
    return {
        "stuck_ms_max": max(each.stuck_ms for each in outcomes),
        **count_violations(outcomes, DATABASE_VIOLATIONS),
        "cases": len(outcomes),
        **count_unreached(outcomes),
        "failing": name_failing(outcomes),
    }


def holds(figures: Mapping[str, object]) -> bool:
    """Whether there is no finding and no payment was stuck."""
    return are_none(figures, DATABASE_VIOLATIONS) and int(str(figures["stuck_ms_max"])) <= STUCK_MS


_RETURNS: Final = """

class NoReturns(ClaimReleaser):
    async def release(self, interrupted):
        return None


ClaimReleaser = NoReturns
"""
_SUCCESSES: Final = """

_take_known = take_successes


async def take_successes(db, wanted, *, at):
    from uuid import uuid4

    anew = [(identity, digest, uuid4()) for identity, digest, _ in wanted]
    return await _take_known(db, anew, at=at)
"""
_ATTEMPTS: Final = """

class AnsweredAttempts(SuccessAttempts):
    def is_lost(self, identity, request_digest):
        return False


SuccessAttempts = AnsweredAttempts
"""


def _is_stuck(outcomes: Sequence[DatabaseOutcome]) -> bool:
    return any(each.is_stuck for each in outcomes)


_JOURNAL: Final = "facilitator/journal"
_CLAIM: Final = "INSERT INTO settlements"
_TAKE: Final = "WITH eligible"
_is_forfeited: Final = finds(SettlementViolation.FORFEITED)


def controls_of(boundaries: Boundaries) -> list[DatabaseControl]:
    """Plan the case of each build: it lacks one precaution, and an answer of the database is lost.

    Raises:
        RunFailed: no settlement runs the statement of a control.
    """

    def lose(text: str, lasts_s: float) -> tuple[DatabaseCase]:
        fault = DatabaseFault(StatementFault.LOST, lasts_s=lasts_s)
        return (DatabaseCase(0, 1, _find_statement(boundaries, text), fault),)

    return [
        Control(
            "stuck",
            lose(_CLAIM, 1.5),
            Build((End(f"{_JOURNAL}/claim_release.py", "class ClaimReleaser:", _RETURNS),)),
            _is_stuck,
            "it does not release an interrupted claim",
        ),
        Control(
            "forfeited",
            lose(_TAKE, 0.0),
            Build((End(f"{_JOURNAL}/store.py", "async def take_successes(", _SUCCESSES),)),
            _is_forfeited,
            "it takes a success again as a new attempt",
        ),
        Control(
            "answered",
            lose(_TAKE, 1.5),
            Build((End(f"{_JOURNAL}/journal.py", "class SuccessAttempts:", _ATTEMPTS),)),
            _is_forfeited,
            "it treats a success as answered when the answer of the database was lost",
        ),
    ]


def _find_statement(boundaries: Boundaries, text: str) -> Boundary:
    for boundary in boundaries[False]:
        if boundary.label.startswith(f"sql {text}"):
            return boundary
    raise RunFailed(f"no settlement runs {text}")


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
