"""The short run of every target: which there are, and what counts as an error."""

from pathlib import Path

import pytest

from prove.rot import choose, find_targets, judge
from testing.machine import RunFailed
from testing.module_run import TargetRun

TARGETS = ["bench.verify", "e2e.mcp", "prove.auth", "prove.limits_fair"]


def test_targets_are_the_modules_that_report_and_run_no_others(tmp_path: Path) -> None:
    main = '\nif __name__ == "__main__":\n    sys.exit(run_and_report(run))\n'
    files = {
        "bench/verify": main,
        "bench/load": "",
        "e2e/report": "def run_and_report(run):\n    pass\n",
        "prove/auth": main.replace("sys.exit", "raise SystemExit"),
        "prove/all": main,
        "prove/soak": main,
    }
    for name, text in files.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert find_targets(tmp_path) == ["bench.verify", "prove.auth", "prove.soak"]


def test_every_kind_of_target_is_found_in_this_checkout() -> None:
    kinds = {name.partition(".")[0] for name in find_targets()}
    assert kinds == {"bench", "eval", "e2e", "prove"}


@pytest.mark.parametrize(
    ("only", "chosen"),
    [
        ("", TARGETS),
        ("prove", ["prove.auth", "prove.limits_fair"]),
        ("prove.limits-fair e2e.mcp", ["e2e.mcp", "prove.limits_fair"]),
    ],
)
def test_targets_are_chosen_by_kind_and_by_name(only: str, chosen: list[str]) -> None:
    assert choose(TARGETS, only) == chosen


def test_unknown_target_is_refused_with_the_list() -> None:
    with pytest.raises(RunFailed, match=r"no bench\.nothing; there are bench\.verify"):
        choose(TARGETS, "bench.nothing prove")


@pytest.mark.parametrize(
    ("ended", "result"),
    [
        (TargetRun(0, 1.0, {"cases": 3}), "holds"),
        (TargetRun(1, 1.0, {"cases": 3}), "missed"),
        (TargetRun(2, 1.0, {"error": "no such option"}), "exit code 2: no such option"),
        (TargetRun(1, 1.0, {"control_caught": True}), "missed"),
        (TargetRun(1, 1.0, {"control_caught": False}), "its control is not caught"),
        (TargetRun(1, 1.0, {}), "the last line is no JSON object"),
        (TargetRun(-15, 1.0, {}, is_late=True), "not ended after 900 s"),
        (TargetRun(-9, 1.0, {}), "exit code -9: no reason given"),
    ],
)
def test_error_is_an_end_without_figures_and_no_missed_threshold(
    ended: TargetRun, result: str
) -> None:
    assert judge(ended) == result
