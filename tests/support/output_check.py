"""Search the output of the tests for planted secrets."""

from collections.abc import Generator
from typing import Any

import pytest

from support.planted_secrets import count_planted, find_planted


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Search the output and log of a test when it is over."""
    report = yield
    if call.when == "teardown" and count_planted():
        judge_report(report)
    return report


def judge_report(report: Any) -> None:
    """Make the report a failure if its output contains a planted secret."""
    leaks = sorted(
        {leak for _, text in report.sections for leak in find_planted(text, shapes=False)}
    )
    if leaks and report.outcome != "failed":
        report.outcome = "failed"
        report.longrepr = f"planted secrets were written to the output: {', '.join(leaks)}…"
