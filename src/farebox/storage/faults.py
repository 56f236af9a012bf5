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


def translate_error(error: Exception) -> Exception:
    """Return the exception raised in place of the driver's; a bug is returned unchanged."""
    if isinstance(error, asyncpg.IntegrityConstraintViolationError):
        return Conflict(error.constraint_name or type(error).__name__)
    if isinstance(error, _AWAY):
        return DatabaseUnavailable(f"the database cannot be used now ({_kind(error)})")
    return error


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
