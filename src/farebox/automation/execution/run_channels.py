"""The channels of runs in this process: who needs one waits until one is free."""

import asyncio
from typing import Final

from farebox.automation.paymaster import channel_store
from farebox.automation.paymaster.channel_store import RunChannel
from farebox.automation.runs.run import Run
from farebox.kernel.clock import Clock
from farebox.storage.pool import Database

_POLL_S: Final = 0.25  # for a channel that another process gave back


class RunChannels:
    """Gives a channel account to a run, which keeps it until it is resolved."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._freed = asyncio.Event()

    async def take(self, run: Run, *, wait_s: float) -> RunChannel | None:
        """Take a channel for the run; None where none was free in time.

        Raises:
            DatabaseUnavailable: the channels cannot be read.
        """
        until = self._clock.monotonic() + wait_s
        while True:
            self._freed.clear()
            async with self._database.connection() as db:
                channel = await channel_store.take_channel(
                    db, run.network, run.id, lease_epoch=run.lease_epoch
                )
            if channel is not None or self._clock.monotonic() >= until:
                return channel
            await self._pause()

    def notify(self) -> None:
        """Wake those who wait: a run of this process may have given its channel back."""
        self._freed.set()

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(_POLL_S):
                await self._freed.wait()
        except TimeoutError:
            return
