"""Several cases at once, each on an arena of its own."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

C = TypeVar("C")
R = TypeVar("R")
_TELL_EVERY_S: Final = 15.0


async def in_lanes(
    items: Sequence[C], play: Callable[[C], Awaitable[R]], *, lanes: int, told: str
) -> list[R]:
    """The outcome of every item, in their order; progress goes to standard error."""
    waiting = list(enumerate(items))[::-1]
    outcomes: dict[int, R] = {}
    progress = _Progress(told, len(items))

    async def lane() -> None:
        while waiting:
            number, item = waiting.pop()
            outcomes[number] = await play(item)
            progress.tell(len(outcomes))

    running = [asyncio.create_task(lane()) for _ in range(lanes)]
    try:
        await asyncio.gather(*running)
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return [outcomes[number] for number in range(len(items))]


class _Progress:
    def __init__(self, told: str, total: int) -> None:
        self._told, self._total = told, total
        self._began = self._last = time.monotonic()

    def tell(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last < _TELL_EVERY_S and done < self._total:
            return
        self._last = now
        took = now - self._began
        print(f"{self._told}: {done} of {self._total} in {took:.0f} s", file=sys.stderr, flush=True)
