"""The connection pool to PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Final, LiteralString, Self, TypeAlias

import asyncpg
import structlog
from asyncpg.connect_utils import SessionAttribute
from asyncpg.pool import PoolConnectionProxy

from farebox.kernel.secret import Secret
from farebox.storage.faults import (
    DatabaseUnavailable,
    NoFreeConnection,
    StatementRefused,
    translate_error,
)

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"
Row: TypeAlias = asyncpg.Record

_SESSION: Final = {"timezone": "UTC"}
# PgBouncer refuses these at the start of a connection: the role has them (docs/operations.md)
DIRECT_SESSION: Final = {
    "idle_in_transaction_session_timeout": "5000",  # a frozen process must not hold locks
    "jit": "off",
}
_CONNECT_S: Final = 5.0
_STATEMENTS_KEPT: Final = 100  # prepared statements of a connection; asyncpg's default
_NO_SETTINGS: Final[Mapping[LiteralString, LiteralString]] = {}
_MAY_WRITE: Final = """
    SELECT bool_and(has_table_privilege($1, each))
      FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) AS each
"""
_ALARM_EVERY_S: Final = 60.0  # of one SQLSTATE: every loop and every request meets the same refusal

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class NestedConnection(Exception):
    """A bug: a caller that holds a connection must not wait for another.

    Enough such callers deadlock.
    """


@dataclass(slots=True)
class _Hold:
    is_over: bool = False


_held: ContextVar[_Hold | None] = ContextVar("farebox.connection_held", default=None)


class Database:
    """A pool that opens without a server, so that a start never depends on it.

    Args:
        connections: the most that are open at a time.
        wait_s: how long a caller waits for one of them to be free.
        statement_s: the deadline of one statement.
        name: `application_name` of its connections.
        is_pooled: the address is PgBouncer's, in transaction mode: no statement stays prepared, and
            no setting outlives a transaction.
        forbids_nesting: a caller that holds a connection and asks for another, of this pool or of
            any other that forbids it, gets `NestedConnection`.
    """

    def __init__(
        self,
        url: Secret[str],
        *,
        connections: int = 10,
        wait_s: float = 5.0,
        statement_s: float = 10.0,
        close_s: float = 5.0,
        name: str = "farebox",
        is_pooled: bool = False,
        forbids_nesting: bool = False,
    ) -> None:
        self._url, self.connections, self.name = url, connections, name
        self._close_s = close_s
        self._wait_s, self._statement_s = wait_s, statement_s
        self._is_pooled, self._forbids_nesting = is_pooled, forbids_nesting
        self._free = asyncio.Semaphore(connections)
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._alarmed_at: dict[str, float] = {}  # by SQLSTATE, in seconds of the event loop

    async def __aenter__(self) -> Self:
        session = _SESSION if self._is_pooled else _SESSION | DIRECT_SESSION
        try:
            self._pool = await asyncpg.create_pool(
                self._url.reveal(),
                min_size=0,
                max_size=self.connections,
                timeout=_CONNECT_S,
                command_timeout=self._statement_s,
                server_settings={**session, "application_name": self.name},
                statement_cache_size=0 if self._is_pooled else _STATEMENTS_KEPT,
                target_session_attrs=SessionAttribute.read_write,  # a standby is behind
                reset=_keep_session,
            )
        except Exception as error:
            raise translate_error(error) from error
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
        except TimeoutError:  # a server that hangs does not close its connections
            pool.terminate()

    def share(self, connections: int, *, wait_s: float, within_s: float) -> "Database":
        """A part of this pool for one purpose, so that the rest stays free for others.

        Args:
            connections: the most of the pool's connections in use at a time.
            wait_s: the longest wait for a free one.
            within_s: the longest use of it, connecting included; then the caller gets an outage.
        """
        return _PoolShare(self, connections, wait_s=wait_s, within_s=within_s)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """One connection, every statement on it a transaction of its own.

        Raises:
            NoFreeConnection: all were in use for the whole wait.
            DatabaseUnavailable: the server was not reached in time, or the connection broke.
            StatementRefused: a grant, a table or a column is missing; an alarm says which.
            Conflict: a constraint refused a statement and the body did not catch it.
        """
        async with self.lend(wait_s=self._wait_s, within_s=None) as connection:
            yield connection

    @asynccontextmanager
    async def lend(self, *, wait_s: float, within_s: float | None) -> AsyncIterator[Connection]:
        """As `connection`, with a wait of `wait_s` and a use of `within_s` at most.

        Raises:
            DatabaseUnavailable: as `connection`.
            Conflict: as `connection`.
        """
        pool = self._pool
        if pool is None:
            raise DatabaseUnavailable("the database is not open")
        hold = self._hold()
        connect_s = min(_CONNECT_S, self._statement_s)
        try:
            async with (
                _slot(self._free, wait_s),
                asyncio.timeout(within_s),
                pool.acquire(timeout=connect_s) as connection,
            ):
                yield connection
        except Exception as error:
            fault = translate_error(error)
            if fault is error:
                raise
            if isinstance(fault, StatementRefused):
                self._log_alarm(fault)
            raise fault from error
        finally:
            hold.is_over = True

    def _log_alarm(self, refused: StatementRefused) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._alarmed_at.get(refused.sqlstate, -_ALARM_EVERY_S) < _ALARM_EVERY_S:
            return
        self._alarmed_at[refused.sqlstate] = now
        log.error(
            "database.alarm",
            alarm="statement_refused",
            pool=self.name,
            sqlstate=refused.sqlstate,
            reason=refused.reason,
        )

    def _hold(self) -> _Hold:
        """The mark that the caller holds a connection, or waits for one, until it is over."""
        hold = _Hold()
        if self._forbids_nesting:
            other = _held.get()
            if other is not None and not other.is_over:
                raise NestedConnection(self.name)
            _held.set(hold)
        return hold

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """One connection in a transaction: committed when the body ends, rolled back on an error.

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
        """One connection in a read-only transaction with one snapshot (REPEATABLE READ).

        `settings` are PostgreSQL's own, for this transaction.

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

    async def check_grants(self, table: str) -> None:
        """Check that the role may read, insert into and update the table.

        Raises:
            StatementRefused: it may not, or there is no such table.
            DatabaseUnavailable: the server did not respond.
        """
        async with self.connection() as connection:
            if not await connection.fetchval(_MAY_WRITE, table):
                raise StatementRefused("42501", f"a grant on table {table} is missing")


class _PoolShare(Database):
    """A limited number of another pool's connections; the owner opens and closes that pool."""

    def __init__(
        self, whole: Database, connections: int, *, wait_s: float, within_s: float
    ) -> None:
        self._whole, self._own = whole, asyncio.Semaphore(connections)
        self.connections = connections
        self._wait_s, self._within_s = wait_s, within_s

    async def __aenter__(self) -> Self:
        raise NotImplementedError("a share is open while its pool is")

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        until = asyncio.get_running_loop().time() + self._wait_s
        async with _slot(self._own, self._wait_s):
            left_s = max(0.0, until - asyncio.get_running_loop().time())
            async with self._whole.lend(wait_s=left_s, within_s=self._within_s) as connection:
                yield connection


@asynccontextmanager
async def _slot(free: asyncio.Semaphore, wait_s: float) -> AsyncIterator[None]:
    if free.locked():
        try:
            async with asyncio.timeout(wait_s):
                await free.acquire()
        except TimeoutError as error:
            raise NoFreeConnection from error
    else:
        await free.acquire()
    try:
        yield
    finally:
        free.release()


async def _keep_session(connection: Connection) -> None:
    """Reset nothing: the transaction has ended, and with it its settings, locks and cursors."""
    del connection
