"""Migrations are applied once, in order, and refused when they were changed."""

import asyncio
from dataclasses import replace
from typing import Final

import asyncpg
import pytest

from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.migrate import (
    Migration,
    MigrationRefused,
    find_missing,
    migrate,
    packaged_migrations,
)

FIRST = Migration(1, "0001_first.sql", "CREATE TABLE first (n integer)")
SECOND = Migration(2, "0002_second.sql", "CREATE TABLE second (n integer)")
BROKEN = Migration(2, "0002_broken.sql", "CREATE TABLE half (n integer); SELECT 1/0")


FILLED = Migration(1, "0001_filled.sql", "CREATE TABLE t AS SELECT 1 AS n UNION ALL SELECT 1")
INDEXED = Migration(
    2,
    "0002_indexed.sql",
    "-- concurrently\n\n-- by n; fast\nCREATE INDEX CONCURRENTLY t_n ON t (n);",
)
UNIQUE = Migration(2, "0002_unique.sql", INDEXED.sql.replace("CREATE INDEX", "CREATE UNIQUE INDEX"))
IS_VALID: Final = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('t_n')"


async def _ask(url: Secret[str], *statements: str) -> object:
    """What the last statement answers; none waits longer than half a second for a lock."""
    connection = await asyncpg.connect(url.reveal(), server_settings={"lock_timeout": "500ms"})
    try:
        answers = [await connection.fetchval(statement) for statement in statements]
        return answers[-1]
    finally:
        await connection.close()


async def _tables(url: Secret[str]) -> set[str]:
    connection = await asyncpg.connect(url.reveal())
    try:
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname='public'")
        return {row["tablename"] for row in rows}
    finally:
        await connection.close()


async def test_migrate_applies_only_missing_steps_and_refuses_edited_and_unknown_ones(
    empty_database_url: Secret[str],
) -> None:
    assert await migrate(empty_database_url, (FIRST,)) == (FIRST,)
    assert await migrate(empty_database_url, (FIRST,)) == ()
    edited = Migration(1, FIRST.name, FIRST.sql + " -- edited")
    with pytest.raises(MigrationRefused, match=r"0001_first.sql was changed"):
        await migrate(empty_database_url, (edited,))
    assert await migrate(empty_database_url, (FIRST, SECOND)) == (SECOND,)
    with pytest.raises(MigrationRefused, match="newer Farebox"):
        await migrate(empty_database_url, (FIRST,))


async def test_concurrent_migrations_apply_each_step_once_in_order(
    empty_database_url: Secret[str],
) -> None:
    results = await asyncio.gather(
        *(migrate(empty_database_url, (FIRST, SECOND)) for _ in range(5))
    )
    assert sorted(results, key=len) == [(), (), (), (), (FIRST, SECOND)]
    assert await _tables(empty_database_url) == {"schema_migrations", "first", "second"}


async def test_a_failed_step_is_rolled_back(empty_database_url: Secret[str]) -> None:
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(empty_database_url, (FIRST, BROKEN))
    assert await _tables(empty_database_url) == {"schema_migrations", "first"}
    assert await migrate(empty_database_url, (FIRST, SECOND)) == (SECOND,)


async def test_migrate_refuses_steps_with_a_gap_before_it_connects() -> None:
    with pytest.raises(MigrationRefused, match="not numbered in a row"):
        await migrate(Secret("postgresql://nobody@127.0.0.1:1/x"), (SECOND,))


async def test_migrate_names_rows_that_do_not_fit_a_step(
    empty_database_url: Secret[str],
) -> None:
    filled = Migration(1, "0001_filled.sql", "CREATE TABLE t (n int); INSERT INTO t VALUES (NULL)")
    strict = Migration(2, "0002_strict.sql", "ALTER TABLE t ALTER n SET NOT NULL")
    with pytest.raises(MigrationRefused, match="do not fit"):
        await migrate(empty_database_url, (filled, strict))


async def test_migrate_reports_an_outage_without_the_address() -> None:
    with pytest.raises(DatabaseUnavailable) as caught:
        await migrate(Secret("postgresql://user:hidden@127.0.0.1:1/x"), packaged_migrations())
    assert "hidden" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)


async def test_packaged_steps_create_the_schema(empty_database_url: Secret[str]) -> None:
    steps = packaged_migrations()
    assert await migrate(empty_database_url, steps) == steps
    assert "schema_migrations" in await _tables(empty_database_url)


