"""Slots for simulations on one network: how many run at once, in all and for each client.

A simulation may keep a node busy for seconds where a contract account burns what the network
allows, and any caller may cause one. So verifications never take the slots kept for settlements,
one client never takes all of them, and a simulation that gets no slot in time is refused before any
node is called.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum

from farebox.kernel.networks import Network
from farebox.stellar.rpc import RawSimulation, RpcUnavailable
from farebox.stellar.soroban_rpc import SorobanRpc


class SimulationPurpose(IntEnum):
    """The purpose of a simulation, the more urgent first."""

    SETTLEMENT = 0
    VERIFICATION = 1
    AUTOMATION = 2


@dataclass(frozen=True, slots=True)
class SlotLimits:
    """The most simulations of one purpose at a time, and the longest wait for a slot.

    A client with a simulation under way waits for `next_wait_s` at most, any other for `wait_s`.
    """

    total: int
    per_client: int
    wait_s: float
    next_wait_s: float


def limits_of_purposes(slots: int) -> Mapping[SimulationPurpose, SlotLimits]:
    """The limits of each purpose out of `slots`.

    Verifications have half of them at most, runs of plans a quarter.
    """
    half, quarter = slots // 2, slots // 4
    return {
        SimulationPurpose.SETTLEMENT: SlotLimits(
            slots, per_client=half, wait_s=10.0, next_wait_s=10.0
        ),
        SimulationPurpose.VERIFICATION: SlotLimits(
            half, per_client=quarter, wait_s=4.0, next_wait_s=3.0
        ),
        SimulationPurpose.AUTOMATION: SlotLimits(
            quarter, per_client=max(1, quarter // 2), wait_s=10.0, next_wait_s=10.0
        ),
    }


@dataclass(frozen=True, slots=True)
class Requester:
    """The client that asks for a simulation, as rate limits count it, and the purpose."""

    purpose: SimulationPurpose
    client: str


class SimulationSlots:
    """Simulates through a node as soon as the requester has a slot.

    A slot that becomes free goes to a settlement before a verification, and among those to the
    client with the fewest simulations under way.
    """

    def __init__(self, network: Network, node: SorobanRpc, slots: int) -> None:
        self._network, self._node = network, node
        self._slots, self._limits = slots, limits_of_purposes(slots)
        self._running: Counter[Requester] = Counter()
        self._of_purpose: Counter[SimulationPurpose] = Counter()
        self._waiting: dict[Requester, deque[asyncio.Future[None]]] = {}

    async def simulate(self, envelope: str, requester: Requester) -> RawSimulation:
        """Run the base64 `envelope` without effect.

        Raises:
            RpcUnavailable: no slot became free in time, or the node gave no usable answer.
        """
        async with self._slot(requester):
            if requester.purpose is not SimulationPurpose.VERIFICATION:
                return await self._node.simulate_to_send(envelope)
            return await self._node.simulate(envelope)

    async def record(self, envelope: str, requester: Requester) -> RawSimulation:
        """Run the base64 `envelope` without effect, and record the authorizations that it needs.

        Raises:
            RpcUnavailable: as `simulate`.
        """
        async with self._slot(requester):
            return await self._node.simulate_recording(envelope)

    @asynccontextmanager
    async def _slot(self, requester: Requester) -> AsyncIterator[None]:
        if self._has_slot_for(requester):
            self._occupy(requester)
        else:
            await self._wait(requester)
        try:
            yield
        finally:
            self._release(requester)

    def _has_slot_for(self, requester: Requester) -> bool:
        limits = self._limits[requester.purpose]
        return (
            self._of_purpose.total() < self._slots
            and self._of_purpose[requester.purpose] < limits.total
            and self._running[requester] < limits.per_client
        )

    def _occupy(self, requester: Requester) -> None:
        self._running[requester] += 1
        self._of_purpose[requester.purpose] += 1

    def _release(self, requester: Requester) -> None:
        self._of_purpose[requester.purpose] -= 1
        self._running[requester] -= 1
        if not self._running[requester]:
            del self._running[requester]
        while ready := [each for each in self._waiting if self._has_slot_for(each)]:
            chosen = min(ready, key=lambda each: (each.purpose, self._running[each]))
            waiter = self._waiting[chosen][0]
            self._dequeue(chosen, waiter)
            if not waiter.done():  # else its caller is just giving up
                self._occupy(chosen)
                waiter.set_result(None)

    async def _wait(self, requester: Requester) -> None:
        limits = self._limits[requester.purpose]
        wait_s = limits.next_wait_s if self._running[requester] else limits.wait_s
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(requester, deque()).append(waiter)
        try:
            async with asyncio.timeout(wait_s):
                await waiter
        except TimeoutError:
            self._cancel_wait(requester, waiter)
            text = f"no node of {self._network} was called: too many simulations are under way"
            raise RpcUnavailable(
                self._network, text, certainly_not_sent=True, node_was_called=False
            ) from None
        except asyncio.CancelledError:
            self._cancel_wait(requester, waiter)
            raise

    def _cancel_wait(self, requester: Requester, waiter: asyncio.Future[None]) -> None:
        """Leave the queue, or release the slot that was assigned at the same moment."""
        if waiter.done() and not waiter.cancelled():
            self._release(requester)
        else:
            self._dequeue(requester, waiter)

    def _dequeue(self, requester: Requester, waiter: asyncio.Future[None]) -> None:
        queue = self._waiting.get(requester, deque())
        with suppress(ValueError):
            queue.remove(waiter)
        if not queue:
            self._waiting.pop(requester, None)
