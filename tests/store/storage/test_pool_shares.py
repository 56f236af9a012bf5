"""Shares of a pool, and pools that leave each other their connections."""

import asyncio

import pytest

from farebox.app import database_pools
from farebox.app.database_pools import build_pools
from farebox.app.services import DatabaseComponent
from farebox.app.settings import ConnectionSettings
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable, NoFreeConnection
from farebox.storage.pool import Database, NestedConnection
from support.faulty_database import ping
from testing.waiting import WITHIN_S

SHORT_S = 0.05


async def test_share_is_refused_past_its_part_while_the_pool_has_more(
    postgres_url: Secret[str],
) -> None:
    async with Database(postgres_url, connections=2) as database:
        share = database.share(1, wait_s=SHORT_S, within_s=5)
        async with share.connection():
            with pytest.raises(NoFreeConnection) as refused:
                await ping(share)
            await ping(database)  # the control: the pool itself has one
        await ping(share)
    assert (refused.value.part, refused.value.repeat_after_s) == ("database", 1)


async def test_share_waits_for_its_pool_no_longer_than_for_its_part(
    postgres_url: Secret[str],
) -> None:
    async with Database(postgres_url, connections=1) as database:
        share = database.share(1, wait_s=SHORT_S, within_s=5)
        async with database.connection():
            with pytest.raises(NoFreeConnection):
                await ping(share)
        await ping(share)


async def test_share_breaks_a_connection_held_over_its_time_limit(
    postgres_url: Secret[str],
) -> None:
    async with Database(postgres_url, connections=1) as database:
        share = database.share(1, wait_s=5, within_s=SHORT_S)
        with pytest.raises(DatabaseUnavailable) as broken:
            async with share.transaction() as db:
                await db.execute("SELECT pg_sleep(30)")
        assert not isinstance(broken.value, NoFreeConnection)
        async with database.connection() as db:  # and it is whole again
            assert not db.is_in_transaction()
            assert await db.fetchval("SELECT 1") == 1


async def test_nested_connection_of_a_guarded_pool_is_refused(
    postgres_url: Secret[str],
) -> None:
    async with (
        Database(postgres_url, connections=3, forbids_nesting=True) as money,
        Database(postgres_url, connections=3, forbids_nesting=True) as reads,
    ):
        for other in (money, reads, reads.share(1, wait_s=5, within_s=5)):
            async with money.connection():
                with pytest.raises(NestedConnection):
                    await ping(other)
                with pytest.raises(NestedConnection):
                    await asyncio.gather(ping(other))  # by a task that is waited for
        await asyncio.gather(ping(money), ping(money), ping(reads))
        await ping(reads)


async def test_nested_connections_of_an_unguarded_pool_exhaust_it(
    postgres_url: Secret[str],
) -> None:
    """The control: the deadlock that the guard prevents."""
    async with Database(postgres_url, connections=2, wait_s=SHORT_S) as database:
        both = asyncio.Barrier(2)

        async def nest() -> None:
            async with database.connection():
                await both.wait()
                await ping(database)

        found = await asyncio.gather(nest(), nest(), return_exceptions=True)
    assert any(isinstance(each, NoFreeConnection) for each in found)


async def test_money_pool_still_waits_when_the_read_pool_refuses(postgres_url: Secret[str]) -> None:
    pools = build_pools(postgres_url, ConnectionSettings(2, 2, 2, is_pooled=False))
    refused = asyncio.Event()

    async def hold(database: Database) -> None:
        async with database.connection():
            await refused.wait()

    async with pools.money, pools.reads:
        held = [asyncio.create_task(hold(each)) for each in [pools.money, pools.reads] * 2]
        await asyncio.sleep(0)
        waiting = asyncio.create_task(ping(pools.money))
        await asyncio.sleep(0)
        with pytest.raises(NoFreeConnection):
            await ping(pools.reads)
        assert not waiting.done()
        refused.set()
        await waiting
        await asyncio.gather(*held)


async def test_readiness_check_passes_when_all_other_pools_are_exhausted(
    postgres_url: Secret[str],
) -> None:
    pools = build_pools(postgres_url, ConnectionSettings(2, 2, 2, is_pooled=False))
    is_over = asyncio.Event()

    async def hold(database: Database) -> None:
        async with database.connection():
            await is_over.wait()

    others = [pools.money, pools.reads, pools.background]
    async with pools.money, pools.reads, pools.background, pools.health:
        held = [asyncio.create_task(hold(each)) for each in others * 2]
        await asyncio.sleep(0)
        await DatabaseComponent(pools.health).health()
        with pytest.raises(NoFreeConnection):  # the control: a busy pool has none
            await DatabaseComponent(pools.reads).health()
        is_over.set()
        await asyncio.gather(*held)


async def test_a_flooded_share_leaves_connections_to_the_others(
    postgres_url: Secret[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("_READ_WAIT_S", "_COUNT_S"):  # of those that wait meanwhile
        monkeypatch.setattr(database_pools, limit, WITHIN_S)
    pools = build_pools(postgres_url, ConnectionSettings(2, 2, 2, is_pooled=False))
    async with pools.money, pools.reads, pools.background:
        for busy, other in (
            (pools.searching, pools.accounts),
            (pools.accounts, pools.searching),
            (pools.callers, pools.money),
            (pools.counting, pools.money),
            (pools.upkeep, pools.listing),
        ):
            is_over = asyncio.Event()

            async def hold(database: Database, until: asyncio.Event) -> None:
                async with database.connection():
                    await until.wait()

            flood = [asyncio.create_task(hold(busy, is_over)) for _ in range(5)]
            await asyncio.sleep(0)
            await ping(other)
            is_over.set()
            await asyncio.gather(*flood)
