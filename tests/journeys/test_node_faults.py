"""The short form of the proof of nodes: every kind of fault once, and that the proof can fail."""

from collections.abc import AsyncIterator

import pytest

from e2e.machine import scratch_folder
from prove.nodes import Results, figures_of, holds, opened_worlds, planned, play_all
from prove.nodes_control import Control
from prove.nodes_faults import Kind
from support.promises import promise


@pytest.fixture(scope="module")
async def results() -> AsyncIterator[Results]:
    with scratch_folder("fbx-test-") as folder:
        async with opened_worlds(folder, 2) as worlds:
            yield await play_all(worlds, folder, planned(1), tuple(Control))


@promise("error:never-a-double-charge")
@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.name.lower())
def test_no_valid_payment_is_refused_failed_doubled_or_lost_by_a_wrong_node(
    results: Results, kind: Kind
) -> None:
    (outcome,) = (each for each in results.outcomes if each.case.kind is kind)
    assert not outcome.is_failed, str(outcome)


def test_the_figures_say_that_every_kind_was_played_and_holds(results: Results) -> None:
    figures = figures_of(results.outcomes)
    assert figures["cases"] == len(Kind)
    assert holds(figures) is not any(each.is_failed for each in results.outcomes)


@pytest.mark.parametrize("control", list(Control), ids=lambda control: control.name.lower())
def test_a_build_that_takes_one_fix_back_is_caught(results: Results, control: Control) -> None:
    assert results.is_caught(control), [str(each) for each in results.controls[control]]
