"""A pool that loses answers: the statement is carried out and its caller gets an outage."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database


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
