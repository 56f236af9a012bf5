"""How many sessions a user has, and what becomes of the others."""

import asyncio

import pytest

from farebox.accounts import session_store
from farebox.accounts.session import LIFE, User
from farebox.kernel.addresses import account_address
from farebox.kernel.caller import user_id
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network
from farebox.storage.pool import Database

ANN, BOB = (
    User(user_id(Network.TESTNET, address), Network.TESTNET, address)
    for address in (account_address(bytes([n]) * 32) for n in (1, 2))
)


async def begin(database: Database, user: User, *, most: int) -> str:
    """A session as a sign-in begins it, the surplus ended."""
    session_id = new_id("ses")
    async with database.transaction() as db:
        await session_store.put_user(db, user)
        await session_store.put_session(
            db, session_id, digest=session_id.encode(), user=user.id, life=LIFE
        )
        await session_store.end_oldest(db, user.id, besides=session_id, most=most - 1)
    return session_id


async def live(database: Database, ids: list[str]) -> list[str]:
    async with database.connection() as db:
        return [each for each in ids if await session_store.find_end(db, each) is not None]


@pytest.mark.parametrize("most", [1, 3])
async def test_one_more_session_ends_the_oldest_of_its_user_alone(
    database: Database, most: int
) -> None:
    others = [await begin(database, BOB, most=9) for _ in range(4)]
    own = [await begin(database, ANN, most=most) for _ in range(most + 3)]
    assert await live(database, own) == own[-most:]
    assert await live(database, others) == others


async def test_sessions_that_begin_at_once_end_no_other_that_just_began(database: Database) -> None:
    old = [await begin(database, ANN, most=4) for _ in range(4)]
    new = await asyncio.gather(*(begin(database, ANN, most=4) for _ in range(4)))
    last = await begin(database, ANN, most=4)
    assert last in await live(database, [*old, *new, last])
    assert len(await live(database, [*old, *new, last])) == 4
