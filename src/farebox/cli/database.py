"""The database a command works on: the one that is named, or the embedded server."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from farebox.app.settings import Settings
from farebox.cli.endings import MustChange, Unavailable
from farebox.kernel.secret import Secret
from farebox.local.postgres import EmbeddedPostgres
from farebox.local.postgres_folder import PostgresNotStarted
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.migrate import Migration, MigrationRefused, migrate, packaged_migrations


@contextmanager
def database_of(settings: Settings) -> Iterator[Secret[str]]:
    """The URL of a database that is there inside this context."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    server = EmbeddedPostgres(settings.data_dir)
    try:
        server.__enter__()
    except PostgresNotStarted as refused:
        raise MustChange(str(refused)) from refused
    try:
        yield server.url
    finally:
        server.__exit__(None, None, None)


def migrate_or_end(url: Secret[str]) -> tuple[Migration, ...]:
    """The database has this version's schema; returns what was applied now."""
    try:
        return asyncio.run(migrate(url, packaged_migrations()))
    except DatabaseUnavailable as outage:
        raise Unavailable(
            f"The database did not answer ({outage.message}): start it, "
            "or correct FAREBOX_DATABASE_URL."
        ) from outage
    except MigrationRefused as refused:
        raise MustChange(f"The schema was not changed: {refused}.") from refused
