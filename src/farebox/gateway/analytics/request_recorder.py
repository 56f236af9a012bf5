"""Records requests to wrappers in the background: no response waits for it."""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NoReturn

import structlog

from farebox.gateway.analytics import request_store
from farebox.gateway.analytics.recorded_request import RecordedRequest
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.storage.pool import Database

EVERY_S: Final = 1.0
BATCH: Final = 500
MAX_WAITING: Final = 20_000  # beyond it the oldest are lost

log = structlog.get_logger(__name__)


class RequestRecorder:
    """Keeps requests in memory until they are written, a second later in general.

    While the database is unavailable the newest requests wait; those of a process that dies are
    lost. Payments have records of their own.
    """

    def __init__(self, database: Database, clock: Clock, *, max_waiting: int = MAX_WAITING) -> None:
        self._database, self._clock = database, clock
        self._waiting: deque[RecordedRequest] = deque(maxlen=max_waiting)
        self._lost = 0

    def record(self, request: RecordedRequest) -> None:
        """Add a request; returns at once."""
        if len(self._waiting) == self._waiting.maxlen:
            self._lost += 1
        self._waiting.append(request)

    async def write(self) -> int:
        """Write a batch; return how many requests it had.

        Raises:
            DatabaseUnavailable: they wait on.
        """
        batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
        if not batch:
            return 0
        try:
            async with self._database.transaction() as db:
                await request_store.insert_requests(db, batch)
        except Outage:
            self._waiting.extendleft(reversed(batch))
            raise
        return len(batch)

    async def run(self) -> NoReturn:
        """Write until cancelled."""
        while True:
            try:
                while await self.write() == BATCH:
                    await self._clock.sleep(0)
            except Outage as outage:
                log.warning("gateway.requests_wait", part=outage.part, waiting=len(self._waiting))
            if self._lost:
                log.warning("gateway.requests_lost", count=self._lost)
                self._lost = 0
            await self._clock.sleep(EVERY_S)

    @asynccontextmanager
    async def written_at_end(self) -> AsyncIterator[None]:
        """Write what is left when the service stops."""
        yield
        try:
            while await self.write():
                pass
        except Outage as outage:
            log.warning("gateway.requests_lost", part=outage.part, count=len(self._waiting))
