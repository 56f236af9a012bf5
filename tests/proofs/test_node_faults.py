"""Eight kinds of faults of the proof of nodes, each once, and two of its controls."""

from collections.abc import AsyncIterator

import pytest

from prove.nodes import CONTROLS, NodesPlayed, figures_of, holds, open_worlds, play
from prove.nodes_case import NodesCase
from prove.nodes_faults import NodeKind
from support.promises import promise
from testing.machine import scratch_folder

PLAYED = CONTROLS[:2]  # cursors and simulations
# those of the controls, and those after which an outcome is hardest to know
KINDS = (
    NodeKind.LAG,
    NodeKind.AHEAD,
    NodeKind.CURSOR,
    NodeKind.SIMULATION,
    NodeKind.ERROR_AFTER,
    NodeKind.SENDING,
    NodeKind.TORN,
    NodeKind.OUTLIVED,
)
CASES = [NodesCase(1, kind) for kind in KINDS]


@pytest.fixture(scope="module")
async def results() -> AsyncIterator[NodesPlayed]:
    with scratch_folder("fbx-test-") as folder:
        async with open_worlds(folder, 2) as worlds:
            yield await play(worlds, folder, CASES, PLAYED)


@promise("error:never-a-double-charge")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
def test_node_faults_refuse_fail_double_or_lose_no_valid_payment(
    results: NodesPlayed, kind: NodeKind
) -> None:
    (outcome,) = (each for each in results.outcomes if each.case.kind is kind)
    assert outcome.findings == [], str(outcome)  # how soon it recovers is the proof's to measure


def test_node_proof_figures_report_every_case_and_result(results: NodesPlayed) -> None:
    figures = figures_of(results.outcomes)
    assert figures["cases"] == len(CASES)
    assert holds(figures) is not any(each.is_failed for each in results.outcomes)


@pytest.mark.parametrize("control", [each.name for each in PLAYED])
def test_control_build_without_one_fix_is_detected(results: NodesPlayed, control: str) -> None:
    assert results.is_caught(control), [str(each) for each in results.controls[control][1]]
