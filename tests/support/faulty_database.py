"""Pools whose database a test takes away, or whose answers are lost, and one statement to try."""

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


class LosingDatabase(Database):
    """Loses the next `lost_answers` uses of a connection and `lost_commits` transactions."""

    lost_answers = 0
    lost_commits = 0

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection that is broken after its statements, while answers are to be lost."""
        async with super().connection() as connection:
            yield connection
            if self.lost_answers:
                self.lost_answers -= 1
                connection.terminate()
                raise DatabaseUnavailable("the connection broke")

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A transaction whose commit succeeds unanswered, while commits are to be lost."""
        async with super().transaction() as connection:
            yield connection
        if self.lost_commits:
            self.lost_commits -= 1
            raise DatabaseUnavailable("the connection broke")


async def ping(database: Database) -> None:
    """Run one statement, which needs a free connection and a server that responds."""
    async with database.connection() as db:
        await db.execute("SELECT 1")
