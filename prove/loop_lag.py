"""Event loop lag of a service, measured inside its process.

A task sleeps for some milliseconds at a time. Its lag is the time by which it wakes up too late, as
far as the process was computing; the rest is time that the machine spent on other processes.
"""

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

SETTING: Final = "PROVE_LOOP_LAG"  # the file for measurements; unset: none
_NAP_S: Final = 0.004
_WORTH_S: Final = 0.01


def watch_if_set() -> None:
    """Measure every server that starts in this process, if the environment names a file."""
    path = os.environ.pop(SETTING, None)
    if path is None:
        return
    import uvicorn

    watched: Callable[..., Awaitable[None]] = uvicorn.Server.startup

    async def startup(self: uvicorn.Server, sockets: list[socket.socket] | None = None) -> None:
        await watched(self, sockets)
        self.lag_watch = asyncio.create_task(_watch(Path(path)))  # type: ignore[attr-defined]  # kept

    uvicorn.Server.startup = startup  # type: ignore[method-assign]  # in a process of a proof only


async def _watch(path: Path) -> None:
    with path.open("w", buffering=1) as file:
        while True:
            wall, computing = time.monotonic(), time.process_time()
            await asyncio.sleep(_NAP_S)
            now = time.monotonic()
            late = min(now - wall - _NAP_S, time.process_time() - computing)
            if late > _WORTH_S:
                file.write(f"{now} {late}\n")


def longest_ms(path: Path, *, since: float, until: float) -> float:
    """Read the longest lag between two readings of `time.monotonic()`."""
    lines = [line.split() for line in path.read_text().splitlines()]
    late = [float(late) for at, late in lines if since <= float(at) <= until]
    return round(max(late, default=0.0) * 1_000, 1)
