"""Runs a target (`python -m prove.auth`) in a process of its own, for as long as it may take."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from testing.machine import ROOT

_STOP_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class TargetRun:
    """The end of a target; `figures` are those of its last line, and empty without one.

    `code` is negative where a signal ended it, as it does after the time that it had.
    """

    code: int
    seconds: float
    figures: Mapping[str, object] = field(default_factory=dict)
    is_late: bool = False


async def run_target(
    command: Sequence[str], environment: Mapping[str, str], *, within_s: float
) -> TargetRun:
    """Run a command; terminate it after `within_s` seconds, and when this task is cancelled."""
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *command, env=dict(environment), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    output, is_late = b"", False
    try:
        async with asyncio.timeout(within_s):
            output, _ = await process.communicate()
    except TimeoutError:
        is_late = True
    finally:
        await _stop(process)
    code = -1 if process.returncode is None else process.returncode
    return TargetRun(code, time.monotonic() - began, last_line(output), is_late)


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Terminate the process, and kill it when it does not end in time."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(_STOP_S):
            await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()


def last_line(output: bytes) -> Mapping[str, object]:
    """Read the figures off the last line; empty when it is no JSON object."""
    lines = output.decode(errors="replace").strip().splitlines()
    with suppress(ValueError):
        figures = json.loads(lines[-1]) if lines else {}
        if isinstance(figures, dict):
            return figures
    return {}
