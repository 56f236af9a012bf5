"""Run several cases concurrently, each in an environment of its own."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

C = TypeVar("C")
R = TypeVar("R")
_REPORT_EVERY_S: Final = 15.0


async def run_concurrently(
    items: Sequence[C], run: Callable[[C], Awaitable[R]], *, workers: int, label: str
) -> list[R]:
    """Run every item with `workers` tasks; return the outcomes in order.

    Progress goes to standard error, under `label`.
    """
    waiting = list(enumerate(items))[::-1]
    outcomes: dict[int, R] = {}
    progress = _Progress(label, len(items))

    async def worker() -> None:
        while waiting:
            number, item = waiting.pop()
            outcomes[number] = await run(item)
            progress.report(len(outcomes))

    running = [asyncio.create_task(worker()) for _ in range(workers)]
    try:
        await asyncio.gather(*running)
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return [outcomes[number] for number in range(len(items))]


class _Progress:
    def __init__(self, label: str, total: int) -> None:
        self._label, self._total = label, total
        self._began = self._last = time.monotonic()

    def report(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last < _REPORT_EVERY_S and done < self._total:
            return
        self._last = now
        took = now - self._began
        print(
            f"{self._label}: {done} of {self._total} in {took:.0f} s", file=sys.stderr, flush=True
        )
