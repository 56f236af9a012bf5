"""Units that shares divide: each may take more while it then holds no more than was free."""

import asyncio

import pytest

from farebox.kernel.slots import AnyPurpose, NoSlot, Requester, Share, SharedRoom, SlotLimits, Slots


def fill(room: SharedRoom, share: Share, *, by: int = 1) -> int:
    """Take what the share may hold, so many units at a time; return how many units that are."""
    taken = 0
    while room.has_room_for(share, by):
        room.take(share, by)
        taken += by
    return taken


@pytest.mark.parametrize(("units", "by", "alone"), [(1, 1, 1), (3, 1, 2), (64, 1, 32), (64, 8, 32)])
def test_share_that_is_alone_holds_half(units: int, by: int, alone: int) -> None:
    assert fill(SharedRoom(units), Share("one"), by=by) == alone


@pytest.mark.parametrize(("hostile", "left"), [(1, 256), (4, 32), (8, 2)])
def test_each_share_at_its_limit_leaves_half_of_what_was_free(hostile: int, left: int) -> None:
    room = SharedRoom(1024)
    for number in range(hostile):
        assert fill(room, Share(f"hostile {number}"))
    assert fill(room, Share("honest")) == left


def test_new_shares_hold_together_what_one_share_may() -> None:
    room = SharedRoom(512)
    held = [fill(room, Share(f"new {number}", is_new=True)) for number in range(400)]
    assert (held[0], held[1] > 0, sum(held) <= 256) == (171, True, True)
    assert fill(room, Share("honest")) >= 128


def test_units_that_are_given_back_are_free_again() -> None:
    room, new = SharedRoom(64), Share("new", is_new=True)
    for _ in range(10):
        taken = fill(room, new, by=2)
        assert (room.taken, room.held_by(new), room.free) == (taken, taken, 64 - taken)
        room.release(new, taken)
        assert (room.taken, room.held_by(new), room.free) == (0, 0, 64)


async def taken(slots: Slots, client: str, times: int, *, is_new: bool = False) -> int:
    requester = Requester(AnyPurpose.ANY, Share(client, is_new))
    results = await asyncio.gather(
        *(slots.take(requester) for _ in range(times)), return_exceptions=True
    )
    assert all(each is None or isinstance(each, NoSlot) for each in results)
    return results.count(None)


async def test_divided_slots_bound_a_client_by_the_rule_and_a_new_one_by_its_number_too() -> None:
    """Control: slots that are not divided go to the first who asks."""
    limits = SlotLimits(32, 32, wait_s=0, next_wait_s=0, per_new_client=2, is_divided=True)
    slots = Slots(32, {AnyPurpose.ANY: limits})
    assert [await taken(slots, f"new {n}", 40, is_new=True) for n in range(4)] == [2] * 4
    assert [await taken(slots, name, 40) for name in ("one", "two", "three")] == [12, 6, 3]
    undivided = SlotLimits(32, 32, wait_s=0, next_wait_s=0)
    slots = Slots(32, {AnyPurpose.ANY: undivided})
    assert [await taken(slots, name, 40) for name in ("one", "two")] == [32, 0]
