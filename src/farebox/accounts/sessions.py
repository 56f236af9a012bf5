"""Look up and revoke sessions, and delete expired ones."""

from datetime import datetime, timedelta
from typing import Final

import structlog

from farebox.accounts import challenge_store, session_store
from farebox.audit.audit_store import insert_event
from farebox.audit.event import Action, AuditEvent
from farebox.kernel.caller import Caller, CallerKind, SessionRequired
from farebox.kernel.clock import Clock
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_INTERVAL_S: Final = 30.0
_BATCH: Final = 500
_PAUSE_S: Final = 0.1  # between two batches, for settlements at the same time
_SESSIONS_KEPT: Final = timedelta(hours=1)

log = structlog.get_logger(__name__)


class Sessions:
    """The use cases of sessions."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def expiry_of(self, caller: Caller) -> datetime | None:
        """Return the expiry of the caller's session; None for a caller without one."""
        if caller.session_id is None:
            return None
        async with self._database.connection() as db:
            return await session_store.find_expiry(db, caller.session_id)

    async def revoke(self, caller: Caller, *, everywhere: bool, request_id: str) -> int:
        """Revoke the caller's session, or all sessions of the wallet; returns how many.

        Raises:
            SessionRequired: the caller is not authenticated by a session.
            DatabaseUnavailable: if the commit failed, they may or may not be revoked.
        """
        if caller.kind is not CallerKind.SESSION or caller.session_id is None:
            raise SessionRequired
        async with self._database.transaction() as db:
            if everywhere:
                revoked = await session_store.revoke_sessions(db, caller.owner)
            else:
                revoked = await session_store.revoke_session(db, caller.session_id)
            for session_id in revoked:
                await insert_event(
                    db, AuditEvent(caller, Action.SIGNED_OUT, session_id, request_id)
                )
        return len(revoked)

    async def run(self) -> None:
        """Delete expired rows periodically."""
        while True:
            try:
                await self.delete_expired()
            except DatabaseUnavailable:
                log.warning("sessions.database_away")
            await self._clock.sleep(_INTERVAL_S)

    async def delete_expired(self) -> int:
        """Delete expired challenges and sessions; returns how many rows.

        Raises:
            DatabaseUnavailable: some may be left.
        """
        total, deleted = 0, _BATCH
        while deleted >= _BATCH:
            async with self._database.connection() as db:
                challenges = await challenge_store.delete_expired_challenges(db, limit=_BATCH)
                sessions = await session_store.delete_expired_sessions(
                    db, kept=_SESSIONS_KEPT, limit=_BATCH
                )
            deleted = max(challenges, sessions)
            total += challenges + sessions
            if deleted >= _BATCH:
                await self._clock.sleep(_PAUSE_S)
        return total
