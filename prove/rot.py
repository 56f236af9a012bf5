"""`make rot`: every bench, evaluation, end-to-end run and proof still runs, in its short form.

A target that ends with an error, or misses its control, fails the run. A missed threshold is named
and fails nothing: a short run on a busy machine says little about it. ONLY=bench or ONLY="e2e.mcp
prove.auth" runs some.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from testing.machine import ROOT, RunFailed, say
from testing.module_run import TargetRun, run_target
from testing.report import run_and_report

KINDS: Final = ("bench", "eval", "e2e", "prove")
LONGEST_S: Final = 15 * 60.0  # of one target
RUNS_OTHERS: Final = frozenset({"prove.all", "prove.flaky", "prove.rot", "prove.smoke"})
_REPORTS: Final = re.compile(r"^if __name__.*\n.*\brun_and_report\(", re.MULTILINE)
_ONE_CASE: Final = frozenset({"CASE", "COUNT", "KIND", "ONLY", "SEED", "SEEDS"})


def find_targets(root: Path = ROOT) -> list[str]:
    """Find the name of every target, as in `bench.verify`; those that run others are left out."""
    found = [
        f"{kind}.{path.stem}"
        for kind in KINDS
        for path in sorted((root / kind).glob("*.py"))
        if _REPORTS.search(path.read_text())
    ]
    return [name for name in found if name not in RUNS_OTHERS]


def choose(targets: Sequence[str], only: str) -> list[str]:
    """Choose the targets that `only` names, by kind or by name; all when it is empty.

    Raises:
        RunFailed: it names another.
    """
    wanted = set(only.replace("-", "_").split())
    unknown = wanted - {*targets, *KINDS}
    if unknown:
        raise RunFailed(f"there is no {' '.join(sorted(unknown))}; there are {' '.join(targets)}")
    return [name for name in targets if not wanted or wanted & {name, name.partition(".")[0]}]


def judge(ended: TargetRun) -> str:
    """Judge the end of a target: "holds", "missed" or what was wrong."""
    if ended.is_late:
        return f"not ended after {LONGEST_S:.0f} s"
    if ended.code not in (0, 1):
        return f"exit code {ended.code}: {ended.figures.get('error', 'no reason given')}"
    if not ended.figures:
        return "the last line is no JSON object"
    if ended.figures.get("control_caught") is False:
        return "its control is not caught"
    return "missed" if ended.code else "holds"


async def run_all(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run every target; return whether none ended with an error, and the result of each."""
    del is_quick  # each target is short
    began = time.monotonic()
    targets = choose(find_targets(), os.environ.get("ONLY", ""))
    environment = {n: v for n, v in os.environ.items() if n not in _ONE_CASE} | {"QUICK": "1"}
    results: dict[str, tuple[str, TargetRun]] = {}
    for number, name in enumerate(targets, 1):
        say(f"{name} ({number} of {len(targets)})")
        command = ("scripts/named", *name.split("."))
        ended = await run_target(command, environment, within_s=LONGEST_S)
        results[name] = judge(ended), ended
        say(f"{name}: {results[name][0]} after {ended.seconds:.0f} s")
    errors = _named(results, lambda result: result not in ("holds", "missed"))
    return not errors, {
        "errors": errors,
        "missed": _named(results, lambda result: result == "missed"),
        "targets": {
            name: {"result": result, "seconds": round(ended.seconds)}
            for name, (result, ended) in results.items()
        },
        "seconds": round(time.monotonic() - began),
    }


def _named(results: Mapping[str, tuple[str, TargetRun]], fits: Callable[[str], bool]) -> list[str]:
    return [name for name, (result, _) in results.items() if fits(result)]


if __name__ == "__main__":
    sys.exit(run_and_report(run_all))
