"""Slots for simulations on one network: how many run at once, in all and for each client.

A simulation may keep a node busy for seconds where a contract account burns what the network
allows, and anybody may ask for one. So verifications never take the slots kept for settlements,
one client never takes those of all, and what finds no slot in time is refused before any node is
asked.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from farebox.kernel.networks import Network
from farebox.stellar.rpc import RawSimulation, RpcUnavailable


class Purpose(IntEnum):
    """What a simulation is for, the more urgent first."""

    SETTLEMENT = 0
    VERIFICATION = 1


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many simulations of one purpose may run, and how long one waits for its slot.

    Who has simulations under way is refused sooner than who has none.
    """

    in_all: int
    per_client: int
    wait_s: float
    next_wait_s: float


def bounds_of(slots: int) -> Mapping[Purpose, Bounds]:
    """How `slots` simulations are shared out: verifications have half of them at most."""
    half, quarter = slots // 2, slots // 4
    return {
        Purpose.SETTLEMENT: Bounds(slots, per_client=half, wait_s=10.0, next_wait_s=10.0),
        Purpose.VERIFICATION: Bounds(half, per_client=quarter, wait_s=4.0, next_wait_s=3.0),
    }


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asks for a simulation, as rate limits count it, and what for."""

    purpose: Purpose
    client: str


class SimulatingNode(Protocol):
    """Where simulations are made."""

    async def simulate(self, envelope: str) -> RawSimulation: ...


class SimulationSlots:
    """Simulates through a node once the requester has a slot.

    A slot that becomes free goes to a settlement before a verification, and among those to the
    client with the fewest simulations under way.
    """

    def __init__(self, network: Network, node: SimulatingNode, slots: int) -> None:
        self._network, self._node = network, node
        self._slots, self._bounds = slots, bounds_of(slots)
        self._running: Counter[Requester] = Counter()
        self._of_purpose: Counter[Purpose] = Counter()
        self._waiting: dict[Requester, deque[asyncio.Future[None]]] = {}

    async def simulate(self, envelope: str, requester: Requester) -> RawSimulation:
        """Run the base64 `envelope` without effect.

        Raises:
            RpcUnavailable: no slot became free in time, or the node gave no usable answer.
        """
        if self._is_free_for(requester):
            self._take(requester)
        else:
            await self._wait(requester)
        try:
            return await self._node.simulate(envelope)
        finally:
            self._release(requester)

    def _is_free_for(self, requester: Requester) -> bool:
        bounds = self._bounds[requester.purpose]
        return (
            self._of_purpose.total() < self._slots
            and self._of_purpose[requester.purpose] < bounds.in_all
            and self._running[requester] < bounds.per_client
        )

    def _take(self, requester: Requester) -> None:
        self._running[requester] += 1
        self._of_purpose[requester.purpose] += 1

    def _release(self, requester: Requester) -> None:
        self._of_purpose[requester.purpose] -= 1
        self._running[requester] -= 1
        if not self._running[requester]:
            del self._running[requester]
        while able := [each for each in self._waiting if self._is_free_for(each)]:
            chosen = min(able, key=lambda each: (each.purpose, self._running[each]))
            turn = self._waiting[chosen][0]
            self._leave(chosen, turn)
            if not turn.done():  # else whoever waited is just giving up
                self._take(chosen)
                turn.set_result(None)

    async def _wait(self, requester: Requester) -> None:
        bounds = self._bounds[requester.purpose]
        wait_s = bounds.next_wait_s if self._running[requester] else bounds.wait_s
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(requester, deque()).append(turn)
        try:
            async with asyncio.timeout(wait_s):
                await turn
        except TimeoutError:
            self._give_up(requester, turn)
            text = f"no node of {self._network} was asked: too many simulations are under way"
            raise RpcUnavailable(
                self._network, text, certainly_not_sent=True, was_asked=False
            ) from None
        except asyncio.CancelledError:
            self._give_up(requester, turn)
            raise

    def _give_up(self, requester: Requester, turn: asyncio.Future[None]) -> None:
        """Leave the queue, or the slot that was given in the very moment of giving up."""
        if turn.done() and not turn.cancelled():
            self._release(requester)
        else:
            self._leave(requester, turn)

    def _leave(self, requester: Requester, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(requester, deque())
        with suppress(ValueError):
            queue.remove(turn)
        if not queue:
            self._waiting.pop(requester, None)
