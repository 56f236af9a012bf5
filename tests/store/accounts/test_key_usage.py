"""The time of a key's last use is written later, at most once a minute."""

import asyncio
from datetime import datetime, timedelta

import pytest

from farebox.accounts.api_key import KeyTerms
from farebox.accounts.key_usage import KeyUsage
from farebox.accounts.manage_keys import KeyManagement
from farebox.kernel.caller import Caller, CallerKind, OwnerId
from farebox.kernel.ids import new_id
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from support.manual_clock import ManualClock
from support.unlimited import Unlimited
from testing.waiting import WITHIN_S, until

OWNER = Caller(OwnerId("user_1"), CallerKind.SESSION)
MINUTE = timedelta(minutes=1)


async def made(database: Database) -> str:
    terms = KeyTerms(new_id("name"), frozenset(), None)
    return (await KeyManagement(database, Unlimited()).create(OWNER, terms, request_id="1")).key.id


async def used_at(database: Database, key_id: str) -> datetime | None:
    async with database.connection() as db:
        moment: datetime | None = await db.fetchval(
            "SELECT last_used_at FROM api_keys WHERE id = $1", key_id
        )
    return moment


async def test_key_usage_writes_at_most_once_a_minute_per_key(
    database: Database, clock: ManualClock
) -> None:
    one, other = await made(database), await made(database)
    uses = KeyUsage(database, clock)
    first = clock.now()
    uses.record(one)
    assert await used_at(database, one) is None
    await uses.write()
    assert await used_at(database, one) == first
    assert await used_at(database, other) is None
    await clock.sleep(59)
    uses.record(one)
    await uses.write()
    assert await used_at(database, one) == first
    await clock.sleep(1)
    uses.record(one)
    await uses.write()
    assert await used_at(database, one) == first + MINUTE


async def test_key_usage_is_written_by_one_of_several_replicas(
    database: Database, clock: ManualClock
) -> None:
    keys = [await made(database) for _ in range(10)]
    replicas = [KeyUsage(database, clock) for _ in range(4)]
    async with database.connection() as db:
        await db.execute(
            """
            CREATE FUNCTION count_use() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN UPDATE use_counts SET n = n + 1 WHERE id = NEW.id; RETURN NEW; END $$;
            CREATE TABLE use_counts AS SELECT id, 0 AS n FROM api_keys;
            CREATE TRIGGER count_use AFTER UPDATE ON api_keys
                FOR EACH ROW EXECUTE FUNCTION count_use();
            """
        )
    try:
        for uses in replicas:
            for key in keys:
                uses.record(key)
        await asyncio.gather(*(uses.write() for uses in replicas))
        async with database.connection() as db:
            counts = await db.fetch("SELECT n FROM use_counts")
    finally:
        async with database.connection() as db:
            await db.execute("DROP FUNCTION count_use CASCADE; DROP TABLE use_counts")
    assert [row["n"] for row in counts] == [1] * len(keys)


async def test_key_usage_skips_a_locked_row(database: Database, clock: ManualClock) -> None:
    held, free = await made(database), await made(database)
    uses = KeyUsage(database, clock)
    uses.record(held)
    uses.record(free)
    async with database.transaction() as db:
        await db.execute("SELECT FROM api_keys WHERE id = $1 FOR UPDATE", held)
        await asyncio.wait_for(uses.write(), WITHIN_S)
    assert await used_at(database, held) is None
    assert await used_at(database, free) == clock.now()


async def test_key_usage_is_kept_when_the_database_is_unavailable(
    database: Database, clock: ManualClock
) -> None:
    key = await made(database)
    away = Database(Secret("postgresql://farebox@127.0.0.1:9/none"))
    uses = KeyUsage(away, clock)
    uses.record(key)
    with pytest.raises(DatabaseUnavailable):
        await uses.write()
    uses._database = database
    async with uses:
        pass
    assert await used_at(database, key) == clock.now()


async def test_key_usage_of_a_deleted_key_is_dropped(
    database: Database, clock: ManualClock
) -> None:
    uses = KeyUsage(database, clock)
    uses.record(new_id("key"))
    await uses.write()


async def test_key_usage_loop_survives_an_outage(database: Database, clock: ManualClock) -> None:
    key = await made(database)
    uses = KeyUsage(Database(Secret("postgresql://farebox@127.0.0.1:9/none")), clock)
    noted_at = clock.now()
    uses.record(key)
    running = asyncio.create_task(uses.run())
    try:
        await until(lambda: clock.now() > noted_at)
        uses._database = database
        await until(lambda: used_at(database, key))
    finally:
        running.cancel()
        await asyncio.wait([running])
    assert await used_at(database, key) == noted_at
