"""The database of a command: the one in FAREBOX_DATABASE_URL, or the embedded server."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TypeVar

from farebox.app.settings import Settings
from farebox.cli.exits import Unavailable, UserActionRequired, load_settings, run
from farebox.kernel.secret import Secret
from farebox.local.postgres import EmbeddedPostgres
from farebox.local.postgres_folder import PostgresNotStarted
from farebox.storage.faults import DatabaseUnavailable, StatementRefused
from farebox.storage.migrate import (
    Migration,
    MigrationRefused,
    find_missing,
    migrate,
    packaged_migrations,
)
from farebox.storage.pool import Database

T = TypeVar("T")


def has_database(settings: Settings) -> bool:
    """Whether a database is configured, or an embedded one was created before."""
    if settings.database_url is not None:
        return True
    try:
        return EmbeddedPostgres(settings.data_dir).has_cluster
    except OSError:
        return True  # `database_of` says why the folder cannot be read


@contextmanager
def database_of(settings: Settings, *, is_read_only: bool = False) -> Iterator[Secret[str]]:
    """The URL of a running database; unless read-only, an embedded one is created if missing."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    server = EmbeddedPostgres(settings.data_dir)
    if is_read_only and not server.has_cluster:
        raise UserActionRequired(
            f"There is no database in {settings.data_dir}: set FAREBOX_DATABASE_URL or "
            "FAREBOX_DATA_DIR as for serve."
        )
    try:
        server.__enter__()
    except PostgresNotStarted as error:
        raise UserActionRequired(str(error)) from error
    try:
        yield server.url
    finally:
        server.__exit__(None, None, None)


def apply_migrations(url: Secret[str]) -> tuple[Migration, ...]:
    """Apply pending migrations; returns those that were applied."""
    return _run(migrate(url, packaged_migrations()))


def check_schema(url: Secret[str]) -> None:
    """Check that no migration is pending, without changing anything.

    Raises:
        UserActionRequired: one is.
    """
    missing = _run(find_missing(url, packaged_migrations()))
    if missing:
        raise UserActionRequired(
            f"The database's schema is of an older version ({missing[0].name} is missing): "
            "run farebox migrate."
        )


@contextmanager
def migrated_database(settings: Settings, *, is_read_only: bool = False) -> Iterator[Secret[str]]:
    """As `database_of`, with this version's schema; a read-only command does not change it."""
    with database_of(settings, is_read_only=is_read_only) as url:
        (check_schema if is_read_only else apply_migrations)(url)
        yield url


def run_with_database(
    work: Callable[[Settings, Database], Awaitable[T]], *, is_read_only: bool = False
) -> T:
    """Run `work` with the settings and one connection to the migrated database."""
    settings = load_settings(os.environ, needs_network=False)
    with migrated_database(settings, is_read_only=is_read_only) as url:

        async def connected() -> T:
            async with Database(
                url, connections=1, is_pooled=settings.connections.is_pooled
            ) as database:
                return await work(settings, database)

        return run(connected())


def _run(work: Coroutine[None, None, tuple[Migration, ...]]) -> tuple[Migration, ...]:
    try:
        return asyncio.run(work)
    except StatementRefused as refused:
        raise UserActionRequired(
            f"The database refused a statement ({refused.reason}): give the role of "
            "FAREBOX_DATABASE_URL its grants on the schema."
        ) from refused
    except DatabaseUnavailable as outage:
        raise Unavailable(
            f"The database did not answer ({outage.message}): start it, "
            "or correct FAREBOX_DATABASE_URL."
        ) from outage
    except MigrationRefused as error:
        raise UserActionRequired(f"The schema was not changed: {error}.") from error
