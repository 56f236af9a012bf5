"""Slots of a resource that all callers share: how many are taken at once, in all and by each.

A limit in all alone lets one caller close a resource to everybody. Here each purpose has its own
part, each client a share of that part, and who comes with nothing under way waits least.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, TypeVar

Purpose = TypeVar("Purpose", bound=IntEnum)  # the more urgent first


class NoSlot(Exception):
    """No slot became free in time."""


@dataclass(frozen=True, slots=True)
class SlotLimits:
    """The most slots of one purpose at a time, and the longest wait for one; 0 = no wait.

    A client that has a slot waits for `next_wait_s` at most, any other for `wait_s`.
    """

    total: int
    per_client: int
    wait_s: float
    next_wait_s: float


@dataclass(frozen=True, slots=True)
class Requester(Generic[Purpose]):
    """The client that asks for a slot, under the name of its share, and the purpose."""

    purpose: Purpose
    client: str


class Slots(Generic[Purpose]):
    """At most `slots` at a time, and within them the limits of each purpose.

    A slot that becomes free goes to the more urgent purpose, and there to the client with the
    fewest slots.
    """

    def __init__(self, slots: int, limits: Mapping[Purpose, SlotLimits]) -> None:
        self._slots, self._limits = slots, limits
        self._taken: Counter[Requester[Purpose]] = Counter()
        self._of_purpose: Counter[Purpose] = Counter()
        self._waiting: dict[Requester[Purpose], deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def hold(self, requester: Requester[Purpose]) -> AsyncIterator[None]:
        """Hold a slot.

        Raises:
            NoSlot: none became free in time.
        """
        await self.take(requester)
        try:
            yield
        finally:
            self.release(requester)

    async def take(self, requester: Requester[Purpose]) -> None:
        """Take a slot, which `release` gives back.

        Raises:
            NoSlot: none became free in time.
        """
        if self._has_slot_for(requester):
            self._occupy(requester)
        else:
            await self._wait(requester)

    def release(self, requester: Requester[Purpose]) -> None:
        """Give a slot back that was taken."""
        self._of_purpose[requester.purpose] -= 1
        self._taken[requester] -= 1
        if not self._taken[requester]:
            del self._taken[requester]
        while ready := [each for each in self._waiting if self._has_slot_for(each)]:
            chosen = min(ready, key=lambda each: (each.purpose, self._taken[each]))
            waiter = self._waiting[chosen][0]
            self._dequeue(chosen, waiter)
            if not waiter.done():  # else its caller is just giving up
                self._occupy(chosen)
                waiter.set_result(None)

    def _has_slot_for(self, requester: Requester[Purpose]) -> bool:
        limits = self._limits[requester.purpose]
        return (
            self._of_purpose.total() < self._slots
            and self._of_purpose[requester.purpose] < limits.total
            and self._taken[requester] < limits.per_client
        )

    def _occupy(self, requester: Requester[Purpose]) -> None:
        self._taken[requester] += 1
        self._of_purpose[requester.purpose] += 1

    async def _wait(self, requester: Requester[Purpose]) -> None:
        limits = self._limits[requester.purpose]
        wait_s = limits.next_wait_s if self._taken[requester] else limits.wait_s
        if not wait_s:
            raise NoSlot
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(requester, deque()).append(waiter)
        try:
            async with asyncio.timeout(wait_s):
                await waiter
        except TimeoutError:
            self._cancel_wait(requester, waiter)
            raise NoSlot from None
        except asyncio.CancelledError:
            self._cancel_wait(requester, waiter)
            raise

    def _cancel_wait(self, requester: Requester[Purpose], waiter: asyncio.Future[None]) -> None:
        """Leave the queue, or release the slot that was assigned at the same moment."""
        if waiter.done() and not waiter.cancelled():
            self.release(requester)
        else:
            self._dequeue(requester, waiter)

    def _dequeue(self, requester: Requester[Purpose], waiter: asyncio.Future[None]) -> None:
        queue = self._waiting.get(requester, deque())
        with suppress(ValueError):
            queue.remove(waiter)
        if not queue:
            self._waiting.pop(requester, None)
