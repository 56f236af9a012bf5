import asyncio

import asyncpg
import pytest

from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.migrate import Migration, MigrationRefused, migrate, packaged_migrations

FIRST = Migration(1, "0001_first.sql", "CREATE TABLE first (n integer)")
SECOND = Migration(2, "0002_second.sql", "CREATE TABLE second (n integer)")
BROKEN = Migration(2, "0002_broken.sql", "CREATE TABLE half (n integer); SELECT 1/0")


async def _tables(url: Secret[str]) -> set[str]:
    connection = await asyncpg.connect(url.reveal())
    try:
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname='public'")
        return {row["tablename"] for row in rows}
    finally:
        await connection.close()


async def test_an_empty_database_gets_every_step_in_order(empty_database_url: Secret[str]) -> None:
    assert await migrate(empty_database_url, (FIRST, SECOND)) == (FIRST, SECOND)
    assert await _tables(empty_database_url) == {"schema_migrations", "first", "second"}


async def test_a_second_run_applies_nothing(empty_database_url: Secret[str]) -> None:
    await migrate(empty_database_url, (FIRST,))
    assert await migrate(empty_database_url, (FIRST,)) == ()


async def test_an_older_database_gets_only_what_it_misses(empty_database_url: Secret[str]) -> None:
    await migrate(empty_database_url, (FIRST,))
    assert await migrate(empty_database_url, (FIRST, SECOND)) == (SECOND,)


async def test_processes_that_start_together_apply_each_step_once(
    empty_database_url: Secret[str],
) -> None:
    results = await asyncio.gather(
        *(migrate(empty_database_url, (FIRST, SECOND)) for _ in range(5))
    )
    assert sorted(results, key=len) == [(), (), (), (), (FIRST, SECOND)]


async def test_a_step_that_fails_leaves_nothing_of_itself(empty_database_url: Secret[str]) -> None:
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(empty_database_url, (FIRST, BROKEN))
    assert await _tables(empty_database_url) == {"schema_migrations", "first"}
    assert await migrate(empty_database_url, (FIRST, SECOND)) == (SECOND,)


async def test_a_step_edited_after_it_was_applied_is_refused(
    empty_database_url: Secret[str],
) -> None:
    await migrate(empty_database_url, (FIRST,))
    edited = Migration(1, FIRST.name, FIRST.sql + " -- edited")
    with pytest.raises(MigrationRefused, match=r"0001_first.sql was changed"):
        await migrate(empty_database_url, (edited,))


async def test_a_database_of_a_newer_version_is_refused(empty_database_url: Secret[str]) -> None:
    await migrate(empty_database_url, (FIRST, SECOND))
    with pytest.raises(MigrationRefused, match="newer Farebox"):
        await migrate(empty_database_url, (FIRST,))


async def test_steps_with_a_gap_are_refused_before_the_database_is_asked() -> None:
    with pytest.raises(MigrationRefused, match="not numbered in a row"):
        await migrate(Secret("postgresql://nobody@127.0.0.1:1/x"), (SECOND,))


async def test_rows_that_do_not_fit_a_step_are_named_as_the_reason(
    empty_database_url: Secret[str],
) -> None:
    filled = Migration(1, "0001_filled.sql", "CREATE TABLE t (n int); INSERT INTO t VALUES (NULL)")
    strict = Migration(2, "0002_strict.sql", "ALTER TABLE t ALTER n SET NOT NULL")
    with pytest.raises(MigrationRefused, match="do not fit"):
        await migrate(empty_database_url, (filled, strict))


async def test_a_database_that_is_away_is_an_outage_without_its_address() -> None:
    with pytest.raises(DatabaseUnavailable) as caught:
        await migrate(Secret("postgresql://user:hidden@127.0.0.1:1/x"), packaged_migrations())
    assert "hidden" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)


async def test_the_packaged_steps_make_a_schema(empty_database_url: Secret[str]) -> None:
    steps = packaged_migrations()
    assert await migrate(empty_database_url, steps) == steps
    assert "schema_migrations" in await _tables(empty_database_url)
