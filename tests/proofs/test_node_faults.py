"""The short form of the proof of nodes: every kind of fault once, and its control."""

from collections.abc import AsyncIterator

import pytest

from e2e.machine import scratch_folder
from prove.nodes import Results, figures_of, holds, open_worlds, plan_cases, run_cases
from prove.nodes_control import Control
from prove.nodes_faults import Kind
from support.promises import promise


@pytest.fixture(scope="module")
async def results() -> AsyncIterator[Results]:
    with scratch_folder("fbx-test-") as folder:
        async with open_worlds(folder, 2) as worlds:
            yield await run_cases(worlds, folder, plan_cases(1), tuple(Control))


@promise("error:never-a-double-charge")
@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.name.lower())
def test_node_faults_refuse_fail_double_or_lose_no_valid_payment(
    results: Results, kind: Kind
) -> None:
    (outcome,) = (each for each in results.outcomes if each.case.kind is kind)
    assert outcome.findings == [], str(outcome)  # how soon it recovers is the proof's to measure


def test_node_proof_figures_report_every_fault_kind_and_result(results: Results) -> None:
    figures = figures_of(results.outcomes)
    assert figures["cases"] == len(Kind)
    assert holds(figures) is not any(each.is_failed for each in results.outcomes)


@pytest.mark.parametrize("control", list(Control), ids=lambda control: control.name.lower())
def test_control_build_without_one_fix_is_detected(results: Results, control: Control) -> None:
    assert results.is_caught(control), [str(each) for each in results.controls[control]]
