"""The audit log: read one owner's events, and delete events past their retention."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, NoReturn

import structlog

from farebox.audit import audit_store
from farebox.audit.event import Action, AuditLogEntry
from farebox.kernel.caller import COMMANDS, OwnerId, is_operators
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.pages import Place
from farebox.storage.pool import Database

EVERY_S: Final = 3600.0
_BATCH: Final = 1000
_PAUSE_S: Final = 0.1  # between two batches, for settlements at the same time

log = structlog.get_logger(__name__)


class AuditLog:
    """Reads the events of an owner's records."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_events(
        self,
        owner: OwnerId,
        *,
        action: Action | None,
        after: Place | None,
        limit: int,
    ) -> Sequence[AuditLogEntry]:
        """List the events that follow `after`, newest first; only those of `action` if given.

        An operator's list includes the events of commands.
        """
        owners = [owner, COMMANDS] if is_operators(owner) else [owner]
        async with self._database.connection() as db:
            return await audit_store.list_events(
                db, owners, action=action, after=after, limit=limit
            )


class AuditLogRetention:
    """A background loop that deletes expired events; any number of replicas may run it."""

    def __init__(self, database: Database, clock: Clock, *, kept: timedelta) -> None:
        self._database, self._clock, self._kept = database, clock, kept

    async def run(self) -> NoReturn:
        """Delete expired events every hour; an outage skips a run."""
        while True:
            try:
                await self.delete_expired()
            except Outage as error:
                log.warning("audit.deletion_skipped", cause=type(error.__cause__).__name__)
            await self._clock.sleep(EVERY_S)

    async def delete_expired(self) -> int:
        """Delete all expired events in batches; return the count."""
        deleted = 0
        while True:
            async with self._database.connection() as db:
                count = await audit_store.delete_expired_events(db, kept=self._kept, most=_BATCH)
            deleted += count
            if count < _BATCH:
                return deleted
            await self._clock.sleep(_PAUSE_S)
