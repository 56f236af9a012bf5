"""Turns of one owner in one process."""

import asyncio

import pytest

from farebox.kernel.caller import OwnerId
from farebox.kernel.errors import TooManyRequests
from farebox.storage.owner_turn import MOST_WAITING, OwnerTurns

ONE, OTHER = OwnerId("user_1"), OwnerId("user_2")


async def test_an_owner_waits_for_itself_and_nobody_else_does() -> None:
    turns = OwnerTurns()
    inside: list[str] = []

    async def change(owner: OwnerId, name: str) -> None:
        async with turns.turn(owner):
            inside.append(name)
            await asyncio.sleep(0)
            assert [each for each in inside if each.startswith(owner)] == [name]
            inside.remove(name)

    async with turns.turn(ONE):
        waiting = [asyncio.create_task(change(ONE, f"{ONE} {n}")) for n in range(3)]
        await asyncio.wait_for(change(OTHER, OTHER), 1)
        assert not any(each.done() for each in waiting)
    await asyncio.gather(*waiting)
    assert turns._queues == {}


async def test_a_crowd_is_turned_away_and_a_broken_turn_is_given_on() -> None:
    turns = OwnerTurns()

    async def broken() -> None:
        async with turns.turn(ONE):
            await asyncio.sleep(0)
            raise ValueError

    crowd = [asyncio.create_task(broken()) for _ in range(MOST_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyRequests):
        async with turns.turn(ONE):
            pass
    async with turns.turn(OTHER):
        pass
    crowd[5].cancel()
    ended = await asyncio.gather(*crowd, return_exceptions=True)
    kinds = [type(each) for each in ended]
    assert kinds.count(ValueError) == MOST_WAITING - 1
    assert kinds.count(asyncio.CancelledError) == 1
    assert turns._queues == {}
