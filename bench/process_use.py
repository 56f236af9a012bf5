"""What a measured process uses: memory, and time on the processor."""

import os
from pathlib import Path
from typing import Final

_PAGE: Final = 4096
_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


def resident_mb(process_id: int) -> float:
    """Return the resident memory of a process in megabytes."""
    pages = int(Path(f"/proc/{process_id}/statm").read_text().split()[1])
    return pages * _PAGE / 1e6


def cpu_s(process_id: int) -> float:
    """Return the seconds that a process has had on the processor."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S
