"""The signal at which a process stops waiting and hands its settlements over."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class ShutdownSignal:
    """Ends every wait for the network on behalf of a caller (docs/decisions/0014)."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    @property
    def is_set(self) -> bool:
        """Whether the signal is set."""
        return self._event.is_set()

    def set(self) -> None:
        """End every wait now; later ones end at once."""
        self._event.set()

    async def run_until_set(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Run `work` and return its result; None, with `work` cancelled, once the signal is set."""
        task = asyncio.ensure_future(work)
        signal = asyncio.ensure_future(self._event.wait())
        try:
            either: set[asyncio.Future[Any]] = {task, signal}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            signal.cancel()
            task.cancel()
