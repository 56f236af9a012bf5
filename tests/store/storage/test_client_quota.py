"""Rows of callers without an established account, counted by client address and in all."""

import asyncio

import pytest

from farebox.storage.client_quota import ClientQuota, QuotaReached, enforce_quota
from farebox.storage.pool import Database
from farebox.web import guard
from farebox.web.client_address import client_name
from farebox.web.guard import quota_client

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


async def made_from_a_site(database: Database) -> list[bool]:
    """Whether new accounts made things, each from another network of one site."""
    clients = [
        quota_client({"farebox.client": f"2001:db8:66:{network:x}::1"}) for network in range(5)
    ]
    return [await make(database, client) for client in clients]


async def test_new_accounts_of_a_site_share_its_quota(things: Database) -> None:
    assert await made_from_a_site(things) == [True] * 3 + [False] * 2
    assert await make(things, quota_client({"farebox.client": "2001:db8:67::1"}))


async def test_control_networks_of_a_site_take_the_quota_of_all_where_each_has_one(
    things: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "site_name", client_name)  # of a /64
    assert await made_from_a_site(things) == [True] * 5
    assert not await make(things, quota_client({"farebox.client": "2001:db8:67::1"}))
