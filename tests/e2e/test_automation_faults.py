"""Some cases of the proof of automation, and its control."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from e2e.machine import scratch_folder, subfolder
from farebox.automation.plans.session_spec import AuthorityMode
from prove.automation import MOST_CONNECTIONS
from prove.automation_case import UNDISTURBED, Fate, FaultKind, RunCase, Scenario
from prove.automation_control import hasty_sources
from prove.automation_run import RunOutcome, run_until_reached
from prove.automation_verdict import RunViolation
from prove.automation_world import open_automation_world
from prove.concurrency import run_concurrently
from prove.fork_server import ForkServer
from prove.interceptor import Boundary

SEND = Boundary("rpc sendTransaction", 1)
SIMULATE = Boundary("rpc simulateTransaction", 2)
LANDS = Scenario(AuthorityMode.OPEN, Fate.LANDS)
NEVER = Scenario(AuthorityMode.OPEN, Fate.NEVER)
STRANGER = Scenario(AuthorityMode.PRESIGNED, Fate.STRANGER)
PLACES = [
    (LANDS, SEND, FaultKind.KILLED_AFTER),
    (NEVER, SEND, FaultKind.KILLED_BEFORE),
    (STRANGER, SEND, FaultKind.CUT_AFTER),
    (STRANGER, SIMULATE, FaultKind.STALLED),
]
HASTY = [
    replace(UNDISTURBED, seed=-1, number=number, scenario=Scenario(AuthorityMode.OPEN, fate))
    for number, fate in enumerate((Fate.SLOW, Fate.CLOCK))
]
_WORKERS = 2


def fail_at(scenario: Scenario, boundary: Boundary, fault: FaultKind) -> RunCase:
    return RunCase(0, 0, scenario, boundary, fault)


@pytest.fixture(scope="module")
async def played(tmp_path_factory: pytest.TempPathFactory) -> Mapping[RunCase, RunOutcome]:
    """Every case below, two at a time."""
    cases = [*HASTY, *(fail_at(*place) for place in PLACES)]
    folder = Path(tmp_path_factory.mktemp("control"))
    with scratch_folder("fbx-test-") as scratch:
        async with (
            open_automation_world(subfolder(scratch, "runs"), workers=_WORKERS) as world,
            ForkServer(hasty_sources(folder)) as hasty,
        ):
            broken = replace(world, world=replace(world.world, fork_server=hasty))

            async def one(case: RunCase) -> RunOutcome:
                return await run_until_reached(broken if case in HASTY else world, case)

            outcomes = await run_concurrently(cases, one, workers=_WORKERS, label="runs")
    return dict(zip(cases, outcomes, strict=True))


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[2]} at {place[1]}")
def test_run_happens_once_whatever_call_fails(
    played: Mapping[RunCase, RunOutcome], place: tuple[Scenario, Boundary, FaultKind]
) -> None:
    outcome = played[fail_at(*place)]
    assert outcome.is_reached
    assert outcome.findings == [], str(outcome)
    assert outcome.states == ["succeeded", "succeeded"]
    assert 0 < outcome.connections_max <= MOST_CONNECTIONS


def test_control_build_that_does_not_wait_for_an_envelope_is_caught(
    played: Mapping[RunCase, RunOutcome],
) -> None:
    found = {each.violation for case in HASTY for each in played[case].findings}
    assert found & {RunViolation.REUSED, RunViolation.DOUBLED}, [str(played[e]) for e in HASTY]
