"""The enabled wrappers by slug, for offers: read again after a second at most."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from farebox.gateway.wrapper import Wrapper
from farebox.gateway.wrappers import wrapper_store
from farebox.kernel.clock import Clock
from farebox.storage.pool import Database

FRESH_S: Final = 1.0
MAX_KNOWN: Final = 2_000


@dataclass(frozen=True, slots=True)
class _Reading:
    began_at: float
    task: asyncio.Task[Wrapper | None]

    @property
    def has_failed(self) -> bool:
        task = self.task
        return task.done() and (task.cancelled() or task.exception() is not None)


class EnabledWrappers:
    """Finds enabled wrappers; an unpaid response may be a second old, a paid one is checked again.

    The slugs that were read last are kept, those without a wrapper too. Requests that come while
    a slug is being read wait for that reading: a slug takes one connection, however many ask.
    """

    def __init__(self, database: Database, clock: Clock, *, max_known: int = MAX_KNOWN) -> None:
        self._database, self._clock, self._max_known = database, clock, max_known
        self._readings: OrderedDict[str, _Reading] = OrderedDict()

    async def find(self, slug: str) -> Wrapper | None:
        """Find the enabled wrapper of a slug, as of a second ago at most.

        Raises:
            DatabaseUnavailable: it is not known, and the database did not respond.
        """
        reading = self._readings.get(slug)
        if reading is None or reading.has_failed:
            return await self.read(slug)
        if self._clock.monotonic() - reading.began_at >= FRESH_S:
            return await self.read(slug)
        return await asyncio.shield(reading.task)  # one that leaves does not end it for others

    async def read(self, slug: str) -> Wrapper | None:
        """Read the enabled wrapper of a slug as of now.

        Raises:
            DatabaseUnavailable: the database did not respond.
        """
        reading = _Reading(self._clock.monotonic(), asyncio.create_task(self._read(slug)))
        self._readings[slug] = reading
        self._readings.move_to_end(slug)
        if len(self._readings) > self._max_known:
            self._readings.popitem(last=False)
        return await asyncio.shield(reading.task)

    async def _read(self, slug: str) -> Wrapper | None:
        async with self._database.connection() as db:
            return await wrapper_store.find_enabled(db, slug)
