"""Users who have nothing here are forgotten a month after their last sign-in, and no others."""

from datetime import timedelta
from typing import Final

import pytest

from farebox.accounts import session_store
from farebox.accounts.session import LIFE, User
from farebox.kernel.addresses import account_address
from farebox.kernel.caller import user_id
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database

MONTH: Final = timedelta(days=30)


def user(number: int) -> User:
    address = account_address(number.to_bytes(32))
    return User(user_id(Network.TESTNET, address), Network.TESTNET, address)


async def signed_in(db: Connection, number: int, *, days_ago: float) -> User:
    own = user(number)
    await session_store.put_user(db, own)
    ago = timedelta(days=days_ago)
    await db.execute(
        "UPDATE users SET signed_in_at = now() - $2::interval WHERE id = $1", own.id, ago
    )
    return own


async def forget(database: Database, *, limit: int = 99) -> int:
    async with database.connection() as db:
        return await session_store.forget_users(db, kept=MONTH, limit=limit)


async def known(database: Database) -> set[str]:
    async with database.connection() as db:
        return {row["id"] for row in await db.fetch("SELECT id FROM users")}


async def test_who_has_nothing_is_forgotten_after_a_month(database: Database) -> None:
    async with database.connection() as db:
        for number in range(1, 6):
            await signed_in(db, number, days_ago=30.1)
        recent = await signed_in(db, 9, days_ago=29.9)
    assert [await forget(database, limit=3) for _ in range(3)] == [3, 2, 0]
    assert await known(database) == {recent.id}


@pytest.mark.parametrize(
    "record",
    [
        """
        INSERT INTO sessions (id, digest, user_id, expires_at)
        VALUES ('ses', 'digest', $1, now() - interval '1 minute')
        """,
        """
        INSERT INTO api_keys (id, owner, name, prefix, digest, grants)
        VALUES ('key', $1, 'mine', 'fbx_live_', 'digest', '{}')
        """,
        """
        INSERT INTO vault_secrets (id, owner, name, purpose, key_version, nonce, sealed)
        VALUES ('sec', $1, 'mine', 'header', 1, decode(repeat('00', 12), 'hex'), 'sealed')
        """,
    ],
    ids=["session", "key", "secret"],
)
async def test_who_has_something_is_kept(database: Database, record: str) -> None:
    async with database.connection() as db:
        own = await signed_in(db, 1, days_ago=900)
        other = await signed_in(db, 2, days_ago=900)
        await db.execute(record, own.id)
    assert await forget(database) == 1, "the other"
    assert await known(database) == {own.id} != {other.id}


async def test_a_sign_in_at_the_same_time_is_neither_broken_nor_forgotten(
    database: Database, other_pool: Database
) -> None:
    async with database.connection() as db:
        own = await signed_in(db, 1, days_ago=900)
    async with other_pool.transaction() as signing_in:
        await session_store.put_user(signing_in, own)
        assert await forget(database) == 0, "nobody waits for it"
        await session_store.put_session(signing_in, "ses", digest=b"digest", user=own.id, life=LIFE)
    assert await forget(database) == 0
    assert await known(database) == {own.id}


async def test_whoever_is_forgotten_first_signs_in_as_the_same(
    database: Database, other_pool: Database
) -> None:
    async with database.connection() as db:
        own = await signed_in(db, 1, days_ago=900)
    assert await forget(database) == 1
    async with other_pool.connection() as db:
        await session_store.put_user(db, own)
        await session_store.put_session(db, "ses", digest=b"digest", user=own.id, life=LIFE)
    assert await known(database) == {own.id}
