"""Versions that no cursor can ask for any more are taken out."""

from datetime import timedelta
from typing import Final, NoReturn

import structlog

from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.search.finding.cursor import CURSOR_LIFE
from farebox.search.index_store import prune_versions
from farebox.search.scope_store import SETTLED
from farebox.storage.pool import Database

EVERY_S: Final = 30.0
_BATCH: Final = 500
_PAUSE_S: Final = 0.1  # between two batches: settlements and searches have priority
_KEPT: Final = CURSOR_LIFE + SETTLED

log = structlog.get_logger(__name__)


class Pruning:
    """A background loop; any number of replicas may run it."""

    def __init__(self, database: Database, clock: Clock, *, kept: timedelta = _KEPT) -> None:
        self._database, self._clock, self._kept = database, clock, kept

    async def run(self) -> NoReturn:
        """Prune for ever; while the database is away, wait."""
        while True:
            try:
                await self.prune()
            except Outage as error:
                log.warning("search.pruning_waits", cause=type(error.__cause__).__name__)
            await self._clock.sleep(EVERY_S)

    async def prune(self) -> int:
        """Every version that died long enough ago is gone; how many were."""
        before, pruned = self._clock.now() - self._kept, 0
        while True:
            async with self._database.connection() as db:
                count = await prune_versions(db, died_before=before, most=_BATCH)
            pruned += count
            if count < _BATCH:
                return pruned
            await self._clock.sleep(_PAUSE_S)
