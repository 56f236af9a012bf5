"""Slots of a resource: clients that always wait for more leave the next ones to others."""

import asyncio

import pytest

from farebox.kernel.slots import AnyPurpose, Requester, Share, SlotLimits, Slots

MANY = 20
TOTAL = 3


async def _served(slots: Slots, *, greedy: int) -> list[str]:
    """Who was served in which order: greedy clients with many requests each, and then one."""
    order: list[str] = []

    async def use(client: str) -> None:
        requester = Requester(AnyPurpose.ANY, Share(client))
        await slots.take(requester)
        order.append(client)
        await asyncio.sleep(0)
        slots.release(requester)

    names = [f"greedy {number}" for _ in range(MANY) for number in range(greedy)]
    await asyncio.gather(*map(use, [*names, "one"]))
    return order


def _slots(*, per_client: int) -> Slots:
    return Slots(TOTAL, {AnyPurpose.ANY: SlotLimits(TOTAL, per_client, 10.0, 10.0)})


@pytest.mark.parametrize("per_client", [1, TOTAL])
@pytest.mark.parametrize("greedy", [1, TOTAL, 3 * TOTAL])
async def test_clients_that_always_wait_do_not_starve_another(greedy: int, per_client: int) -> None:
    order = await _served(_slots(per_client=per_client), greedy=greedy)
    assert len(order) == greedy * MANY + 1
    assert order.index("one") <= TOTAL + greedy


async def test_control_another_starves_where_those_that_came_first_are_always_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Slots, "_move_back", lambda *_: None)
    order = await _served(_slots(per_client=1), greedy=TOTAL)
    assert order.index("one") >= TOTAL * (MANY - 1)
