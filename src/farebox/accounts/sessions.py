"""What the holder of a session may do with it, and what becomes of old ones."""

from datetime import datetime, timedelta
from typing import Final

import structlog

from farebox.accounts import challenge_store, session_store
from farebox.audit.audit_store import write_deed
from farebox.audit.trail import Action, Deed
from farebox.kernel.caller import Caller, CallerKind, SessionRequired
from farebox.kernel.clock import Clock
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_EVERY_S: Final = 30.0
_AT_ONCE: Final = 500
_SESSIONS_KEPT: Final = timedelta(hours=1)

log = structlog.get_logger(__name__)


class Sessions:
    """Ends sessions, and forgets those that ended long ago."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def end_of(self, caller: Caller) -> datetime | None:
        """When the caller's session will be over; None for a caller without one.

        Raises:
            DatabaseUnavailable: nobody knows.
        """
        if caller.session_id is None:
            return None
        async with self._database.connection() as db:
            return await session_store.find_end(db, caller.session_id)

    async def end(self, caller: Caller, *, everywhere: bool, request_id: str) -> int:
        """The caller's session is over, or each of the wallet's; how many ended now.

        Raises:
            SessionRequired: the caller shows something else.
            DatabaseUnavailable: whether they ended is not known.
        """
        if caller.kind is not CallerKind.SESSION or caller.session_id is None:
            raise SessionRequired
        async with self._database.transaction() as db:
            if everywhere:
                ended = await session_store.revoke_sessions(db, caller.owner)
            else:
                ended = await session_store.revoke_session(db, caller.session_id)
            for session_id in ended:
                await write_deed(db, Deed(caller, Action.SIGNED_OUT, session_id, request_id))
        return len(ended)

    async def run(self) -> None:
        """Forget what is over, for ever."""
        while True:
            try:
                await self.sweep()
            except DatabaseUnavailable:
                log.warning("sessions.database_away")
            await self._clock.sleep(_EVERY_S)

    async def sweep(self) -> int:
        """What has been over for long enough is forgotten; how many rows that were.

        Raises:
            DatabaseUnavailable: some may be left.
        """
        total, gone = 0, _AT_ONCE
        while gone >= _AT_ONCE:
            async with self._database.connection() as db:
                challenges = await challenge_store.sweep_challenges(db, limit=_AT_ONCE)
                sessions = await session_store.sweep_sessions(
                    db, kept=_SESSIONS_KEPT, limit=_AT_ONCE
                )
            gone = max(challenges, sessions)
            total += challenges + sessions
        return total
