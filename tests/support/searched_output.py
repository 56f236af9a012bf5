"""What the tests print and log is searched for what they have planted."""

from collections.abc import Generator
from typing import Any

import pytest

from support.planted import found_in, planted_values


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What a test has printed and logged is searched when it is over."""
    report = yield
    if call.when == "teardown" and planted_values():
        judge_report(report)
    return report


def judge_report(report: Any) -> None:
    """The report is a failure if anything planted stands in its output."""
    leaks = sorted({leak for _, text in report.sections for leak in found_in(text, shapes=False)})
    if leaks and report.outcome != "failed":
        report.outcome = "failed"
        report.longrepr = f"planted secrets were written to the output: {', '.join(leaks)}…"
