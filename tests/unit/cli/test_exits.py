import errno
from pathlib import Path

from farebox.app.configuration import SettingFault
from farebox.cli.exits import describe_faults, unwritable_file


def test_describe_faults_counts_the_faults() -> None:
    one, other = SettingFault("FAREBOX_A", "a number"), SettingFault("FAREBOX_B", "a path")
    assert describe_faults((one,)) == "1 setting must be changed:\n  FAREBOX_A: a number"
    assert describe_faults((one, other)).startswith("2 settings must be changed:\n")


def test_unwritable_file_advice_differs_for_a_full_disk_and_a_closed_folder() -> None:
    full = unwritable_file(OSError(errno.ENOSPC, ""), Path("/log"), "FAREBOX_LOG_FILE")
    closed = unwritable_file(OSError(errno.EACCES, ""), Path("/log"), "FAREBOX_LOG_FILE")
    assert (full.exit_code, closed.exit_code) == (2, 2)
    assert "is full" in full.message
    assert "Permission denied" in closed.message
    assert all("FAREBOX_LOG_FILE" in each.message for each in (full, closed))
