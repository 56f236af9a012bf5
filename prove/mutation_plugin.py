"""A plugin of pytest for the proof of mutations: runs the tests of a list, and writes results.

MUTATION_RESULTS is the file of the results, a JSON object a line. MUTATION_TESTS is a file with the
names of the tests and of the modules of tests to run; without it all are. MUTATION_COVERAGE is the
configuration with which the processes that a test starts measure what they run.
"""

import json
import os
import signal
from pathlib import Path

import pytest


class ResultRecorder:
    """Writes name, result and seconds of each test as it ends, unless it was skipped."""

    def __init__(self, results: Path) -> None:
        self._out = results.open("a")
        self._seconds: dict[str, float] = {}
        self._outcomes: dict[str, set[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sum the phases of a test; the last one ends it."""
        name = report.nodeid
        self._seconds[name] = self._seconds.get(name, 0.0) + report.duration
        self._outcomes.setdefault(name, set()).add(report.outcome)
        if report.when != "teardown":
            return
        seconds, outcomes = round(self._seconds.pop(name), 3), self._outcomes.pop(name)
        if "failed" in outcomes or "skipped" not in outcomes:
            ended = {"test": name, "passed": "failed" not in outcomes, "seconds": seconds}
            self._out.write(json.dumps(ended) + "\n")
            self._out.flush()


def pytest_configure(config: pytest.Config) -> None:
    """Record the results, except in a worker, whose reports reach the first process.

    A shell without job control starts its background jobs with SIGINT ignored; the runner sends it.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    is_worker = hasattr(config, "workerinput")
    is_alone = not getattr(config.option, "numprocesses", None)
    results = os.environ.get("MUTATION_RESULTS")
    if results and not is_worker:
        config.pluginmanager.register(ResultRecorder(Path(results)), "farebox-mutation")
    if (measured := os.environ.get("MUTATION_COVERAGE")) and (is_worker or is_alone):
        os.environ["COVERAGE_PROCESS_START"] = measured


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that are not listed."""
    listed = os.environ.get("MUTATION_TESTS")
    if not listed:
        return
    wanted = frozenset(Path(listed).read_text().splitlines())
    kept = [each for each in items if {each.nodeid, _module_of(each)} & wanted]
    config.hook.pytest_deselected(items=list(set(items).difference(kept)))
    items[:] = kept


def _module_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
