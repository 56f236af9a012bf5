"""A clock that stands still until somebody sleeps on it."""

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


class StillClock:
    """Sleeping moves it on at once, and lets other tasks run."""

    def __init__(self) -> None:
        self._elapsed_s = 0.0

    def now(self) -> datetime:
        """The wall clock."""
        return START + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        """Seconds since it was made."""
        return self._elapsed_s

    async def sleep(self, seconds: float) -> None:
        """Time passes by `seconds`."""
        self._elapsed_s += seconds
        await asyncio.sleep(0)
