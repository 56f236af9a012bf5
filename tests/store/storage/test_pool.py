"""Connections, transactions and snapshots of a pool, and its errors."""

import asyncio
import time

import asyncpg
import pytest
from structlog.testing import capture_logs

from farebox.kernel.secret import Secret
from farebox.local.postgres import EmbeddedPostgres
from farebox.storage.faults import Conflict, DatabaseUnavailable, StatementRefused
from farebox.storage.pool import Database
from support.faulty_database import ping
from testing.waiting import until

_RAISE = "DO $$ BEGIN RAISE 'planted' USING ERRCODE = '{}'; END $$"


async def test_a_transaction_that_raises_is_rolled_back_and_a_committed_one_is_visible_to_others(
    empty_database_url: Secret[str],
) -> None:
    async with Database(empty_database_url) as database:
        with pytest.raises(ZeroDivisionError):
            async with database.transaction() as db:
                await db.execute("CREATE TABLE t (n int)")
                raise ZeroDivisionError
        async with database.connection() as db:
            assert await db.fetchval("SELECT to_regclass('t')::text") is None
        async with database.transaction() as db:
            await db.execute("CREATE TABLE t AS SELECT 7 AS n")
        async with database.connection() as one, database.connection() as other:
            assert await one.fetchval("SELECT n FROM t") == await other.fetchval("SELECT n FROM t")


async def test_a_snapshot_is_repeatable_and_has_its_own_settings(
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


async def test_a_constraint_violation_is_a_conflict_that_names_the_constraint(
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


async def test_a_server_error_is_an_outage_that_names_its_sqlstate(
    postgres_url: Secret[str],
) -> None:
    """Control: a programming error is none."""
    async with Database(postgres_url) as database:
        for sqlstate in ("XX000", "XX001", "40P01", "40001", "53100", "57014"):
            with pytest.raises(DatabaseUnavailable, match=sqlstate):
                async with database.connection() as db:
                    await db.execute(_RAISE.format(sqlstate))
            await ping(database)
        with pytest.raises(asyncpg.PostgresSyntaxError):
            async with database.connection() as db:
                await db.execute("SELEC 1")


async def test_a_refused_statement_is_an_outage_with_one_alarm_a_minute(
    postgres_url: Secret[str],
) -> None:
    async with Database(postgres_url, name="money") as database:
        with capture_logs() as logged:
            for sqlstate in ("42P01", "42P01", "42501"):
                with pytest.raises(StatementRefused, match=sqlstate):
                    async with database.connection() as db:
                        await db.execute(_RAISE.format(sqlstate))
    alarm = {"alarm": "statement_refused", "pool": "money", "reason": "planted"}
    common = {"event": "database.alarm", "log_level": "error"} | alarm
    assert logged == [common | {"sqlstate": sqlstate} for sqlstate in ("42P01", "42501")]


async def test_missing_table_has_no_grants(database: Database) -> None:
    await database.check_grants("settlements")
    with pytest.raises(StatementRefused):
        await database.check_grants("nowhere")


async def test_a_pool_opens_without_a_server_and_each_use_reports_the_outage() -> None:
    url = Secret("postgresql://user:hidden@127.0.0.1:1/x")
    async with Database(url, wait_s=2) as database:
        with pytest.raises(DatabaseUnavailable) as caught:
            await ping(database)
    assert caught.value.part == "database"
    assert "hidden" not in str(caught.value)


async def test_a_statement_over_its_time_limit_is_an_outage(postgres_url: Secret[str]) -> None:
    async with Database(postgres_url, statement_s=0.05) as database:
        with pytest.raises(DatabaseUnavailable):
            async with database.connection() as db:
                await db.execute("SELECT pg_sleep(30)")


async def test_waiting_for_a_connection_times_out(postgres_url: Secret[str]) -> None:
    async with Database(postgres_url, connections=1, wait_s=0.05) as database:
        async with database.connection():
            with pytest.raises(DatabaseUnavailable):
                await ping(database)
        await ping(database)


async def test_a_terminated_connection_is_an_outage_and_the_next_use_works(
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
        await ping(database)


async def test_a_closed_pool_is_an_outage(postgres_url: Secret[str]) -> None:
    database = Database(postgres_url)
    async with database:
        await ping(database)
    with pytest.raises(DatabaseUnavailable):
        await ping(database)


async def test_fifty_callers_share_two_connections(postgres_url: Secret[str]) -> None:
    async with Database(postgres_url, connections=2) as database:

        async def count() -> int:
            async with database.connection() as db:
                return int(await db.fetchval("SELECT 1"))

        assert sum(await asyncio.gather(*(count() for _ in range(50)))) == 50


async def is_over(database: Database, session: int) -> bool:
    async with database.connection() as db:
        running = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1"
        return bool(await db.fetchval(running, session) == 0)


async def test_an_idle_transaction_is_rolled_back_by_the_server(
    empty_database_url: Secret[str],
) -> None:
    """The server ends the session, so that its locks are released."""
    async with Database(empty_database_url, connections=2) as database:
        with pytest.raises(DatabaseUnavailable):
            async with database.transaction() as db:
                await db.execute("CREATE TABLE t (n int)")
                session = await db.fetchval("SELECT pg_backend_pid()")
                await db.execute("SET LOCAL idle_in_transaction_session_timeout = '20ms'")
                await until(lambda: is_over(database, session))
                await db.execute("SELECT 1")
        async with database.connection() as db:
            assert await db.fetchval("SELECT to_regclass('t')::text") is None
            assert await db.fetchval("SHOW idle_in_transaction_session_timeout") == "5s"


async def is_asleep(database: Database) -> bool:
    async with database.connection() as db:
        sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        return bool(await db.fetchval(sleeping))


async def test_a_pool_closes_in_time_while_a_statement_hangs(postgres_url: Secret[str]) -> None:
    async def hang(database: Database) -> None:
        async with database.connection() as db:
            await db.execute("SELECT pg_sleep(30)")

    async with Database(postgres_url, statement_s=60, close_s=0.1) as database:
        hanging = asyncio.ensure_future(hang(database))
        await until(lambda: is_asleep(database))
        began = time.monotonic()
    assert time.monotonic() - began < 5
    with pytest.raises(DatabaseUnavailable):
        await hanging


async def test_a_pool_sets_its_application_name(postgres_url: Secret[str]) -> None:
    named = Database(postgres_url, name="farebox-catalog")
    async with named, named.connection() as db:
        assert await db.fetchval("SHOW application_name") == "farebox-catalog"
