"""Eight kinds of faults of the proof of nodes, each once, and two of its controls."""

from collections.abc import AsyncIterator

import pytest

from prove.nodes import Results, figures_of, holds, open_worlds, run_cases
from prove.nodes_case import Case
from prove.nodes_control import Control
from prove.nodes_faults import Kind
from support.promises import promise
from testing.machine import scratch_folder

CONTROLS = (Control.CURSOR, Control.SIMULATION)
# those of the controls, and those after which an outcome is hardest to know
KINDS = (
    Kind.LAG,
    Kind.AHEAD,
    Kind.CURSOR,
    Kind.SIMULATION,
    Kind.ERROR_AFTER,
    Kind.SENDING,
    Kind.TORN,
    Kind.OUTLIVED,
)
CASES = [Case(1, kind) for kind in KINDS]


@pytest.fixture(scope="module")
async def results() -> AsyncIterator[Results]:
    with scratch_folder("fbx-test-") as folder:
        async with open_worlds(folder, 2) as worlds:
            yield await run_cases(worlds, folder, CASES, CONTROLS)


@promise("error:never-a-double-charge")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
def test_node_faults_refuse_fail_double_or_lose_no_valid_payment(
    results: Results, kind: Kind
) -> None:
    (outcome,) = (each for each in results.outcomes if each.case.kind is kind)
    assert outcome.findings == [], str(outcome)  # how soon it recovers is the proof's to measure


def test_node_proof_figures_report_every_case_and_result(results: Results) -> None:
    figures = figures_of(results.outcomes)
    assert figures["cases"] == len(CASES)
    assert holds(figures) is not any(each.is_failed for each in results.outcomes)


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.name.lower())
def test_control_build_without_one_fix_is_detected(results: Results, control: Control) -> None:
    assert results.is_caught(control), [str(each) for each in results.controls[control]]
