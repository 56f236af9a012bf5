"""Users and sessions as rows: the limit of a user's sessions, and deleted users."""

import asyncio
from datetime import timedelta
from typing import Final

import pytest

from farebox.accounts import session_store
from farebox.accounts.session import LIFE, User
from farebox.kernel.addresses import account_address
from farebox.kernel.caller import user_id
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database

MONTH: Final = timedelta(days=30)


def user(number: int) -> User:
    address = account_address(number.to_bytes(32))
    return User(user_id(Network.TESTNET, address), Network.TESTNET, address)


async def signed_in(db: Connection, number: int, *, days_ago: float) -> User:
    own = user(number)
    await session_store.put_user(db, own, is_on_ledger=True)
    ago = timedelta(days=days_ago)
    await db.execute(
        "UPDATE users SET signed_in_at = now() - $2::interval WHERE id = $1", own.id, ago
    )
    return own


async def forget(database: Database, *, limit: int = 99) -> int:
    async with database.connection() as db:
        return await session_store.delete_users(db, kept=MONTH, limit=limit)


async def known(database: Database) -> set[str]:
    async with database.connection() as db:
        return {row["id"] for row in await db.fetch("SELECT id FROM users")}


async def test_delete_users_deletes_users_without_records_after_a_month(database: Database) -> None:
    async with database.connection() as db:
        for number in range(1, 6):
            await signed_in(db, number, days_ago=30.1)
        recent = await signed_in(db, 9, days_ago=29.9)
    assert [await forget(database, limit=3) for _ in range(3)] == [3, 2, 0]
    assert await known(database) == {recent.id}


RECORDS: Final = (
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
)


async def test_delete_users_keeps_users_with_records(database: Database) -> None:
    kept = set[str]()
    async with database.connection() as db:
        for number, record in enumerate(RECORDS, start=1):
            own = await signed_in(db, number, days_ago=900)
            await db.execute(record, own.id)
            kept.add(own.id)
        await signed_in(db, 9, days_ago=900)
    assert await forget(database) == 1, "the other"
    assert await known(database) == kept


async def test_delete_users_skips_a_user_who_signs_in_concurrently(
    database: Database, other_pool: Database
) -> None:
    async with database.connection() as db:
        own = await signed_in(db, 1, days_ago=900)
    async with other_pool.transaction() as signing_in:
        await session_store.put_user(signing_in, own, is_on_ledger=True)
        assert await forget(database) == 0, "the locked row is skipped"
        await session_store.put_session(signing_in, "ses", digest=b"digest", user=own.id, life=LIFE)
    assert await forget(database) == 0
    assert await known(database) == {own.id}


async def test_a_deleted_user_gets_the_same_id_at_the_next_sign_in(
    database: Database, other_pool: Database
) -> None:
    async with database.connection() as db:
        own = await signed_in(db, 1, days_ago=900)
    assert await forget(database) == 1
    async with other_pool.connection() as db:
        await session_store.put_user(db, own, is_on_ledger=True)
        await session_store.put_session(db, "ses", digest=b"digest", user=own.id, life=LIFE)
    assert await known(database) == {own.id}


ANN, BOB = (
    User(user_id(Network.TESTNET, address), Network.TESTNET, address)
    for address in (account_address(bytes([n]) * 32) for n in (1, 2))
)


async def begin(database: Database, user: User, *, most: int) -> str:
    """A session as a sign-in begins it, the surplus ended."""
    session_id = new_id("ses")
    async with database.transaction() as db:
        await session_store.put_user(db, user, is_on_ledger=False)
        await session_store.put_session(
            db, session_id, digest=session_id.encode(), user=user.id, life=LIFE
        )
        await session_store.revoke_oldest(db, user.id, besides=session_id, most=most - 1)
    return session_id


async def live(database: Database, ids: list[str]) -> list[str]:
    async with database.connection() as db:
        return [each for each in ids if await session_store.find_expiry(db, each) is not None]


@pytest.mark.parametrize("most", [1, 3])
async def test_revoke_oldest_revokes_only_the_oldest_sessions_of_the_user(
    database: Database, most: int
) -> None:
    others = [await begin(database, BOB, most=9) for _ in range(4)]
    own = [await begin(database, ANN, most=most) for _ in range(most + 3)]
    assert await live(database, own) == own[-most:]
    assert await live(database, others) == others


async def test_concurrent_sessions_do_not_revoke_each_other(database: Database) -> None:
    old = [await begin(database, ANN, most=4) for _ in range(4)]
    new = await asyncio.gather(*(begin(database, ANN, most=4) for _ in range(4)))
    last = await begin(database, ANN, most=4)
    assert last in await live(database, [*old, *new, last])
    assert len(await live(database, [*old, *new, last])) == 4
