import asyncio
from dataclasses import replace

import pytest

from farebox.kernel.slots import NoSlot, Requester, Share, Slots
from farebox.mcp import paid_call
from farebox.mcp.paid_call import CallKind, limits_of_calls


async def _take(slots: Slots, kind: CallKind, client: str, times: int) -> int:
    """Return how many slots a client got."""
    got = await asyncio.gather(
        *(slots.take(Requester(kind, Share(client))) for _ in range(times)), return_exceptions=True
    )
    return sum(not isinstance(each, NoSlot) for each in got)


@pytest.mark.parametrize("most", [8, 32, 1_000])
async def test_two_callers_that_flood_leave_half_of_the_calls_of_each_kind(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(paid_call, "_SLOT_S", 0.0)
    slots, share = Slots(most, limits_of_calls(most)), most // 8
    for client in ("first", "second"):
        for kind in CallKind:
            assert await _take(slots, kind, client, most) == share
    for client in ("third", "fourth"):
        for kind in CallKind:
            assert await _take(slots, kind, client, 1) == 1


async def test_control_calls_without_shares_are_all_taken_by_one_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paid_call, "_SLOT_S", 0.0)
    undivided = {
        kind: replace(limits, per_client=limits.total)
        for kind, limits in limits_of_calls(32).items()
    }
    slots = Slots(32, undivided)
    for kind in CallKind:
        assert await _take(slots, kind, "first", 32) == 16
        assert await _take(slots, kind, "second", 1) == 0


async def test_control_calls_of_one_kind_take_those_of_the_other_where_they_are_not_divided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paid_call, "_SLOT_S", 0.0)
    undivided = {kind: replace(limits, total=32) for kind, limits in limits_of_calls(32).items()}
    slots = Slots(32, undivided)
    for client in range(8):
        assert await _take(slots, CallKind.UNPAID, str(client), 4) == 4
    assert await _take(slots, CallKind.PAID, "buyer", 1) == 0
