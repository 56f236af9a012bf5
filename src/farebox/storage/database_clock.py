"""The database's time, by which rows are judged, so that all replicas agree."""

from datetime import datetime, timedelta
from types import TracebackType
from typing import Final, Self

import structlog

from farebox.kernel.clock import Clock
from farebox.storage.faults import attempt
from farebox.storage.pool import Database

_EVERY_S: Final = 30.0
_FIRST_S: Final = 1.0  # until a reading is exact
_MAX_OFFSET_S: Final = 2.0
# A reading is wrong by half its round trip at most. A process that stood still in the middle of
# one would be late by minutes, and every time bound that it writes would have passed.
_MAX_ROUND_TRIP_S: Final = 1.0
_MISSED: Final = "clock.database_away"

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class DatabaseClock:
    """A `Clock` whose `now` is the database's time, extrapolated by the monotonic clock.

    The wall clock of this machine is not used: it may be minutes off, or jump. Use it as an
    async context manager inside the database's, and run `run` to follow the database's time. A
    start does not depend on the database.
    """

    def __init__(self, database: Database, local: Clock) -> None:
        self._database, self._local = database, local
        self._read: tuple[datetime, float] | None = (
            None  # the time, and the monotonic moment of reading it
        )
        self._is_exact = False

    async def __aenter__(self) -> Self:
        await attempt(self.synchronise, missed=_MISSED)
        off_s = (self._local.now() - self.now()).total_seconds()
        if abs(off_s) > _MAX_OFFSET_S:
            log.warning("clock.differs_from_database", off_s=round(off_s, 1))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def now(self) -> datetime:
        """The database's time, UTC and aware; this machine's until it was read once."""
        if self._read is None:
            return self._local.now()
        at, read_at = self._read
        return at + timedelta(seconds=self._local.monotonic() - read_at)

    def monotonic(self) -> float:
        """Seconds that never go back, for deadlines."""
        return self._local.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        await self._local.sleep(seconds)

    async def run(self) -> None:
        """Read the database's time regularly, until cancelled; an outage is logged."""
        while True:
            await self._local.sleep(_EVERY_S if self._is_exact else _FIRST_S)
            await attempt(self.synchronise, missed=_MISSED)

    async def synchronise(self) -> None:
        """Read the database's time; a reading that took too long is used only if there is no other.

        Raises:
            DatabaseUnavailable: the last reading stays in use.
        """
        async with self._database.connection() as db:
            sent_at = self._local.monotonic()
            time: datetime = await db.fetchval("SELECT clock_timestamp()")
            read_at = self._local.monotonic()
        was_exact, self._is_exact = self._is_exact, read_at - sent_at <= _MAX_ROUND_TRIP_S
        if self._is_exact or self._read is None:
            self._read = time, (sent_at + read_at) / 2
        if was_exact and not self._is_exact:
            log.warning("clock.reading_too_slow", took_s=round(read_at - sent_at, 1))
