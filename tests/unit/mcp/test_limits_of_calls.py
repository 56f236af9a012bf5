import asyncio
from collections.abc import Mapping
from dataclasses import replace
from enum import IntEnum
from typing import Final

import pytest

from farebox.kernel.slots import NoSlot, Requester, Share, SlotLimits, Slots
from farebox.mcp import paid_call
from farebox.mcp.paid_call import CallKind, limits_of_calls

CALLS: Final = 96  # the default of FAREBOX_AGENT_CALLS


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paid_call, "_SLOT_S", 0.0)


async def _take(slots: Slots, kind: CallKind, share: Share, times: int) -> int:
    """Return how many slots a client got."""
    got = await asyncio.gather(
        *(slots.take(Requester(kind, share)) for _ in range(times)), return_exceptions=True
    )
    assert all(each is None or isinstance(each, NoSlot) for each in got)
    return got.count(None)


async def _fill(slots: Slots, kind: CallKind, hostile: int, *, are_new: bool) -> list[int]:
    """Let clients take all they can; return how many slots each got."""
    shares = [Share(f"hostile {number}", are_new) for number in range(hostile)]
    return [await _take(slots, kind, each, CALLS) for each in shares]


def _constant_quarters() -> Mapping[IntEnum, SlotLimits]:
    """The limits of before: a quarter of each kind to a client, whatever the others hold."""
    return {
        kind: replace(each, per_client=each.total // 4, per_new_client=None, is_divided=False)
        for kind, each in limits_of_calls(CALLS).items()
    }


@pytest.mark.parametrize("kind", CallKind)
@pytest.mark.parametrize(
    ("hostile", "are_new", "held"),
    [(4, False, 24), (8, False, 45), (4, True, 8), (8, True, 16), (11, True, 22)],
)
async def test_callers_that_hold_all_they_may_leave_a_call_to_the_next(
    kind: CallKind, hostile: int, *, are_new: bool, held: int
) -> None:
    for honest in (Share("honest", are_new), Share("established")):
        slots = Slots(CALLS, limits_of_calls(CALLS))
        assert sum(await _fill(slots, kind, hostile, are_new=are_new)) == held
        assert await _take(slots, kind, honest, 1) == 1


@pytest.mark.parametrize("kind", CallKind)
@pytest.mark.parametrize("are_new", [False, True])
async def test_control_four_callers_with_a_quarter_each_leave_none(
    kind: CallKind, *, are_new: bool
) -> None:
    slots = Slots(CALLS, _constant_quarters())
    assert await _fill(slots, kind, 4, are_new=are_new) == [12] * 4
    assert await _take(slots, kind, Share("honest", are_new), 1) == 0


@pytest.mark.parametrize("kind", CallKind)
async def test_control_eight_callers_whose_calls_are_not_divided_leave_none(kind: CallKind) -> None:
    limits = {
        kind: replace(each, is_divided=False) for kind, each in limits_of_calls(CALLS).items()
    }
    slots = Slots(CALLS, limits)
    assert sum(await _fill(slots, kind, 8, are_new=False)) == CALLS // 2
    assert await _take(slots, kind, Share("honest"), 1) == 0


@pytest.mark.parametrize("most", [8, 32, CALLS, 1_000])
async def test_any_number_of_new_callers_leaves_half_of_the_calls_to_others(most: int) -> None:
    slots = Slots(most, limits_of_calls(most))
    for kind in CallKind:
        assert sum(await _fill(slots, kind, 200, are_new=True)) == most // 4
        assert await _take(slots, kind, Share("established"), 1) == 1


async def test_control_calls_of_one_kind_take_those_of_the_other_where_they_are_not_divided() -> (
    None
):
    undivided = {
        kind: replace(each, total=CALLS, is_divided=False)
        for kind, each in limits_of_calls(CALLS).items()
    }
    slots = Slots(CALLS, undivided)
    await _fill(slots, CallKind.UNPAID, 16, are_new=False)
    assert await _take(slots, CallKind.PAID, Share("buyer"), 1) == 0
