"""Some cases of the proof of the database, and its control."""

from itertools import cycle
from pathlib import Path
from typing import Final

import pytest

from prove.database import (
    DatabasePlayed,
    controls_of,
    figures_of,
    holds,
    play,
    statements,
)
from prove.database_case import Boundaries, DatabaseCase
from prove.database_faults import DatabaseFault, StatementFault
from prove.world import World
from support.promises import promise

READING: Final = ("sql prepare", "sql SELECT", "sql BEGIN", "sql WITH RECURSIVE")
LASTING_S: Final = 1.2  # longer than the journal repeats a statement within a call
FAULTS: Final = (
    DatabaseFault(StatementFault.LOST),
    DatabaseFault(StatementFault.DEADLOCK),
    DatabaseFault(StatementFault.LOST, lasts_s=LASTING_S),
    DatabaseFault(StatementFault.SERIALIZATION, lasts_s=LASTING_S),
    DatabaseFault(StatementFault.DISK_FULL, lasts_s=LASTING_S),
    DatabaseFault(StatementFault.ERROR, lasts_s=LASTING_S),
)
TAKING, CLAIMING = "sql WITH eligible", "sql INSERT INTO settlements"


def cases_of(boundaries: Boundaries) -> list[DatabaseCase]:
    """Each statement that changes something, each in another way; two of them in one more."""
    changing = {each.label: each for each in boundaries[False]}
    changing = {label: each for label, each in changing.items() if not label.startswith(READING)}
    (taking,) = (each for label, each in changing.items() if label.startswith(TAKING))
    (claiming,) = (each for label, each in changing.items() if label.startswith(CLAIMING))
    cases = [
        (claiming, DatabaseFault(StatementFault.DELAYED)),
        (taking, DatabaseFault(StatementFault.LOST, lasts_s=LASTING_S)),
    ]
    cases += zip(changing.values(), cycle(FAULTS), strict=False)
    return [DatabaseCase(1, number, *each) for number, each in enumerate(cases, 1)]


@pytest.fixture(scope="module")
async def results(world: World, tmp_path_factory: pytest.TempPathFactory) -> DatabasePlayed:
    boundaries = {False: await statements(world, is_named=False), True: []}
    folder = Path(tmp_path_factory.mktemp("database-faults"))
    return await play(world, folder, cases_of(boundaries), controls_of(boundaries))


@promise("error:never-a-double-charge")
def test_statement_faults_lose_double_or_block_no_payment(
    results: DatabasePlayed,
) -> None:
    assert len(results.outcomes) >= 10
    failed = [str(each) for each in results.outcomes if each.findings or not each.is_reached]
    assert failed == []


def test_database_proof_figures_report_cases_and_result(results: DatabasePlayed) -> None:
    figures = figures_of(results.outcomes)
    assert figures["cases"] == len(results.outcomes)
    assert holds(figures) is not any(each.is_failed for each in results.outcomes)


@pytest.mark.parametrize("control", ["stuck", "forfeited", "answered"])
def test_control_build_without_one_fix_is_detected(results: DatabasePlayed, control: str) -> None:
    assert results.is_caught(control), [str(each) for each in results.controls[control][1]]
