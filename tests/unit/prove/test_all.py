"""Running all proofs: the list, the result table, and proofs that fail or do not end."""

from pathlib import Path

import prove
from prove.all import (
    PROOFS,
    ProofResult,
    SizedProof,
    environment_of,
    failed_of,
    run_proof,
    table_of,
)
from prove.rot import RUNS_OTHERS
from testing.module_run import last_line

HELD = ProofResult(SizedProof("held", {}), 0, 61.4, {"cases": 12})
FAILED = ProofResult(SizedProof("failed", {}), 1, 5.0, {"cases": 3})
UNPLAYED = ProofResult(SizedProof("unplayed", {}), 2, 1.0, {"error": "no database"})


def test_every_proof_is_run() -> None:
    (folder,) = prove.__path__
    modules = [each for each in Path(folder).glob("*.py") if "run_and_report(" in each.read_text()]
    proofs = {f"prove.{each.stem}" for each in modules} - RUNS_OTHERS - {"prove.mutation"}
    assert proofs == {f"prove.{each.name}" for each in PROOFS}


def test_failed_of_names_proofs_that_failed_or_could_not_run() -> None:
    assert failed_of([HELD, FAILED, UNPLAYED]) == ["failed", "unplayed"]
    assert failed_of([HELD]) == []


def test_table_has_proof_cases_seconds_and_result() -> None:
    lines = [line.split() for line in table_of([HELD, UNPLAYED]).splitlines()]
    assert lines == [
        ["proof", "cases", "seconds", "result"],
        ["held", "12", "61", "holds"],
        ["unplayed", "-", "1", "could", "not", "run"],
    ]


def test_environment_of_a_proof_has_its_size_unless_quick_and_no_single_case() -> None:
    given = {"SEEDS": "20", "CASE": "7", "KIND": "lag", "QUICK": "1"}
    sized = SizedProof("nodes", {"SEEDS": "8"})
    assert environment_of(sized, given, is_quick=False) == {"SEEDS": "8", "QUICK": "1"}
    assert environment_of(sized, given, is_quick=True) == {"SEEDS": "20", "QUICK": "1"}


def test_last_line_is_the_figures_when_it_is_an_object() -> None:
    assert last_line(b'progress\n{"cases": 3}\n') == {"cases": 3}
    assert last_line(b'{"cases": 3}\nTraceback') == {}
    assert last_line(b"") == last_line(b"[3]") == {}


async def test_proof_that_breaks_has_failed() -> None:
    ended = await run_proof(SizedProof("no_such_proof", {}), is_quick=True, within_s=60)
    assert failed_of([ended]) == ["no_such_proof"]


async def test_proof_that_does_not_end_in_time_is_stopped_and_has_failed() -> None:
    ended = await run_proof(SizedProof("soak", {"SOAK_MINUTES": "5"}), is_quick=False, within_s=0.5)
    assert failed_of([ended]) == ["soak"]
    assert ended.figures == {}
