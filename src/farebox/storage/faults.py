"""The driver's errors as outages of the database and violated constraints."""

from collections.abc import Awaitable, Callable

import asyncpg
import structlog

from farebox.kernel.errors import Outage


class DatabaseUnavailable(Outage):
    """The database cannot be used now; whether the last statement took effect may be unknown."""

    def __init__(self, message: str) -> None:
        super().__init__("database", message)


class NoFreeConnection(DatabaseUnavailable):
    """All connections of a pool, or of a share of it, were in use: no statement was sent."""

    repeat_after_s = 1

    def __init__(self) -> None:
        super().__init__("no connection to the database was free in time")


class StatementRefused(DatabaseUnavailable):
    """The server refuses a statement of ours: a grant, a table, a column or a limit is in the way.

    The statement took no effect. `reason` is the server's sentence, for the operator alone.
    """

    def __init__(self, sqlstate: str, reason: str) -> None:
        super().__init__(f"the database refuses a statement (SQLSTATE {sqlstate})")
        self.sqlstate, self.reason = sqlstate, reason


class LimitExceeded(StatementRefused):
    """A value of this very statement exceeds a limit of the server; other statements work."""


class Conflict(Exception):
    """A constraint refused the change; `constraint` is its name."""

    def __init__(self, constraint: str) -> None:
        super().__init__(constraint)
        self.constraint = constraint


# The server is there and refuses for a time, or the connection to it broke.
_AWAY = (
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,  # too many connections, disk full, out of memory
    asyncpg.OperatorInterventionError,  # shutdown, crash recovery, a statement cancelled
    asyncpg.PostgresSystemError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby answered: the primary is elsewhere
    asyncpg.LockNotAvailableError,
    asyncpg.IdleInTransactionSessionTimeoutError,  # this process stood still; nothing was kept
    asyncpg.TransactionRollbackError,  # deadlock and serialization: nothing was kept
    asyncpg.InternalServerError,  # the server's own fault
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
# The server is there, and its schema, its grants or its limits are not those that Farebox needs, as
# after a restore, or while another version changes the schema: an outage until the operator acts.
_REFUSALS = (
    asyncpg.InsufficientPrivilegeError,  # 42501
    asyncpg.UndefinedTableError,  # 42P01
    asyncpg.UndefinedColumnError,  # 42703
    asyncpg.UndefinedFunctionError,  # 42883
    asyncpg.UndefinedObjectError,  # 42704
    asyncpg.InvalidSchemaNameError,  # 3F000
    asyncpg.InvalidSQLStatementNameError,  # 26000: a pooler that keeps no prepared statement
    asyncpg.DuplicatePreparedStatementError,  # 42P05: as above
    asyncpg.FeatureNotSupportedError,  # 0A000
)


def translate_error(error: Exception) -> Exception:
    """Return the exception raised in place of the driver's; a bug is returned unchanged."""
    if isinstance(error, asyncpg.IntegrityConstraintViolationError):
        return Conflict(error.constraint_name or type(error).__name__)
    if isinstance(error, asyncpg.ProgramLimitExceededError):  # 54000
        return LimitExceeded(str(error.sqlstate), _first_line(error))
    if isinstance(error, _REFUSALS):
        return StatementRefused(str(error.sqlstate), _first_line(error))
    if isinstance(error, _AWAY):
        return DatabaseUnavailable(f"the database cannot be used now ({_kind(error)})")
    return error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]  # without detail and hint, which may have values


def _kind(error: Exception) -> str:
    """The class of the error, without the driver's message, which may name addresses and users."""
    if isinstance(error, asyncpg.PostgresError):
        return f"SQLSTATE {error.sqlstate}"
    return type(error).__name__


log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


async def attempt(work: Callable[[], Awaitable[object]], *, missed: str) -> bool:
    """Whether `work` was done; log the event `missed` while the database is unavailable."""
    try:
        await work()
    except DatabaseUnavailable:
        log.info(missed)
        return False
    return True
