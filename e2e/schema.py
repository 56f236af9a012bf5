"""E2E=schema: PyPI schemathesis asks a service with every feature on for all that its schemas have.

The requests are those of `tests/api/app/test_generated_requests.py`: of `/v1/openapi.json` and of
`/openapi.json`, with and without a session.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Final

from testing.machine import ROOT, RunFailed, build_environment, scratch_folder
from testing.report import run_and_report, timed

TEST: Final = "tests/api/app/test_generated_requests.py"
REPORT: Final = "GENERATED_REQUESTS_REPORT"  # names the file of the figures
_RUN_S: Final = 600.0
_ZERO: Final = ("undocumented_statuses", "server_errors", "schema_violations", "refused_sessions")


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the target, which has no shorter form; return whether it holds, and the figures."""
    del quick
    with scratch_folder("farebox-schema-") as scratch:
        report = scratch / "figures.json"
        passed = await asyncio.to_thread(_run_tests, report)
        figures: dict[str, object] = json.loads(report.read_text())
    holds = passed and bool(figures["requests"]) and not any(figures[name] for name in _ZERO)
    return holds, figures


def _run_tests(report: Path) -> bool:
    """Run the tests; return whether they passed.

    Raises:
        RunFailed: there are no figures.
    """
    completed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", TEST],
        cwd=ROOT,
        env=build_environment({REPORT: str(report)}),
        stdout=sys.stderr,
        timeout=_RUN_S,
        check=False,
    )
    if not report.exists():
        raise RunFailed(f"{TEST} has not asked for anything (exit {completed.returncode})")
    return completed.returncode == 0


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
