"""Bring a database's schema forward: numbered SQL files, in order, under one advisory lock.

Two lines at the top of a file say more than SQL:

- `-- concurrently`: every statement is a `CREATE INDEX CONCURRENTLY name ...`, alone.
- `-- replaces <SHA-256>`: databases that applied the file when it had this digest have the step.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Final

import asyncpg

from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable, translate_error

_CONCURRENT: Final = re.compile(r"-- concurrently$", re.MULTILINE)
_REPLACES: Final = re.compile(r"^-- replaces ([0-9a-f]{64})$", re.MULTILINE)
_COMMENT: Final = re.compile(r"--.*$", re.MULTILINE)
_INDEX: Final = re.compile(r"CREATE (?:UNIQUE )?INDEX CONCURRENTLY ([a-z0-9_]+) ON ")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step forward."""

    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The digest stored in the database, by which an edited step is noticed."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def replaced(self) -> tuple[str, ...]:
        """Digests of earlier texts of this step with the same result, later steps included."""
        return tuple(_REPLACES.findall(self.sql))

    @property
    def is_concurrent(self) -> bool:
        """Whether the step only builds indexes, while others write."""
        return _CONCURRENT.match(self.sql) is not None

    @property
    def indexes(self) -> tuple[tuple[str, str], ...]:
        """Name and statement of each index of a concurrent step.

        Raises:
            ValueError: a statement does something else.
        """
        statements = [each.strip() for each in _COMMENT.sub("", self.sql).split(";")]
        found = []
        for statement in filter(None, statements):
            index = _INDEX.match(statement)
            if index is None:
                raise ValueError(f"{self.name} does more than build indexes concurrently")
            found.append((index[1], statement))
        return tuple(found)


LOCK_KEY: Final = 0x66617265  # a number that no other program of the database uses
LOCK_WAIT_S: Final = 60  # for the table locks of one step
MIGRATION_LOCK_WAIT_S: Final = 900.0  # while another process migrates: an index may take minutes
_LOCK_POLL_S: Final = 0.2
_NAME: Final = re.compile(r"(?P<number>[0-9]{4})_[a-z0-9_]+\.sql\Z")

_HISTORY: Final = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        number integer PRIMARY KEY,
        name text NOT NULL,
        sha256 text NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    )
"""


class MigrationRefused(Exception):
    """The database's schema does not fit this version of Farebox."""


def packaged_migrations() -> tuple[Migration, ...]:
    """The steps of this version, in order."""
    found = []
    for entry in (resources.files("farebox") / "storage" / "migrations").iterdir():
        name = _NAME.match(entry.name)
        if name is not None:
            found.append(Migration(int(name["number"]), entry.name, entry.read_text("utf-8")))
    return tuple(sorted(found, key=lambda step: step.number))


async def migrate(url: Secret[str], migrations: Sequence[Migration]) -> tuple[Migration, ...]:
    """Apply the missing steps and return them.

    A step is one transaction, or builds its indexes concurrently and can be interrupted at any
    point. Processes that start together wait for each other.

    Raises:
        MigrationRefused: an applied step was edited, or the database is of a newer version.
        DatabaseUnavailable: it cannot be reached, or a lock was not free in time.
    """
    _refuse_gaps(migrations)
    async with _translated_errors(), _migration_lock(url), _connected(url) as connection:
        await connection.execute(_HISTORY)
        missing = await _missing(connection, migrations)
        for step in missing:
            await (_build if step.is_concurrent else _apply)(connection, step)
        return missing


async def find_missing(url: Secret[str], migrations: Sequence[Migration]) -> tuple[Migration, ...]:
    """Find the steps that the database does not have, without a change.

    Raises:
        MigrationRefused: as `migrate`.
        DatabaseUnavailable: it cannot be reached.
    """
    async with _translated_errors(), _connected(url) as connection:
        if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
            return tuple(migrations)
        return await _missing(connection, migrations)


@asynccontextmanager
async def _translated_errors() -> AsyncIterator[None]:
    try:
        yield
    except asyncpg.IntegrityConstraintViolationError as error:
        raise MigrationRefused("stored rows do not fit the new schema") from error
    except Exception as error:
        fault = translate_error(error)
        if fault is error:
            raise
        raise fault from error


@asynccontextmanager
async def _migration_lock(url: Secret[str]) -> AsyncIterator[None]:
    """Hold the advisory lock of migrations in this context.

    The lock is one of a transaction, because PgBouncer lends a session for no longer than that. It
    is tried and never waited for: a statement that waits has a snapshot, and an index that is built
    concurrently by the one that holds the lock would wait for the end of that snapshot.
    """
    async with _connected(url) as lock:
        async with asyncio.timeout(MIGRATION_LOCK_WAIT_S):
            while True:
                transaction = lock.transaction()
                await transaction.start()
                await lock.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                if await lock.fetchval("SELECT pg_try_advisory_xact_lock($1)", LOCK_KEY):
                    break
                await transaction.rollback()
                await asyncio.sleep(_LOCK_POLL_S)
        await lock.execute("SELECT")  # ends the portal of the last statement, and its snapshot
        try:
            yield
        finally:
            if not lock.is_closed():
                await transaction.rollback()


@asynccontextmanager
async def _connected(url: Secret[str]) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    try:
        connection = await asyncpg.connect(
            url.reveal(), timeout=10, command_timeout=None, statement_cache_size=0
        )
    except ValueError:  # its message quotes the port, which may be part of a password
        raise DatabaseUnavailable("the database's address cannot be read") from None
    try:
        yield connection
    finally:
        await connection.close(timeout=5)


def _refuse_gaps(migrations: Sequence[Migration]) -> None:
    numbers = [step.number for step in migrations]
    if numbers != list(range(1, len(numbers) + 1)):
        raise MigrationRefused(f"the steps of this version are not numbered in a row: {numbers}")


async def _missing(
    connection: "asyncpg.Connection[asyncpg.Record]", migrations: Sequence[Migration]
) -> tuple[Migration, ...]:
    rows = await connection.fetch("SELECT number, name, sha256 FROM schema_migrations")
    applied = {row["number"]: row for row in rows}
    known = {step.number for step in migrations}
    if newer := sorted(applied.keys() - known):
        raise MigrationRefused(
            f"the database is of a newer Farebox (it has step {newer[-1]:04}): upgrade the program"
        )
    for step in migrations:
        row = applied.get(step.number)
        if row is not None and row["sha256"] not in (step.sha256, *step.replaced):
            raise MigrationRefused(f"{row['name']} was changed after the database applied it")
    return tuple(step for step in migrations if step.number not in applied)


async def _apply(connection: "asyncpg.Connection[asyncpg.Record]", step: Migration) -> None:
    async with connection.transaction():
        await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_WAIT_S}s'")
        await connection.execute(step.sql)
        await _note(connection, step)


async def _build(connection: "asyncpg.Connection[asyncpg.Record]", step: Migration) -> None:
    """Build the step's indexes concurrently; build an interrupted one anew."""
    for index, statement in step.indexes:
        is_valid = await connection.fetchval(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)", index
        )
        if is_valid is False:
            await connection.execute(f"DROP INDEX CONCURRENTLY {index}")
        if not is_valid:
            await connection.execute(statement)
    await _note(connection, step)


async def _note(connection: "asyncpg.Connection[asyncpg.Record]", step: Migration) -> None:
    await connection.execute(
        "INSERT INTO schema_migrations (number, name, sha256) VALUES ($1, $2, $3)",
        step.number,
        step.name,
        step.sha256,
    )
