"""When keys were last used: gathered in memory, written now and then."""

from datetime import datetime
from types import TracebackType
from typing import Final, Self

from farebox.accounts import key_store
from farebox.kernel.clock import Clock
from farebox.storage.attempt import attempt
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_WRITE_S: Final = 10.0
_MOST: Final = 50_000  # keys between two writes; those beyond are not noted this time
_MISSED: Final = "keys.uses_not_written"


class KeyUses:
    """Notes uses without waiting; a key is written at most once a minute over all replicas.

    Use it as a context manager inside the database's: what is noted at the end is written then.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._noted: dict[str, datetime] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await attempt(self.write, missed=_MISSED)

    def note(self, key_id: str) -> None:
        """The key was used just now; returns at once."""
        if len(self._noted) < _MOST or key_id in self._noted:
            self._noted[key_id] = self._clock.now()

    async def run(self) -> None:
        """Write what is noted, for ever; while the database is away it is kept."""
        while True:
            await self._clock.sleep(_WRITE_S)
            await attempt(self.write, missed=_MISSED)

    async def write(self) -> None:
        """What is noted is in the database.

        Raises:
            DatabaseUnavailable: it is noted still.
        """
        noted, self._noted = self._noted, {}
        if not noted:
            return
        try:
            async with self._database.connection() as db:
                await key_store.write_uses(db, noted)
        except DatabaseUnavailable:
            self._noted = noted | self._noted
            raise
