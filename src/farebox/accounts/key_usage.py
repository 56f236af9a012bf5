"""Record when API keys were last used: collected in memory, written periodically."""

from datetime import datetime
from types import TracebackType
from typing import Final, Self

from farebox.accounts import key_store
from farebox.kernel.clock import Clock
from farebox.storage.faults import DatabaseUnavailable, attempt
from farebox.storage.pool import Database

_WRITE_S: Final = 10.0
_MAX_KEYS: Final = 50_000  # between two writes; further keys are not recorded
_FAILED_EVENT: Final = "keys.uses_not_written"


class KeyUsage:
    """Records uses without waiting; a key is written at most once a minute over all replicas.

    A context manager, entered inside the database's: the last uses are written at its exit.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._used_at: dict[str, datetime] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await attempt(self.write, missed=_FAILED_EVENT)

    def record(self, key_id: str) -> None:
        """Record that the key was used now, without waiting."""
        if len(self._used_at) < _MAX_KEYS or key_id in self._used_at:
            self._used_at[key_id] = self._clock.now()

    async def run(self) -> None:
        """Write the recorded uses periodically; they are kept while the database is unavailable."""
        while True:
            await self._clock.sleep(_WRITE_S)
            await attempt(self.write, missed=_FAILED_EVENT)

    async def write(self) -> None:
        """Write the recorded uses to the database.

        Raises:
            DatabaseUnavailable: they stay recorded.
        """
        used_at, self._used_at = self._used_at, {}
        if not used_at:
            return
        try:
            async with self._database.connection() as db:
                await key_store.record_uses(db, used_at)
        except DatabaseUnavailable:
            self._used_at = used_at | self._used_at
            raise
