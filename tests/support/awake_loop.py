"""The time in which a loop runs, without that in which the machine stalls."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

_TICK_S: Final = 0.01
_STALL_S: Final = 0.03  # the longest time between two ticks that counts


class AwakeLoop:
    """The running loop, whose time stands still while it stalls."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._passed_s, self._ticked_at = loop, 0.0, loop.time()
        self._timer = loop.call_later(_TICK_S, self._tick)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def time(self) -> float:
        """The seconds in which the loop did not stall."""
        return self._passed_s + min(self._loop.time() - self._ticked_at, _STALL_S)

    def close(self) -> None:
        """Stop counting."""
        self._timer.cancel()

    async def sleep(self, seconds: float) -> None:
        """Return after so many of these seconds."""
        due = self.time() + seconds
        while self.time() < due:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(_TICK_S)

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[None]:
        """End a block, as `asyncio.timeout` does, after so many of these seconds."""
        async with asyncio.timeout(None) as limit:
            watching = asyncio.create_task(self._expire(limit, seconds))
            try:
                yield
            finally:
                watching.cancel()

    async def _expire(self, limit: asyncio.Timeout, seconds: float) -> None:
        await self.sleep(seconds)
        limit.reschedule(self._loop.time())

    def _tick(self) -> None:
        self._passed_s, self._ticked_at = self.time(), self._loop.time()
        self._timer = self._loop.call_later(_TICK_S, self._tick)
