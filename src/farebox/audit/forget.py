"""Deeds are kept for so long and no longer."""

from datetime import timedelta
from typing import Final, NoReturn

import structlog

from farebox.audit import audit_store
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.storage.pool import Database

EVERY_S: Final = 3600.0
_BATCH: Final = 1000

log = structlog.get_logger(__name__)


class Forgetting:
    """A background loop; any number of replicas may run it."""

    def __init__(self, database: Database, clock: Clock, *, kept: timedelta) -> None:
        self._database, self._clock, self._kept = database, clock, kept

    async def run(self) -> NoReturn:
        """Forget for ever; while the database is away, wait."""
        while True:
            try:
                await self.forget()
            except Outage as error:
                log.warning("audit.forgetting_waits", cause=type(error.__cause__).__name__)
            await self._clock.sleep(EVERY_S)

    async def forget(self) -> int:
        """Every deed that is old enough is gone; how many were."""
        gone = 0
        while True:
            async with self._database.connection() as db:
                count = await audit_store.forget_deeds(db, kept=self._kept, most=_BATCH)
            gone += count
            if count < _BATCH:
                return gone
