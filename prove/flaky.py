"""`make flaky`: the tests again and again, beside busy loops: what fails now and then is found.

RUNS=10 LOAD=4: so many runs, beside so many loops. The last line names every test that failed. The
control is a test with a race, which the same runner has to find. TESTS=tests/api runs some.
"""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from prove.pytest_run import run_pytest
from testing.machine import say, scratch_folder, subfolder
from testing.module_run import run_target
from testing.report import run_and_report

_RUN_S: Final = 3_600.0  # of one run, beside the loops
_STEP_S: Final = 900.0
_SETTINGS: Final = ("PYTEST_ADDOPTS", "RUNS", "LOAD", "TESTS")
_STEPS: Final = {  # of `make test`, but for lint and pytest
    "cargo": ("sh", "-c", "cd devnet && cargo test --quiet --release --locked >&2"),
    "console": ("sh", "-c", "scripts/console test >&2"),
}
_RACE: Final = '''
import threading
import time

import pytest


@pytest.mark.parametrize("number", range(400))
def test_result_is_there_after_a_while(number: int) -> None:
    """A wait of a millisecond instead of one for the result."""
    made: list[int] = []
    threading.Timer(0.0005, made.append, (number,)).start()
    time.sleep(0.001)
    assert made == [number]
'''


@asynccontextmanager
async def busy_loops(count: int) -> AsyncIterator[None]:
    """Keep `count` processes busy meanwhile."""
    loop = (sys.executable, "-c", "while True: pass")
    started = [await asyncio.create_subprocess_exec(*loop) for _ in range(count)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            await each.wait()


async def is_race_found(folder: Path, environment: dict[str, str]) -> bool:
    """Whether the runner finds the test with a race, which mostly passes."""
    path = folder / "test_race.py"
    path.write_text(_RACE)
    alone = ("-p", "no:cacheprovider", "--rootdir", str(folder), "-c", os.devnull, "--no-summary")
    ran = await run_pytest(folder, *alone, str(path), within_s=_STEP_S, environment=environment)
    return 0 < len(ran.failed) < len(ran.failed) + ran.passed and "pytest" not in ran.failed


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the tests so often; return whether none failed, and how often each of them did."""
    began = time.monotonic()
    runs, load = (int(os.environ.get(*each)) for each in (("RUNS", "1"), ("LOAD", "4")))
    tests = os.environ.get("TESTS", "").split() or ["tests", "--ignore", "tests/proofs"]
    environment = {name: v for name, v in os.environ.items() if name not in _SETTINGS}
    failed: Counter[str] = Counter()
    passed = 0
    with scratch_folder("fbx-flaky-") as folder:
        async with busy_loops(load):
            is_caught = await is_race_found(subfolder(folder, "control"), environment)
            for number in range(1, 1 if is_quick else runs + 1):
                say(f"run {number} of {runs}, beside {load} busy loops")
                ran = await run_pytest(folder, *tests, within_s=_RUN_S, environment=environment)
                passed += ran.passed
                failed.update(ran.failed)
                for step, command in _STEPS.items():
                    ended = await run_target(command, environment, within_s=_STEP_S)
                    failed.update([step] if ended.code else [])
                say(f"{sum(failed.values())} failed so far: {', '.join(sorted(failed))}")
    return not failed and is_caught, {
        "failed": sum(failed.values()),
        "tests": dict(failed.most_common()),
        "passed": passed,
        "runs": runs,
        "load": load,
        "control_caught": is_caught,
        "seconds": round(time.monotonic() - began),
    }


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
