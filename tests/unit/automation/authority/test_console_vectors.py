"""The console's readers of automation are tested with vectors of the code that plans."""

from pathlib import Path
from typing import Final

from farebox.automation.authority.spec_check import AllowedRun, OutsideSpec, judge_run
from support.revocation_vectors import revocation_vectors
from support.run_vectors import LEGS, refused_runs, signed_runs
from support.sheet_vectors import sheet_vectors

WALLET: Final = Path(__file__).parents[4] / "console" / "src" / "wallet"


def test_vectors_of_the_console_are_made_by_this_code() -> None:
    committed = (WALLET / "readInstallEntry.vectors.json").read_bytes()
    assert committed == sheet_vectors(), "run python -m support.sheet_vectors"


def test_runs_of_the_vectors_are_judged_alike_by_the_service() -> None:
    for name, spec, run in signed_runs():
        judged = judge_run(spec, run, actor=spec.account, ledger_time=spec.not_before)
        assert isinstance(judged, AllowedRun), name
    for name, run in refused_runs():
        judged = judge_run(LEGS, run, actor=LEGS.account, ledger_time=LEGS.not_before)
        assert isinstance(judged, OutsideSpec), name


def test_revocations_of_the_console_are_made_by_this_code() -> None:
    committed = (WALLET / "readRevocation.vectors.json").read_bytes()
    assert committed == revocation_vectors(), "run python -m support.revocation_vectors"
