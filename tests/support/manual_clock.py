"""A clock that moves only when somebody sleeps on it or turns it."""

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 21, tzinfo=UTC)


class ManualClock:
    """Starts at a fixed moment; `sleep` returns at once and moves the time on."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self._elapsed_s = 0.0

    def now(self) -> datetime:
        """The fixed moment and what has passed since."""
        return START + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        """Seconds that have passed."""
        return self._elapsed_s

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass, and other tasks run."""
        self.slept.append(seconds)
        self.turn(seconds)
        await asyncio.sleep(0)

    def turn(self, seconds: float) -> None:
        """Let `seconds` pass."""
        self._elapsed_s += seconds
