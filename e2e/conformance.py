"""Runs `x402conf` (PyPI x402-conformance) against a service; nothing is paid."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from testing.commands import output_of
from testing.machine import ROOT, RunFailed, build_environment, say

_LOCKED: Final = ROOT / "e2e" / "conformance.txt"
_INSTALL_S: Final = 120.0
_RUN_S: Final = 60.0


async def failed_checks(command: str, url: str, *, scratch: Path) -> list[str]:
    """Run one command of `x402conf`; return the checks of severity error that failed.

    Raises:
        RunFailed: the package cannot be installed, or prints no results.
    """
    packages = await asyncio.to_thread(_install, scratch / "conformance")
    code, output = await asyncio.to_thread(_run, packages, command, url)
    results = _read_results(output)
    if not results:
        raise RunFailed(f"x402conf {command} printed no results (exit {code}): {output[-400:]}")
    say(f"x402conf {command}: {len(results)} checks")
    failed = [each for each in results if each.get("pass") is False]
    return [
        f"{command} {each.get('check')}: {each.get('detail', '')}"[:200]
        for each in failed
        if each.get("severity", "error") == "error"
    ]


def _install(folder: Path) -> Path:
    if not folder.exists():
        say("installing x402-conformance from its lock file")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        command += ["--require-hashes", "--target", str(folder), "-r", str(_LOCKED)]
        output_of(command, name="the installation of x402-conformance", within_s=_INSTALL_S)
    return folder


def _run(packages: Path, command: str, url: str) -> tuple[int, str]:
    done = subprocess.run(
        [str(packages / "bin" / "x402conf"), command, url],
        env=build_environment({}) | {"PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        timeout=_RUN_S,
        check=False,
    )
    return done.returncode, done.stdout


def _read_results(output: str) -> list[dict[str, Any]]:
    """Read the checks of every target; empty when there are none."""
    try:
        targets = json.loads(output)["results"]
        return [check for target in targets for check in target["checks"]]
    except (ValueError, LookupError, TypeError):
        return []
