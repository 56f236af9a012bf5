"""Some cases of the proof of automation, and its controls."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from farebox.automation.plans.session_spec import AuthorityMode
from prove.automation import CONTROLS, MOST_CONNECTIONS
from prove.automation_case import Fate, FaultKind, RunCase, Scenario
from prove.automation_run import RunOutcome, run_case, run_until_reached
from prove.automation_verdict import RunViolation
from prove.automation_world import open_automation_world
from prove.fork_server import ForkServer
from prove.interceptor import Boundary
from prove.run_cases import run_concurrently
from testing.machine import scratch_folder, subfolder

SEND = Boundary("rpc sendTransaction", 1)
SIMULATE = Boundary("rpc simulateTransaction", 2)
PLACES = [
    (Scenario(AuthorityMode.OPEN, Fate.NEVER), SEND, FaultKind.KILLED_BEFORE),
    (Scenario(AuthorityMode.PRESIGNED, Fate.STRANGER), SIMULATE, FaultKind.STALLED),
    (Scenario(AuthorityMode.SESSION, Fate.KEPT), SEND, FaultKind.CUT_AFTER),
    (Scenario(AuthorityMode.MANDATE, Fate.STRANGER), SEND, FaultKind.KILLED_AFTER),
]
BROKEN = {control.name: control.cases[0] for control in CONTROLS}
_WORKERS = 4


def fail_at(scenario: Scenario, boundary: Boundary, fault: FaultKind) -> RunCase:
    return RunCase(0, 0, scenario, boundary, fault)


@pytest.fixture(scope="module")
async def played(tmp_path_factory: pytest.TempPathFactory) -> Mapping[RunCase, RunOutcome]:
    """Every case below, four at a time, and one of each control."""
    folder = Path(tmp_path_factory.mktemp("controls"))
    cases = [fail_at(*place) for place in PLACES]
    async with AsyncExitStack() as stack:
        scratch = stack.enter_context(scratch_folder("fbx-test-"))
        opened = open_automation_world(subfolder(scratch, "runs"), workers=_WORKERS)
        world = await stack.enter_async_context(opened)
        builds = {}
        for control in CONTROLS:
            sources = control.build.write(subfolder(folder, control.name))
            build = await stack.enter_async_context(ForkServer(sources))
            builds[BROKEN[control.name]] = replace(
                world, world=replace(world.world, fork_server=build)
            )

        async def play(case: RunCase) -> RunOutcome:
            if case in builds:
                return await run_case(builds[case], case)
            return await run_until_reached(world, case)

        every = [*builds, *cases]
        outcomes = await run_concurrently(every, play, workers=_WORKERS, label="runs")
    return dict(zip(every, outcomes, strict=True))


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[2]} at {place[1]}")
def test_run_happens_once_whatever_call_fails(
    played: Mapping[RunCase, RunOutcome], place: tuple[Scenario, Boundary, FaultKind]
) -> None:
    outcome = played[fail_at(*place)]
    assert outcome.is_reached
    assert outcome.findings == [], str(outcome)
    assert outcome.states == ["succeeded", "succeeded"]
    assert 0 < outcome.connections_max <= MOST_CONNECTIONS


@pytest.mark.parametrize("name", BROKEN)
def test_control_build_that_reuses_or_doubles_a_run_is_caught(
    played: Mapping[RunCase, RunOutcome], name: str
) -> None:
    outcome = played[BROKEN[name]]
    found = {each.violation for each in outcome.findings}
    assert found & {RunViolation.REUSED, RunViolation.DOUBLED}, str(outcome)
