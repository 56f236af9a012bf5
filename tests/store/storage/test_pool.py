import asyncio
import time

import pytest

from farebox.kernel.secret import Secret
from farebox.local.postgres import EmbeddedPostgres
from farebox.storage.faults import Conflict, DatabaseUnavailable
from farebox.storage.pool import Database


async def test_a_transaction_that_raises_leaves_nothing(empty_database_url: Secret[str]) -> None:
    async with Database(empty_database_url) as database:
        with pytest.raises(ZeroDivisionError):
            async with database.transaction() as db:
                await db.execute("CREATE TABLE t (n int)")
                raise ZeroDivisionError
        async with database.connection() as db:
            assert await db.fetchval("SELECT to_regclass('t')::text") is None


async def test_a_transaction_that_ends_is_seen_by_other_connections(
    empty_database_url: Secret[str],
) -> None:
    async with Database(empty_database_url) as database:
        async with database.transaction() as db:
            await db.execute("CREATE TABLE t AS SELECT 7 AS n")
        async with database.connection() as one, database.connection() as other:
            assert await one.fetchval("SELECT n FROM t") == await other.fetchval("SELECT n FROM t")


async def test_a_snapshot_is_one_moment_with_settings_of_its_own(
    empty_database_url: Secret[str],
) -> None:
    async with Database(empty_database_url, connections=2) as database:
        async with database.connection() as db:
            await db.execute("CREATE TABLE t AS SELECT 7 AS n")
        async with database.snapshot({"enable_seqscan": "off"}) as db:
            assert await db.fetchval("SHOW enable_seqscan") == "off"
            assert await db.fetchval("SELECT count(*) FROM t") == 1
            async with database.connection() as other:
                await other.execute("INSERT INTO t VALUES (8)")
                assert await other.fetchval("SHOW enable_seqscan") == "on"
            assert await db.fetchval("SELECT count(*) FROM t") == 1
        with pytest.raises(ZeroDivisionError):
            async with database.snapshot({"enable_seqscan": "off"}) as db:
                raise ZeroDivisionError
        async with database.connection() as one, database.connection() as other:
            for db in (one, other):
                assert not db.is_in_transaction()
                assert await db.fetchval("SHOW enable_seqscan") == "on"


async def test_a_refused_row_is_a_conflict_that_names_its_constraint(
    empty_database_url: Secret[str],
) -> None:
    async with Database(empty_database_url) as database:
        async with database.connection() as db:
            await db.execute("CREATE TABLE t (n int CONSTRAINT only_once UNIQUE)")
            await db.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(Conflict) as caught:
            async with database.transaction() as db:
                await db.execute("INSERT INTO t VALUES (1)")
        assert caught.value.constraint == "only_once"


async def test_a_pool_opens_while_the_server_is_away_and_each_use_says_so() -> None:
    url = Secret("postgresql://user:hidden@127.0.0.1:1/x")
    async with Database(url, wait_s=2) as database:
        with pytest.raises(DatabaseUnavailable) as caught:
            await database.ping()
    assert caught.value.part == "database"
    assert "hidden" not in str(caught.value)


async def test_a_statement_that_takes_too_long_is_an_outage(postgres_url: Secret[str]) -> None:
    async with Database(postgres_url, statement_s=0.05) as database:
        with pytest.raises(DatabaseUnavailable):
            async with database.connection() as db:
                await db.execute("SELECT pg_sleep(30)")


async def test_waiting_for_a_connection_ends(postgres_url: Secret[str]) -> None:
    async with Database(postgres_url, connections=1, wait_s=0.05) as database:
        async with database.connection():
            with pytest.raises(DatabaseUnavailable):
                await database.ping()
        await database.ping()


async def test_a_connection_the_server_ends_is_an_outage_and_the_next_use_works(
    postgres_url: Secret[str], postgres_server: EmbeddedPostgres
) -> None:
    async with (
        Database(postgres_url, connections=1) as database,
        Database(postgres_server.url) as other,
    ):
        with pytest.raises(DatabaseUnavailable):
            async with database.connection() as db:
                process_id = await db.fetchval("SELECT pg_backend_pid()")
                async with other.connection() as killer:
                    await killer.execute("SELECT pg_terminate_backend($1)", process_id)
                await db.execute("SELECT 1")
        await database.ping()


async def test_a_wrong_statement_stays_a_bug(database: Database) -> None:
    with pytest.raises(Exception, match="nowhere") as caught:
        async with database.connection() as db:
            await db.execute("SELECT * FROM nowhere")
    assert not isinstance(caught.value, DatabaseUnavailable | Conflict)


async def test_a_closed_pool_is_an_outage(postgres_url: Secret[str]) -> None:
    database = Database(postgres_url)
    async with database:
        await database.ping()
    with pytest.raises(DatabaseUnavailable):
        await database.ping()


async def test_many_callers_share_few_connections(postgres_url: Secret[str]) -> None:
    async with Database(postgres_url, connections=2) as database:

        async def count() -> int:
            async with database.connection() as db:
                return int(await db.fetchval("SELECT 1"))

        assert sum(await asyncio.gather(*(count() for _ in range(50)))) == 50


async def test_a_process_that_stood_still_inside_a_transaction_has_kept_nothing(
    empty_database_url: Secret[str],
) -> None:
    """The server ends its session, so that nobody else waits for its locks."""
    async with Database(empty_database_url, connections=2) as database:
        with pytest.raises(DatabaseUnavailable):
            async with database.transaction() as db:
                await db.execute("CREATE TABLE t (n int)")
                await db.execute("SET LOCAL idle_in_transaction_session_timeout = '20ms'")
                async with database.connection() as other:
                    await other.execute("SELECT pg_sleep(0.2)")
                await db.execute("SELECT 1")
        async with database.connection() as db:
            assert await db.fetchval("SELECT to_regclass('t')::text") is None
            assert await db.fetchval("SHOW idle_in_transaction_session_timeout") == "5s"


async def test_a_pool_closes_in_time_though_a_statement_hangs(postgres_url: Secret[str]) -> None:
    async def hang(database: Database) -> None:
        async with database.connection() as db:
            await db.execute("SELECT pg_sleep(30)")

    async with Database(postgres_url, statement_s=60, close_s=0.1) as database:
        hanging = asyncio.ensure_future(hang(database))
        await asyncio.sleep(0.2)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    with pytest.raises(DatabaseUnavailable):
        await hanging


async def test_a_pool_is_known_to_the_server_by_its_name(postgres_url: Secret[str]) -> None:
    named = Database(postgres_url, name="farebox-catalog")
    async with named, named.connection() as db:
        assert await db.fetchval("SHOW application_name") == "farebox-catalog"
