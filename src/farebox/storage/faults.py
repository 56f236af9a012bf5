"""What a failing database means to a use case: it is away, or a constraint said no."""

import asyncpg

from farebox.kernel.errors import Outage


class DatabaseUnavailable(Outage):
    """The database cannot be used now; whether the last statement took effect may be unknown."""

    def __init__(self, message: str) -> None:
        super().__init__("database", message)


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
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)


def translated(error: Exception) -> Exception:
    """The exception a use case sees in place of the driver's; a bug stays what it is."""
    if isinstance(error, asyncpg.IntegrityConstraintViolationError):
        return Conflict(error.constraint_name or type(error).__name__)
    if isinstance(error, _AWAY):
        return DatabaseUnavailable(f"the database cannot be used now ({_kind(error)})")
    return error


def _kind(error: Exception) -> str:
    """A class of fault without any text of the driver's, which may name addresses and users."""
    if isinstance(error, asyncpg.PostgresError):
        return f"SQLSTATE {error.sqlstate}"
    return type(error).__name__
