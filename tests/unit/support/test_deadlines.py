"""The deadline of a test."""

import asyncio
import io
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from support.deadlines import DeadlineWatch, describe_hang

TESTS: Final = Path(__file__).parents[2]
_HANGING: Final = """
import asyncio

import pytest

from support import deadlines

deadlines.DEADLINE_S, deadlines._LOOK_EVERY_S = 2.0, 0.05
pytest_plugins = ("support.deadlines",)

async def wait_for_ever():
    await asyncio.Event().wait()

def test_one_that_waits():
    asyncio.run(wait_for_ever())
"""


def test_watch_ends_no_test_within_its_deadline() -> None:
    ended: list[str] = []
    watch = DeadlineWatch(60.0, ended.append)
    watch.check()
    assert not ended


def test_hanging_test_ends_its_process_with_its_tasks(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(_HANGING.split("async def", maxsplit=1)[0])
    (tmp_path / "test_hanging.py").write_text(_HANGING)
    ended = subprocess.run(
        (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", str(tmp_path)),
        cwd=tmp_path,
        env={"PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ended.returncode == 3
    assert "test_one_that_waits is over its deadline" in ended.stderr
    assert "in wait_for_ever" in ended.stderr


async def test_description_of_a_hang_has_the_stack_of_each_task() -> None:
    async def wait_for_ever() -> None:
        await asyncio.Event().wait()

    task = asyncio.create_task(wait_for_ever())
    await asyncio.sleep(0)
    out = io.StringIO()
    with suppress(io.UnsupportedOperation):  # a StringIO has no descriptor for the threads
        describe_hang("a test", out)
    task.cancel()
    assert "wait_for_ever" in out.getvalue()
