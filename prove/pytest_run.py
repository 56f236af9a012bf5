"""Runs pytest in a process of its own, and reads off its report which tests failed."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from testing.module_run import run_target

_WORKERS: Final = ("--numprocesses", "2", "--max-worker-restart", "0", "--dist", "loadfile")


@dataclass(frozen=True, slots=True)
class PytestRun:
    """The tests of a run; `seconds` are those of each module of tests, set-up included."""

    passed: int
    failed: Sequence[str]
    skipped: Sequence[str]
    seconds: Mapping[str, float]
    took_s: float


async def run_pytest(
    folder: Path, *arguments: str, within_s: float, environment: Mapping[str, str] | None = None
) -> PytestRun:
    """Run pytest with two workers; its output is that of this process's standard error.

    A run without a report has failed as a whole, and so has one that fails though no test does:
    `failed` has the one name "pytest".
    """
    report = folder / f"report-{time.monotonic_ns()}.xml"
    pytest = (sys.executable, "-m", "pytest", "-qq", "--no-header", *_WORKERS)
    command = ("sh", "-c", 'exec "$@" >&2', "sh", *pytest, f"--junitxml={report}", *arguments)
    ended = await run_target(command, environment or os.environ, within_s=within_s)
    if ended.is_late or not report.is_file():
        return PytestRun(0, ["pytest"], [], {}, ended.seconds)
    cases = ElementTree.parse(report).getroot().iter("testcase")
    failed, skipped, passed, seconds = [], [], 0, dict[str, float]()
    for case in cases:
        module = str(case.get("classname")).rpartition(".")[2]
        seconds[module] = seconds.get(module, 0.0) + float(case.get("time") or 0)
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(f"{module}::{case.get('name')}")
        elif case.find("skipped") is not None:
            skipped.append(f"{module}::{case.get('name')}")
        else:
            passed += 1
    if ended.code and not failed:  # a fault behind the last test, of which the report says nothing
        failed = ["pytest"]
    return PytestRun(passed, failed, skipped, seconds, ended.seconds)
