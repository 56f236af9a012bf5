"""The times of the steps of `make test`, in the report of its last one."""

import os
import time

import pytest

STEPS = "MAKE_TEST_STEPS"  # "lint=9 cargo=3", in seconds
BEGAN = "MAKE_TEST_BEGAN"  # in seconds since 1970


def describe_steps(steps: str, began: float, pytest_began: float, now: float) -> str:
    """The line of the report: each step, pytest and the sum, in whole seconds."""
    named = [
        f"{name} {seconds} s" for name, _, seconds in (s.partition("=") for s in steps.split())
    ]
    return ", ".join([*named, f"pytest {now - pytest_began:.0f} s", f"all {now - began:.0f} s"])


class StepTimes:
    """Writes the line once the tests have ended."""

    def __init__(self, steps: str, began: float) -> None:
        self._steps, self._began, self._pytest_began = steps, began, time.time()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The line is written."""
        terminalreporter.section("steps")
        line = describe_steps(self._steps, self._began, self._pytest_began, time.time())
        terminalreporter.line(line)


def pytest_configure(config: pytest.Config) -> None:
    """The plugin is registered where `make test` is what runs."""
    if STEPS in os.environ and not hasattr(config, "workerinput"):
        plugin = StepTimes(os.environ[STEPS], float(os.environ[BEGAN]))
        config.pluginmanager.register(plugin, "farebox-step-times")
