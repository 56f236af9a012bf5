"""Some cases of the proof of the database, and its control."""

from itertools import cycle
from pathlib import Path
from typing import Final

import pytest

from prove.database import Results, figures_of, holds, run_cases, statements
from prove.database_case import Boundaries, Case
from prove.database_control import Control, control_case
from prove.database_faults import Fault, Kind
from prove.world import World
from support.promises import promise

READING: Final = ("sql prepare", "sql SELECT", "sql BEGIN", "sql WITH RECURSIVE")
LASTING_S: Final = 1.2  # longer than the journal repeats a statement within a call
FAULTS: Final = (
    Fault(Kind.LOST),
    Fault(Kind.DEADLOCK),
    Fault(Kind.LOST, lasts_s=LASTING_S),
    Fault(Kind.SERIALIZATION, lasts_s=LASTING_S),
    Fault(Kind.DISK_FULL, lasts_s=LASTING_S),
    Fault(Kind.ERROR, lasts_s=LASTING_S),
)
TAKING, CLAIMING = "sql WITH eligible", "sql INSERT INTO settlements"


def cases_of(boundaries: Boundaries) -> list[Case]:
    """Each statement that changes something, each in another way; two of them in one more."""
    changing = {each.label: each for each in boundaries[False]}
    changing = {label: each for label, each in changing.items() if not label.startswith(READING)}
    (taking,) = (each for label, each in changing.items() if label.startswith(TAKING))
    (claiming,) = (each for label, each in changing.items() if label.startswith(CLAIMING))
    cases = [(claiming, Fault(Kind.DELAYED)), (taking, Fault(Kind.LOST, lasts_s=LASTING_S))]
    cases += zip(changing.values(), cycle(FAULTS), strict=False)
    return [Case(1, number, *each) for number, each in enumerate(cases, 1)]


@pytest.fixture(scope="module")
async def results(world: World, tmp_path_factory: pytest.TempPathFactory) -> Results:
    boundaries = {False: await statements(world, is_named=False), True: []}
    controls = {each: control_case(boundaries, each) for each in Control}
    folder = Path(tmp_path_factory.mktemp("database-faults"))
    return await run_cases(world, folder, cases_of(boundaries), controls)


@promise("error:never-a-double-charge")
def test_statement_faults_lose_double_or_block_no_payment(
    results: Results,
) -> None:
    assert len(results.outcomes) >= 10
    failed = [str(each) for each in results.outcomes if each.findings or not each.is_reached]
    assert failed == []


def test_database_proof_figures_report_cases_and_result(results: Results) -> None:
    figures = figures_of(results.outcomes)
    assert figures["cases"] == len(results.outcomes)
    assert holds(figures) is not any(each.is_failed for each in results.outcomes)


@pytest.mark.parametrize("control", list(Control), ids=lambda control: control.name.lower())
def test_control_build_without_one_fix_is_detected(results: Results, control: Control) -> None:
    assert control.shows_in(results.controls[control]), str(results.controls[control])
