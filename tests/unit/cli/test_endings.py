import errno
from pathlib import Path

import pytest

from farebox.app.configuration import Fault
from farebox.cli.endings import describe_faults, file_advice
from farebox.cli.serve import ending_of
from farebox.kernel.errors import Outage, Refusal


@pytest.mark.parametrize(
    ("failure", "code", "words"),
    [
        (Outage("database", "The database is away."), 1, "The database is away."),
        (Refusal("node_too_old", "The node is too old."), 2, "The node is too old."),
        (ValueError("hidden"), 70, "a fault of its own"),
        (None, 70, "a fault of its own"),
    ],
)
def test_why_the_service_ended_decides_the_exit_code(
    failure: Exception | None, code: int, words: str
) -> None:
    ended = ending_of(failure)
    assert ended.exit_code == code
    assert words in ended.message
    assert "hidden" not in ended.message


def test_one_fault_and_many_are_counted() -> None:
    one, other = Fault("FAREBOX_A", "a number"), Fault("FAREBOX_B", "a path")
    assert describe_faults((one,)) == "1 setting must be changed:\n  FAREBOX_A: a number"
    assert describe_faults((one, other)).startswith("2 settings must be changed:\n")


def test_a_full_disk_and_a_closed_folder_have_their_own_advice() -> None:
    full = file_advice(OSError(errno.ENOSPC, ""), Path("/log"), "FAREBOX_LOG_FILE")
    closed = file_advice(OSError(errno.EACCES, ""), Path("/log"), "FAREBOX_LOG_FILE")
    assert (full.exit_code, closed.exit_code) == (2, 2)
    assert "is full" in full.message
    assert "Permission denied" in closed.message
    assert all("FAREBOX_LOG_FILE" in each.message for each in (full, closed))
