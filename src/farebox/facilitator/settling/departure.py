"""The moment from which this process waits for nothing more and hands over what it carries."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Departure:
    """Shared by everything that waits for the network on behalf of a caller."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()

    @property
    def has_begun(self) -> bool:
        """Whether waiting is over."""
        return self._begun.is_set()

    def begin(self) -> None:
        """Whoever waits gives up now, and nobody begins to wait any more."""
        self._begun.set()

    async def until_then(self, work: Coroutine[Any, Any, T]) -> T | None:
        """What `work` comes to; None, and the work is broken off, once the departure has begun."""
        task = asyncio.ensure_future(work)
        over = asyncio.ensure_future(self._begun.wait())
        try:
            either: set[asyncio.Future[Any]] = {task, over}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            over.cancel()
            task.cancel()
