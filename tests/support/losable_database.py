"""A database that a test takes away, and gives back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database


class LosableDatabase(Database):
    """The connections of another pool while `is_lost` is not set."""

    def __init__(self, whole: Database) -> None:
        self._whole, self.is_lost = whole, False

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend a connection, or raise the outage."""
        if self.is_lost:
            raise DatabaseUnavailable("lost")
        async with self._whole.connection() as db:
            yield db
