"""A deadline for each test: one that hangs ends its worker, and says where it waits.

`faulthandler_timeout` in pyproject.toml does the same a minute later where this thread cannot run,
and knows no asyncio tasks.
"""

import asyncio
import faulthandler
import gc
import os
import threading
import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Final, TextIO

import pytest

DEADLINE_S: Final = 240.0  # no test takes half as long on two busy cores
_LOOK_EVERY_S: Final = 5.0
_EXIT_CODE: Final = 3


class DeadlineWatch:
    """Watches the running test from a thread of its own."""

    def __init__(self, deadline_s: float, end: Callable[[str], None]) -> None:
        """`end` gets the name of a test that runs longer than `deadline_s` seconds."""
        self._deadline_s, self._end = deadline_s, end
        self._running: tuple[str, float] | None = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note the test and when it began."""
        self._running = item.nodeid, time.monotonic()
        try:
            return (yield)
        finally:
            self._running = None

    def check(self) -> None:
        """End the process if the running test is over its deadline."""
        running = self._running
        if running is not None and time.monotonic() - running[1] > self._deadline_s:
            self._end(running[0])

    def watch(self) -> None:
        """Check until the process ends."""
        while True:
            time.sleep(_LOOK_EVERY_S)
            self.check()


def describe_hang(name: str, out: TextIO) -> None:
    """Write where the test waits: each asyncio task and each thread."""
    out.write(f"\n{name} is over its deadline. Its tasks and threads:\n")
    for task in [each for each in gc.get_objects() if isinstance(each, asyncio.Task)]:
        if not task.done():
            task.print_stack(file=out)
    out.flush()
    faulthandler.dump_traceback(file=out)


def _end_worker(out: TextIO, name: str) -> None:
    describe_hang(name, out)
    os._exit(_EXIT_CODE)  # pytest-xdist reports the test as failed


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin, and start its thread."""
    out = os.fdopen(os.dup(2), "w")  # nothing is captured yet
    plugin = DeadlineWatch(DEADLINE_S, partial(_end_worker, out))
    config.pluginmanager.register(plugin, "farebox-test-deadline")
    threading.Thread(target=plugin.watch, name="test deadline", daemon=True).start()
