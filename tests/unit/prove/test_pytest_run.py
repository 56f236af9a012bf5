"""A run of pytest in a process of its own: what failed, and runs without a report."""

import os
from pathlib import Path

from prove.pytest_run import run_pytest

TESTS = """
import pytest

@pytest.fixture
def broken():
    raise ValueError

def test_right(): pass
def test_wrong(): assert False
def test_without_its_fixture(broken): pass
def test_skipped(): pytest.importorskip("no_such_module")
"""
ALONE = ("-p", "no:cacheprovider", "-c", os.devnull)
# of the plugins that are installed the runs use one; loading the others takes seconds
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")} | {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_PLUGINS": "xdist.plugin",
}


async def test_failed_tests_and_broken_fixtures_are_named(tmp_path: Path) -> None:
    path = tmp_path / "test_some.py"
    path.write_text(TESTS)
    arguments = (*ALONE, "--rootdir", str(tmp_path), str(path))
    ran = await run_pytest(tmp_path, *arguments, within_s=60, environment=PLAIN)
    assert ran.passed == 1
    assert sorted(ran.failed) == ["test_some::test_without_its_fixture", "test_some::test_wrong"]
    assert ran.skipped == ["test_some::test_skipped"]
    assert set(ran.seconds) == {"test_some"}


async def test_run_that_fails_behind_its_last_test_has_failed(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text("def test_right(): pass\n")
    end = "def pytest_sessionfinish(session):\n    session.exitstatus = 1\n"
    (tmp_path / "conftest.py").write_text(end)
    arguments = (*ALONE, "--rootdir", str(tmp_path), str(tmp_path))
    ran = await run_pytest(tmp_path, *arguments, within_s=60, environment=PLAIN)
    assert (ran.passed, ran.failed) == (1, ["pytest"])


async def test_run_without_a_report_has_failed(tmp_path: Path) -> None:
    arguments = (*ALONE, "--rootdir", str(tmp_path), str(tmp_path), "--no-such-option")
    ran = await run_pytest(tmp_path, *arguments, within_s=60, environment=PLAIN)
    assert (ran.passed, ran.failed) == (0, ["pytest"])


async def test_run_that_is_late_has_failed(tmp_path: Path) -> None:
    path = tmp_path / "test_late.py"
    path.write_text("import time\ndef test_late(): time.sleep(60)\n")
    arguments = (*ALONE, "--rootdir", str(tmp_path), str(path))
    ran = await run_pytest(tmp_path, *arguments, within_s=1, environment=PLAIN)
    assert (ran.passed, ran.failed) == (0, ["pytest"])
