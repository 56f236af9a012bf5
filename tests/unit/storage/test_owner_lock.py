"""The locks of owners in one process."""

import asyncio

import pytest

from farebox.kernel.caller import OwnerId
from farebox.kernel.errors import TooManyRequests
from farebox.storage.owner_lock import MAX_WAITING, OwnerLocks
from support.unlimited import Unlimited

ONE, OTHER = OwnerId("user_1"), OwnerId("user_2")


async def test_lock_is_held_by_one_task_per_owner_and_owners_do_not_wait_for_each_other() -> None:
    locks = OwnerLocks(Unlimited())
    inside: list[str] = []

    async def change(owner: OwnerId, name: str) -> None:
        async with locks.hold(owner):
            inside.append(name)
            await asyncio.sleep(0)
            assert [each for each in inside if each.startswith(owner)] == [name]
            inside.remove(name)

    async with locks.hold(ONE):
        waiting = [asyncio.create_task(change(ONE, f"{ONE} {n}")) for n in range(3)]
        await asyncio.wait_for(change(OTHER, OTHER), 1)
        assert not any(each.done() for each in waiting)
    await asyncio.gather(*waiting)
    assert locks._locks == {}


async def test_lock_refuses_too_many_waiters_and_is_released_on_an_error() -> None:
    locks = OwnerLocks(Unlimited())

    async def broken() -> None:
        async with locks.hold(ONE):
            await asyncio.sleep(0)
            raise ValueError

    crowd = [asyncio.create_task(broken()) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyRequests):
        async with locks.hold(ONE):
            pass
    async with locks.hold(OTHER):
        pass
    crowd[5].cancel()
    ended = await asyncio.gather(*crowd, return_exceptions=True)
    kinds = [type(each) for each in ended]
    assert kinds.count(ValueError) == MAX_WAITING - 1
    assert kinds.count(asyncio.CancelledError) == 1
    assert locks._locks == {}
