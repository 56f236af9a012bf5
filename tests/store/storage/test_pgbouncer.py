"""The pools and the migration behind PgBouncer in transaction mode."""

import asyncio
from collections.abc import Iterator
from typing import Final

import asyncpg
import pytest

from farebox.app.database_pools import build_pools
from farebox.app.settings import ConnectionSettings
from farebox.kernel.secret import Secret
from farebox.storage.capacity import SessionRefused, read_capacity
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Database
from support.faulty_database import ping
from support.pgbouncer import pgbouncer, program

SERVER_CONNECTIONS: Final = 3  # fewer than clients, so that transactions change connections
SIZES: Final = ConnectionSettings(4, 4, 4, is_pooled=True)

pytestmark = pytest.mark.skipif(
    program() is None, reason="scripts/test installs pgbouncer, or reports that it could not"
)


@pytest.fixture
def pooled_url(empty_database_url: Secret[str]) -> Iterator[Secret[str]]:
    with pgbouncer(empty_database_url, server_connections=SERVER_CONNECTIONS) as url:
        yield url


async def test_concurrent_migrations_apply_each_step_once(
    pooled_url: Secret[str],
) -> None:
    steps = packaged_migrations()
    # each takes two connections, so only one may wait besides the holder of the lock
    applied = await asyncio.gather(migrate(pooled_url, steps), migrate(pooled_url, steps))
    assert sorted(applied, key=len) == [(), steps]
    connection = await asyncpg.connect(pooled_url.reveal(), statement_cache_size=0)
    try:
        locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        assert await connection.fetchval(locks) == 0, "none is left with a connection of the pool"
    finally:
        await connection.close()


async def test_pools_work_on_changing_server_connections_of_pgbouncer(
    pooled_url: Secret[str],
) -> None:
    pools = build_pools(pooled_url, SIZES)
    seen: set[int] = set()

    async def ask(database: Database, n: int) -> None:
        async with database.transaction() as db:
            seen.add(await db.fetchval("SELECT pg_backend_pid()"))
            # a type that has to be looked up, in the middle of a transaction
            rows = await db.fetch(
                "SELECT $1::int[] AS n, ARRAY['a']::information_schema.sql_identifier[]", [n]
            )
            assert rows[0]["n"] == [n]
        async with database.snapshot({"enable_seqscan": "off"}) as db:
            assert await db.fetchval("SHOW enable_seqscan") == "off"
        async with database.connection() as db:
            assert await db.fetchval("SELECT $1::bigint + 1", n) == n + 1
            assert await db.fetchval("SHOW timezone") == "UTC"

    async with pools.money, pools.reads, pools.background:
        every = (pools.money, pools.reads, pools.background, pools.callers, pools.searching)
        for n in range(12):  # some wait for a server connection, none for a second
            await asyncio.gather(*(ask(database, n) for database in every))
    assert 1 < len(seen) <= SERVER_CONNECTIONS


async def test_connection_is_refused_without_the_pgbouncer_setting(
    pooled_url: Secret[str],
) -> None:
    """The control: PgBouncer takes no session setting that it does not know."""
    with pytest.raises(SessionRefused):
        await read_capacity(pooled_url, within_s=5)
    async with Database(pooled_url, wait_s=2) as database:
        with pytest.raises((DatabaseUnavailable, asyncpg.PostgresError)):
            await ping(database)


async def test_cached_prepared_statements_fail_on_another_server_connection(
    pooled_url: Secret[str],
) -> None:
    """The control: why a pool behind PgBouncer keeps none."""
    first, second = [await asyncpg.connect(pooled_url.reveal()) for _ in range(2)]
    try:
        assert await first.fetchval("SELECT $1::int", 1) == 1
        async with second.transaction():
            await second.execute("SELECT 1")  # on the server connection that was used last
            with pytest.raises(asyncpg.InvalidSQLStatementNameError):
                await first.fetchval("SELECT $1::int", 1)
    finally:
        first.terminate()
        second.terminate()
