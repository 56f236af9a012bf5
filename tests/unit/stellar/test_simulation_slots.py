import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from farebox.kernel.networks import Network
from farebox.kernel.slots import Requester, Share
from farebox.stellar import simulation_slots
from farebox.stellar.rpc import RawSimulation, RpcUnavailable
from farebox.stellar.simulation_slots import SimulationPurpose, SimulationSlots, limits_of_purposes
from support.fake_rpc import FakeRpc

SLOTS = 64
SETTLEMENT = limits_of_purposes(SLOTS)[SimulationPurpose.SETTLEMENT]
VERIFICATION = limits_of_purposes(SLOTS)[SimulationPurpose.VERIFICATION]
_TURNS = 20


class Node(FakeRpc):
    """Completes each simulation when the test sets its event."""

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
        return RawSimulation({})


class Stand:
    """Slots in front of a node, and the simulations that were requested."""

    def __init__(self) -> None:
        self.node = Node()
        self.slots = SimulationSlots(Network.TESTNET, self.node, SLOTS)
        self.requested: dict[str, asyncio.Task[RawSimulation]] = {}

    async def ask(self, purpose: SimulationPurpose, client: str, count: int = 1) -> list[str]:
        """Request `count` simulations and return their names."""
        names = [f"{purpose.name} {client} {len(self.requested) + n}" for n in range(count)]
        for name in names:
            simulating = self.slots.simulate(name, Requester(purpose, Share(client)))
            self.requested[name] = asyncio.ensure_future(simulating)
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


async def _after(seconds: float) -> None:
    """Return after the time, and after what was due before it where the loop stood still."""
    await asyncio.sleep(seconds)
    await _settled()


@pytest.fixture
async def stand() -> AsyncIterator[Stand]:
    made = Stand()
    yield made
    for task in made.requested.values():
        task.cancel()
    for task in made.requested.values():
        with suppress(asyncio.CancelledError, RpcUnavailable):
            await task
    assert made.running == []


@asynccontextmanager
async def flooded(stand: Stand) -> AsyncIterator[None]:
    """Every slot for verifications is taken, by as few clients as can."""
    for client in range(VERIFICATION.total // VERIFICATION.per_client):
        await stand.ask(SimulationPurpose.VERIFICATION, f"busy-{client}", VERIFICATION.per_client)
    assert len(stand.running) == VERIFICATION.total
    yield


async def test_verifications_of_one_client_are_limited(stand: Stand) -> None:
    await stand.ask(SimulationPurpose.VERIFICATION, "busy", VERIFICATION.total)
    assert len(stand.running) == VERIFICATION.per_client
    [other] = await stand.ask(SimulationPurpose.VERIFICATION, "other")
    assert other in stand.running


async def test_verifications_leave_slots_for_settlements(stand: Stand) -> None:
    async with flooded(stand):
        await stand.ask(SimulationPurpose.VERIFICATION, "other")
        settlements = await stand.ask(SimulationPurpose.SETTLEMENT, "seller", SLOTS)
        assert len(stand.running) == SLOTS
        assert set(settlements[: SLOTS - VERIFICATION.total]) <= set(stand.running)


async def test_settlements_of_one_client_are_limited(stand: Stand) -> None:
    await stand.ask(SimulationPurpose.SETTLEMENT, "busy", SLOTS)
    assert len(stand.running) == SETTLEMENT.per_client
    [other] = await stand.ask(SimulationPurpose.SETTLEMENT, "other")
    assert other in stand.running


async def test_free_slot_goes_to_a_settlement_before_a_verification(stand: Stand) -> None:
    async with flooded(stand):
        first = stand.running[0]
        [verification] = await stand.ask(SimulationPurpose.VERIFICATION, "other")
        await stand.ask(SimulationPurpose.SETTLEMENT, "seller", SLOTS - VERIFICATION.total)
        [waits] = await stand.ask(SimulationPurpose.SETTLEMENT, "other")
        assert waits not in stand.running
        await stand.answer(first)
        assert waits in stand.running
        assert verification not in stand.running


async def test_free_slot_goes_to_the_client_with_the_fewest_running(stand: Stand) -> None:
    async with flooded(stand):
        first = stand.running[0]
        await stand.ask(SimulationPurpose.VERIFICATION, "busy-0", 5)
        [other] = await stand.ask(SimulationPurpose.VERIFICATION, "other")
        await stand.answer(first)
        assert other in stand.running
        assert len(stand.running) == VERIFICATION.total


async def test_client_at_its_limit_is_refused_within_its_wait_without_a_call(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = replace(VERIFICATION, next_wait_s=0.1)
    limits = {**limits_of_purposes(SLOTS), SimulationPurpose.VERIFICATION: brief}
    monkeypatch.setattr(simulation_slots, "limits_of_purposes", lambda _: limits)
    stand.slots = SimulationSlots(Network.TESTNET, stand.node, SLOTS)
    await stand.ask(SimulationPurpose.VERIFICATION, "busy", VERIFICATION.per_client)
    [last] = await stand.ask(SimulationPurpose.VERIFICATION, "busy")
    late = asyncio.create_task(_after(brief.next_wait_s + 0.5))
    with pytest.raises(RpcUnavailable) as caught:
        await stand.requested[last]
    assert not late.done()
    late.cancel()
    assert caught.value.certainly_not_sent
    assert not caught.value.node_was_called
    assert last not in stand.node.seen


async def test_cancelled_simulation_frees_its_slot(stand: Stand) -> None:
    running = await stand.ask(SimulationPurpose.VERIFICATION, "busy", VERIFICATION.per_client)
    waiting = await stand.ask(SimulationPurpose.VERIFICATION, "busy", 3)
    stand.requested[waiting[0]].cancel()
    stand.requested[running[0]].cancel()
    await _settled()
    assert waiting[0] not in stand.node.seen
    assert waiting[1] in stand.running
    assert waiting[2] not in stand.running


async def test_slot_assigned_to_a_cancelled_waiter_is_passed_on(stand: Stand) -> None:
    running = await stand.ask(SimulationPurpose.VERIFICATION, "busy", VERIFICATION.per_client)
    first, second = await stand.ask(SimulationPurpose.VERIFICATION, "busy", 2)
    # it is cancelled after the slot was given and before it takes that up
    loop, given_up = asyncio.get_running_loop(), stand.requested[first]
    stand.node.on_answer = lambda: loop.call_soon(given_up.cancel)
    await stand.answer(running[0])
    assert given_up.cancelled()
    assert first not in stand.node.seen
    assert second in stand.running
