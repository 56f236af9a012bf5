"""Bring a database's schema forward: numbered SQL files, in order, under one advisory lock."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

import asyncpg

from farebox.kernel.secret import Secret
from farebox.storage.faults import translated

LOCK_KEY: Final = 0x66617265  # any number no other program of the database takes
LOCK_WAIT_S: Final = 60
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
    """The database and this version of Farebox do not belong together."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step forward."""

    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """What the database remembers of the text, so that an edited step is noticed."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def packaged_migrations() -> tuple[Migration, ...]:
    """The steps of this version, in order."""
    found = []
    for entry in (resources.files("farebox") / "storage" / "migrations").iterdir():
        name = _NAME.match(entry.name)
        if name is not None:
            found.append(Migration(int(name["number"]), entry.name, entry.read_text("utf-8")))
    return tuple(sorted(found, key=lambda step: step.number))


async def migrate(url: Secret[str], migrations: Sequence[Migration]) -> tuple[Migration, ...]:
    """The database has every step; returns those that were missing.

    Each step is one transaction. Processes that start together wait for each other.

    Raises:
        MigrationRefused: an applied step was edited, or the database is of a newer version.
        DatabaseUnavailable: it cannot be reached, or the lock was not free in time.
    """
    _refuse_gaps(migrations)
    try:
        connection = await asyncpg.connect(url.reveal(), timeout=10, command_timeout=None)
        try:
            await connection.execute(f"SET lock_timeout = '{LOCK_WAIT_S}s'")
            await connection.execute("SELECT pg_advisory_lock($1)", LOCK_KEY)
            await connection.execute(_HISTORY)
            missing = await _missing(connection, migrations)
            for step in missing:
                await _apply(connection, step)
            return missing
        finally:
            await connection.close(timeout=5)
    except asyncpg.IntegrityConstraintViolationError as error:
        raise MigrationRefused("stored rows do not fit the new schema") from error
    except Exception as error:
        fault = translated(error)
        if fault is error:
            raise
        raise fault from error


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
        if row is not None and row["sha256"] != step.sha256:
            raise MigrationRefused(f"{row['name']} was changed after the database applied it")
    return tuple(step for step in migrations if step.number not in applied)


async def _apply(connection: "asyncpg.Connection[asyncpg.Record]", step: Migration) -> None:
    async with connection.transaction():
        await connection.execute(step.sql)
        await connection.execute(
            "INSERT INTO schema_migrations (number, name, sha256) VALUES ($1, $2, $3)",
            step.number,
            step.name,
            step.sha256,
        )
