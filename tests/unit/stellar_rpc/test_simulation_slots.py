import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from farebox.kernel.networks import Network
from farebox.stellar.rpc import RawSimulation, RpcUnavailable
from farebox.stellar.simulation_slots import Purpose, Requester, SimulationSlots, bounds_of

SLOTS = 64
SETTLEMENT = bounds_of(SLOTS)[Purpose.SETTLEMENT]
VERIFICATION = bounds_of(SLOTS)[Purpose.VERIFICATION]
_TURNS = 20


class Node:
    """Answers each simulation when it is told to."""

    def __init__(self) -> None:
        self.running: dict[str, asyncio.Event] = {}
        self.seen: list[str] = []
        self.on_answer: Callable[[], object] = bool

    async def simulate(self, envelope: str) -> RawSimulation:
        self.seen.append(envelope)
        self.running[envelope] = asyncio.Event()
        try:
            await self.running[envelope].wait()
        finally:
            del self.running[envelope]
        self.on_answer()
        return RawSimulation({}, 0)


class Stand:
    """Slots in front of a node, and the simulations that were asked for."""

    def __init__(self) -> None:
        self.node = Node()
        self.slots = SimulationSlots(Network.TESTNET, self.node, SLOTS)
        self.asked: dict[str, asyncio.Task[RawSimulation]] = {}

    async def ask(self, purpose: Purpose, client: str, count: int = 1) -> list[str]:
        """Ask for so many; their names."""
        names = [f"{purpose.name} {client} {len(self.asked) + n}" for n in range(count)]
        for name in names:
            simulating = self.slots.simulate(name, Requester(purpose, client))
            self.asked[name] = asyncio.ensure_future(simulating)
        await _settled()
        return names

    async def answer(self, name: str) -> None:
        self.node.running[name].set()
        await _settled()

    @property
    def running(self) -> list[str]:
        return list(self.node.running)


async def _settled() -> None:
    for _ in range(_TURNS):
        await asyncio.sleep(0)


@pytest.fixture
async def stand() -> AsyncIterator[Stand]:
    made = Stand()
    yield made
    for task in made.asked.values():
        task.cancel()
    for task in made.asked.values():
        with suppress(asyncio.CancelledError, RpcUnavailable):
            await task
    assert made.running == []


@asynccontextmanager
async def flooded(stand: Stand) -> AsyncIterator[None]:
    """Every slot for verifications is taken, by as few clients as can."""
    for client in range(VERIFICATION.in_all // VERIFICATION.per_client):
        await stand.ask(Purpose.VERIFICATION, f"pest-{client}", VERIFICATION.per_client)
    assert len(stand.running) == VERIFICATION.in_all
    yield


async def test_one_client_has_no_more_verifications_under_way_than_its_own(stand: Stand) -> None:
    await stand.ask(Purpose.VERIFICATION, "pest", VERIFICATION.in_all)
    assert len(stand.running) == VERIFICATION.per_client
    [other] = await stand.ask(Purpose.VERIFICATION, "other")
    assert other in stand.running


async def test_verifications_leave_slots_to_settlements(stand: Stand) -> None:
    async with flooded(stand):
        await stand.ask(Purpose.VERIFICATION, "other")
        settlements = await stand.ask(Purpose.SETTLEMENT, "seller", SLOTS)
        assert len(stand.running) == SLOTS
        assert set(settlements[: SLOTS - VERIFICATION.in_all]) <= set(stand.running)


async def test_one_client_has_no_more_settlements_under_way_than_its_own(stand: Stand) -> None:
    await stand.ask(Purpose.SETTLEMENT, "pest", SLOTS)
    assert len(stand.running) == SETTLEMENT.per_client
    [other] = await stand.ask(Purpose.SETTLEMENT, "other")
    assert other in stand.running


async def test_a_free_slot_goes_to_a_settlement_before_a_verification(stand: Stand) -> None:
    async with flooded(stand):
        first = stand.running[0]
        [verification] = await stand.ask(Purpose.VERIFICATION, "other")
        await stand.ask(Purpose.SETTLEMENT, "seller", SLOTS - VERIFICATION.in_all)
        [waits] = await stand.ask(Purpose.SETTLEMENT, "other")
        assert waits not in stand.running
        await stand.answer(first)
        assert waits in stand.running
        assert verification not in stand.running


async def test_a_free_slot_goes_to_the_client_with_the_fewest_under_way(stand: Stand) -> None:
    async with flooded(stand):
        first = stand.running[0]
        await stand.ask(Purpose.VERIFICATION, "pest-0", 5)
        [other] = await stand.ask(Purpose.VERIFICATION, "other")
        await stand.answer(first)
        assert other in stand.running
        assert len(stand.running) == VERIFICATION.in_all


async def test_a_client_whose_own_slots_are_full_is_refused_soon_and_before_a_node_is_asked(
    stand: Stand,
) -> None:
    await stand.ask(Purpose.VERIFICATION, "pest", VERIFICATION.per_client)
    [last] = await stand.ask(Purpose.VERIFICATION, "pest")
    began = asyncio.get_running_loop().time()
    with pytest.raises(RpcUnavailable) as caught:
        await stand.asked[last]
    took_s = asyncio.get_running_loop().time() - began
    assert took_s <= VERIFICATION.next_wait_s + 0.5
    assert caught.value.certainly_not_sent
    assert not caught.value.was_asked
    assert last not in stand.node.seen


async def test_what_is_given_up_leaves_its_slot_to_others(stand: Stand) -> None:
    running = await stand.ask(Purpose.VERIFICATION, "pest", VERIFICATION.per_client)
    waiting = await stand.ask(Purpose.VERIFICATION, "pest", 3)
    stand.asked[waiting[0]].cancel()
    stand.asked[running[0]].cancel()
    await _settled()
    assert waiting[0] not in stand.node.seen
    assert waiting[1] in stand.running
    assert waiting[2] not in stand.running


async def test_a_slot_given_in_the_moment_of_giving_up_is_passed_on(stand: Stand) -> None:
    running = await stand.ask(Purpose.VERIFICATION, "pest", VERIFICATION.per_client)
    first, second = await stand.ask(Purpose.VERIFICATION, "pest", 2)
    # it is cancelled after the slot was given and before it takes that up
    loop, given_up = asyncio.get_running_loop(), stand.asked[first]
    stand.node.on_answer = lambda: loop.call_soon(given_up.cancel)
    await stand.answer(running[0])
    assert given_up.cancelled()
    assert first not in stand.node.seen
    assert second in stand.running