async def _migrate_during_a_write(url: Secret[str], step: Migration) -> tuple[Migration, ...]:
    """The step is applied while a writer is in the middle of its transaction; others write on."""
    writer = await asyncpg.connect(url.reveal())
    try:
        await writer.execute("BEGIN; INSERT INTO t VALUES (2)")
        migrating = asyncio.create_task(migrate(url, (FILLED, step)))
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while not await _ask(url, waiting):
            pass
        try:
            await _ask(url, "INSERT INTO t VALUES (3)")
        finally:
            await writer.execute("COMMIT")
            applied = await migrating
        return applied
    finally:
        await writer.close()


async def test_a_concurrent_index_build_does_not_block_writers(
    empty_database_url: Secret[str],
) -> None:
    await migrate(empty_database_url, (FILLED,))
    assert await _migrate_during_a_write(empty_database_url, INDEXED) == (INDEXED,)
    assert await _ask(empty_database_url, IS_VALID) is True


async def test_an_index_build_in_a_transaction_blocks_writers(
    empty_database_url: Secret[str],
) -> None:
    await migrate(empty_database_url, (FILLED,))
    plain = Migration(2, "0002_plain.sql", "CREATE INDEX t_n ON t (n)")
    with pytest.raises(asyncpg.LockNotAvailableError):
        await _migrate_during_a_write(empty_database_url, plain)


async def test_an_invalid_index_is_rebuilt(
    empty_database_url: Secret[str],
) -> None:
    await migrate(empty_database_url, (FILLED,))
    with pytest.raises(MigrationRefused, match="do not fit"):
        await migrate(empty_database_url, (FILLED, UNIQUE))
    assert await _ask(empty_database_url, IS_VALID) is False
    assert await find_missing(empty_database_url, (FILLED, UNIQUE)) == (UNIQUE,)
    await _ask(empty_database_url, "DELETE FROM t")
    assert await migrate(empty_database_url, (FILLED, UNIQUE)) == (UNIQUE,)
    assert await _ask(empty_database_url, IS_VALID) is True


async def test_concurrent_migrations_build_an_index_once_without_deadlock(
    empty_database_url: Secret[str],
) -> None:
    async with asyncio.timeout(20):
        results = await asyncio.gather(
            *(migrate(empty_database_url, (FILLED, INDEXED)) for _ in range(4))
        )
    assert sorted(results, key=len) == [(), (), (), (FILLED, INDEXED)]


async def test_a_concurrent_step_may_only_build_indexes(
    empty_database_url: Secret[str],
) -> None:
    mixed = Migration(1, "0001_mixed.sql", "-- concurrently\nCREATE TABLE t (n int);")
    with pytest.raises(ValueError, match="more than build indexes"):
        await migrate(empty_database_url, (mixed,))
    assert [step.name for step in packaged_migrations() if step.is_concurrent and step.indexes]


async def test_a_step_with_a_replaced_text_is_not_applied_again(
    empty_database_url: Secret[str],
) -> None:
    before = Migration(1, FILLED.name, f"{FILLED.sql}; CREATE INDEX t_n ON t (n)")
    await migrate(empty_database_url, (before,))
    index_id = await _ask(empty_database_url, "SELECT to_regclass('t_n')::oid")
    with pytest.raises(MigrationRefused, match="was changed"):
        await migrate(empty_database_url, (FILLED, INDEXED))
    after = replace(FILLED, sql=f"-- replaces {before.sha256}\n{FILLED.sql}")
    assert await migrate(empty_database_url, (after, INDEXED)) == (INDEXED,)
    assert await _ask(empty_database_url, "SELECT to_regclass('t_n')::oid") == index_id


async def test_a_database_with_earlier_texts_of_packaged_steps_is_migrated(
    empty_database_url: Secret[str],
) -> None:
    steps = packaged_migrations()
    concurrent = tuple(step for step in steps if step.is_concurrent)
    await migrate(empty_database_url, steps)
    replaced = [(step.number, step.replaced[0]) for step in steps if step.replaced]
    assert {number for number, _ in replaced} >= {10, 16}
    earlier = [
        f"UPDATE schema_migrations SET sha256 = '{digest}' WHERE number = {number}"
        for number, digest in replaced
    ]
    taken = [f"DELETE FROM schema_migrations WHERE number = {step.number}" for step in concurrent]
    await _ask(empty_database_url, *earlier, *taken)
    assert await migrate(empty_database_url, steps) == concurrent
    assert await migrate(empty_database_url, steps) == ()


async def test_find_missing_changes_nothing(empty_database_url: Secret[str]) -> None:
    assert await find_missing(empty_database_url, (FIRST, SECOND)) == (FIRST, SECOND)
    assert await _tables(empty_database_url) == set()
    await migrate(empty_database_url, (FIRST,))
    assert await find_missing(empty_database_url, (FIRST, SECOND)) == (SECOND,)
    with pytest.raises(MigrationRefused, match="newer Farebox"):
        await find_missing(empty_database_url, ())
