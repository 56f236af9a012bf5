"""A clock that moves only by `sleep` and `turn`."""

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 21, tzinfo=UTC)


class ManualClock:
    """Starts at a fixed moment; `sleep` returns at once and moves the time on."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self._elapsed_s = 0.0

    def now(self) -> datetime:
        """Return the fixed moment plus the elapsed time."""
        return START + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        """Return the elapsed seconds."""
        return self._elapsed_s

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass, and other tasks run."""
        self.slept.append(seconds)
        self.turn(seconds)
        await asyncio.sleep(0)

    def turn(self, seconds: float) -> None:
        """Let `seconds` pass."""
        self._elapsed_s += seconds
