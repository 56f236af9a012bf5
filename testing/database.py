"""Databases of a PostgreSQL server, each used over a connection of its own."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from farebox.kernel.secret import Secret
from farebox.storage.pool import Connection


@asynccontextmanager
async def connected(
    url: Secret[str] | str, *, statement_s: float | None = None
) -> AsyncIterator[Connection]:
    """Open a connection, closed at the end; a statement may take `statement_s`."""
    plain = url if isinstance(url, str) else url.reveal()
    db = await asyncpg.connect(plain, command_timeout=statement_s)
    try:
        yield db
    finally:
        await db.close()


async def execute(url: Secret[str] | str, *statements: str) -> None:
    """Execute statements one by one."""
    async with connected(url) as db:
        for statement in statements:
            await db.execute(statement)


async def create_database(server: Secret[str], name: str, how: str = "") -> Secret[str]:
    """Create a database on a server, `how` in words of SQL; its URL."""
    await execute(server, f"CREATE DATABASE {name} {how}")
    return named_database(server, name)


async def drop_database(server: Secret[str], name: str) -> None:
    """Drop a database, whoever is connected to it."""
    await execute(server, f"DROP DATABASE {name} WITH (FORCE)")


def named_database(url: Secret[str], name: str) -> Secret[str]:
    """Return the URL of another database of the same server."""
    return Secret(re.sub(r"/[^/?]+\?", f"/{name}?", url.reveal(), count=1))
