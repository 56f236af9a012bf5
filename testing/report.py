"""Runs a bench, proof or end-to-end target: figures on the last line, and the exit code."""

import asyncio
import functools
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping

from farebox.local.faults import LocalFault
from testing.machine import RunFailed

Run = Callable[[bool], Awaitable[tuple[bool, dict[str, object]]]]


def numbers_of(figures: Mapping[str, object]) -> Callable[[str], float]:
    """Return a reader of the figures that are numbers."""
    return lambda name: float(str(figures[name]))


def timed(run: Run) -> Run:
    """Add to the figures of a run the seconds that it took."""

    @functools.wraps(run)
    async def measured(quick: bool) -> tuple[bool, dict[str, object]]:
        began = time.monotonic()
        holds, figures = await run(quick)
        return holds, {**figures, "seconds": round(time.monotonic() - began, 1)}

    return measured


def limited(at_most_s: float) -> Callable[[Run], Run]:
    """End a run that takes too long, as one that could not be made."""

    def limit(run: Run) -> Run:
        @functools.wraps(run)
        async def ended(quick: bool) -> tuple[bool, dict[str, object]]:
            try:
                async with asyncio.timeout(at_most_s):
                    return await run(quick)
            except TimeoutError as error:
                raise RunFailed(f"the run took more than {at_most_s:g} s") from error

        return ended

    return limit


def run_and_report(run: Run) -> int:
    """Run a target, short when QUICK=1, and print its figures.

    Returns:
        0 when everything holds, 1 when not, 2 when it could not run, 130 when interrupted.
    """
    try:
        holds, figures = asyncio.run(_stoppable(run, os.environ.get("QUICK") == "1"))
    except (RunFailed, LocalFault) as fault:
        print(fault, file=sys.stderr)
        print(json.dumps({"error": str(fault).splitlines()[0]}))
        return 2
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130
    print(json.dumps(figures))
    return 0 if holds else 1


async def _stoppable(run: Run, quick: bool) -> tuple[bool, dict[str, object]]:
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await run(quick)
