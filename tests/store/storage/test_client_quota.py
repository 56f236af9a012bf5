"""Rows of callers without an established account, counted by client address and in all."""

import asyncio

import pytest

from farebox.storage.client_quota import ClientQuota, QuotaReached, enforce_quota
from farebox.storage.pool import Database

QUOTA = ClientQuota("things", per_client=3, in_total=5)
A, B, C = "192.0.2.1", "192.0.2.2", "192.0.2.3"


@pytest.fixture
async def things(database: Database) -> Database:
    async with database.connection() as db:
        await db.execute("DROP TABLE IF EXISTS things; CREATE TABLE things (client text)")
    return database


async def make(database: Database, client: str | None, *, holds: bool = True) -> bool:
    """Whether one more thing was made."""
    try:
        async with database.transaction() as db:
            if holds:
                await enforce_quota(db, QUOTA, client)
            await asyncio.sleep(0)
            await db.execute("INSERT INTO things VALUES ($1)", client)
    except QuotaReached:
        return False
    return True


async def test_quota_limits_each_client_address_and_the_total(things: Database) -> None:
    assert [await make(things, A) for _ in range(4)] == [True] * 3 + [False]
    assert [await make(things, B) for _ in range(3)] == [True] * 2 + [False]
    assert not await make(things, C)
    async with things.connection() as db:
        await db.execute("DELETE FROM things WHERE client = $1", A)
    assert await make(things, C)


async def test_quota_ignores_rows_without_a_client_address(things: Database) -> None:
    assert all([await make(things, None) for _ in range(10)])
    assert await make(things, A)


async def test_quota_holds_under_concurrent_inserts(things: Database) -> None:
    made = await asyncio.gather(*(make(things, A) for _ in range(20)))
    assert sum(made) == 3


async def test_concurrent_inserts_exceed_the_limit_without_the_quota(things: Database) -> None:
    made = await asyncio.gather(*(make(things, A, holds=False) for _ in range(20)))
    assert sum(made) == 20
