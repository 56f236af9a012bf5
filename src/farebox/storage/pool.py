"""Connections to PostgreSQL, lent one at a time."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Final, LiteralString, Self, TypeAlias

import asyncpg
from asyncpg.connect_utils import SessionAttribute
from asyncpg.pool import PoolConnectionProxy

from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable, translated

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"
Row: TypeAlias = asyncpg.Record

_SESSION: Final = {
    "timezone": "UTC",
    "idle_in_transaction_session_timeout": "5000",  # a frozen process must not hold locks
    "jit": "off",
}
_NO_SETTINGS: Final[Mapping[LiteralString, LiteralString]] = {}


class Database:
    """A pool that opens without the server being there, so that a start never depends on it."""

    def __init__(
        self,
        url: Secret[str],
        *,
        connections: int = 10,
        wait_s: float = 5.0,
        statement_s: float = 10.0,
        close_s: float = 5.0,
        name: str = "farebox",
    ) -> None:
        self._url, self._connections, self._name = url, connections, name
        self._close_s = close_s
        self._wait_s, self._statement_s = wait_s, statement_s
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None

    async def __aenter__(self) -> Self:
        try:
            self._pool = await asyncpg.create_pool(
                self._url.reveal(),
                min_size=0,
                max_size=self._connections,
                timeout=self._wait_s,
                command_timeout=self._statement_s,
                server_settings={**_SESSION, "application_name": self._name},
                target_session_attrs=SessionAttribute.read_write,  # a standby tells the past
                reset=_as_it_is,
            )
        except Exception as error:
            raise translated(error) from error
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            async with asyncio.timeout(self._close_s):
                await pool.close()
        except TimeoutError:  # a server that hangs does not say goodbye
            pool.terminate()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """One connection, every statement on it a transaction of its own.

        Raises:
            DatabaseUnavailable: none could be had in time, or it broke.
            Conflict: a constraint refused a statement and the body did not catch it.
        """
        if self._pool is None:
            raise DatabaseUnavailable("the database is not open")
        try:
            async with self._pool.acquire(timeout=self._wait_s) as connection:
                yield connection
        except Exception as error:
            fault = translated(error)
            if fault is error:
                raise
            raise fault from error

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """One connection inside one transaction: kept when the body ends, undone when it raises.

        Raises:
            DatabaseUnavailable: as `connection`; if the commit broke, its outcome is unknown.
            Conflict: as `connection`.
        """
        async with self.connection() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def snapshot(
        self, settings: Mapping[LiteralString, LiteralString] = _NO_SETTINGS
    ) -> AsyncIterator[Connection]:
        """One connection on which every statement reads the database as it is at the first one.

        `settings` are the server's own, and hold until the body ends.

        Raises:
            DatabaseUnavailable: as `connection`.
        """
        begin: LiteralString = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        for name, value in settings.items():
            begin += f"; SET LOCAL {name} = {value}"
        async with self.connection() as connection:
            try:
                await connection.execute(begin)
                yield connection
            finally:
                if connection.is_in_transaction() and not connection.is_closed():
                    await connection.execute("ROLLBACK")  # nothing was written

    async def ping(self) -> None:
        """The server answered a statement just now.

        Raises:
            DatabaseUnavailable: it did not.
        """
        async with self.connection() as connection:
            await connection.execute("SELECT 1")


async def _as_it_is(connection: Connection) -> None:
    """What a body leaves behind needs no statement: its transaction has ended, and settings, locks
    and cursors live no longer than that."""
    del connection
