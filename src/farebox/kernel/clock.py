"""The clock, passed to every use case so that tests control time."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Gives the time, and waits."""

    def now(self) -> datetime:
        """The wall clock, UTC and aware."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The wall clock, UTC and aware."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never go back, for deadlines."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        await asyncio.sleep(seconds)
