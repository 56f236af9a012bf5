import io
import os
import subprocess
import sys

import pytest

from support import costs
from support.costs import CostRecorder, format_costs, processor_seconds, read_times, sum_costs

BUSY = "import time\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\ninput()"

LEAST_S = 0.25  # the kernel counts in hundredths


def test_time_of_a_child_counts_while_it_runs_and_once_it_has_ended() -> None:
    pid = os.getpid()
    before = read_times(pid)
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        running = read_times(pid)
        assert processor_seconds(before, running) >= LEAST_S
        child.communicate(b"\n")
    ended = read_times(pid)
    assert processor_seconds(before, ended) >= LEAST_S
    assert processor_seconds(running, ended) < LEAST_S, "it counts once"


def test_child_that_the_kernel_leaves_out_of_one_list_is_read_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorder = CostRecorder(io.StringIO())
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in recorder.read()
        missed = {os.getpid(): (0.0, 0.0)}
        monkeypatch.setattr(
            costs, "read_times", lambda pid: missed if pid == os.getpid() else read_times(pid)
        )
        assert child.pid in recorder.read()
        child.communicate(b"\n")


def test_process_that_nobody_waited_for_makes_no_time_negative() -> None:
    assert processor_seconds({1: (1.0, 0.0), 2: (9.0, 0.0)}, {1: (1.5, 0.0)}) == 0.5


def test_costs_are_summed_by_folder_module_and_fixture() -> None:
    lines = [
        '{"kind": "test", "name": "tests/unit/a/test_b.py::c", "seconds": 2, "processor": 1}',
        '{"kind": "test", "name": "tests/unit/a/test_d.py::e", "seconds": 1, "processor": 1}',
        '{"kind": "fixture", "name": "tests::database", "seconds": 3, "processor": 0.5}',
    ]
    tables = sum_costs(lines)
    assert tables["folder"] == {"unit/a": [3.0, 2.0, 2.0]}
    assert list(tables["module"]) == ["tests/unit/a/test_b.py", "tests/unit/a/test_d.py"]
    assert tables["fixture"] == {"tests::database": [3.0, 0.5, 1.0]}
    assert "| unit/a | 3.0 | 2.0 | 1.0 | 2 |" in format_costs(tables)
