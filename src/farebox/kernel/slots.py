"""Slots of a resource that all callers share: how many are taken at once, in all and by each.

A limit in all alone lets one caller close a resource to everybody. Here each purpose has its own
part, each client a share of that part, and who comes with nothing under way waits least.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum


class AnyPurpose(IntEnum):
    """The purpose of slots that are not divided by purpose."""

    ANY = 0


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
class Requester:
    """The client that asks for a slot, under the name of its share, and the purpose."""

    purpose: IntEnum  # the more urgent first
    client: str


class Slots:
    """At most `slots` at a time, and within them the limits of each purpose.

    A slot that becomes free goes to the more urgent purpose, and there to the client with the
    fewest slots; of several, to the one that got none for longest.
    """

    def __init__(self, slots: int, limits: Mapping[IntEnum, SlotLimits]) -> None:
        self._slots, self._limits = slots, limits
        self._taken: Counter[Requester] = Counter()
        self._of_purpose: Counter[IntEnum] = Counter()
        self._waiting: dict[Requester, deque[asyncio.Future[None]]] = {}

    async def take(self, requester: Requester) -> None:
        """Take a slot, which `release` gives back.

        Raises:
            NoSlot: none became free in time.
        """
        if self._has_slot_for(requester):
            self._occupy(requester)
        else:
            await self._wait(requester)

    def release(self, requester: Requester) -> None:
        """Give a slot back that was taken."""
        self._of_purpose[requester.purpose] -= 1
        self._taken[requester] -= 1
        if not self._taken[requester]:
            del self._taken[requester]
        while ready := [each for each in self._waiting if self._has_slot_for(each)]:
            chosen = min(ready, key=lambda each: (each.purpose, self._taken[each]))
            waiter = self._waiting[chosen][0]
            self._dequeue(chosen, waiter)
            self._move_back(chosen)
            if not waiter.done():  # else its caller is just giving up
                self._occupy(chosen)
                waiter.set_result(None)

    def _has_slot_for(self, requester: Requester) -> bool:
        limits = self._limits[requester.purpose]
        return (
            self._of_purpose.total() < self._slots
            and self._of_purpose[requester.purpose] < limits.total
            and self._taken[requester] < limits.per_client
        )

    def _occupy(self, requester: Requester) -> None:
        self._taken[requester] += 1
        self._of_purpose[requester.purpose] += 1

    async def _wait(self, requester: Requester) -> None:
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

    def _cancel_wait(self, requester: Requester, waiter: asyncio.Future[None]) -> None:
        """Leave the queue, or release the slot that was assigned at the same moment."""
        if waiter.done() and not waiter.cancelled():
            self.release(requester)
        else:
            self._dequeue(requester, waiter)

    def _move_back(self, requester: Requester) -> None:
        """Let the others with as few slots go first: one that always waits starves nobody."""
        queue = self._waiting.pop(requester, None)
        if queue is not None:
            self._waiting[requester] = queue

    def _dequeue(self, requester: Requester, waiter: asyncio.Future[None]) -> None:
        queue = self._waiting.get(requester, deque())
        with suppress(ValueError):
            queue.remove(waiter)
        if not queue:
            self._waiting.pop(requester, None)
