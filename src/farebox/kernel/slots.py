"""What all callers use at the same time: how much of it is taken, in all and by each.

A limit in all alone lets one caller close a resource to everybody. Here each purpose has its own
part, each client a share of that part, and who comes with nothing under way waits least.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum


class AnyPurpose(IntEnum):
    """The purpose of slots that are not divided by purpose."""

    ANY = 0


class NoSlot(Exception):
    """No slot became free in time."""


@dataclass(frozen=True, slots=True)
class Share:
    """The name that a caller's use of a resource is counted under.

    `is_new`: such a caller can be made for nothing, as an owner that is not established.
    """

    name: str
    is_new: bool = False


class SharedRoom:
    """Units of a resource that all shares divide, without a constant part for each.

    A share may take more while it then holds no more than was free: half of all where it is alone,
    and each of several as much as then stays free, so that k shares at their limit leave 1/2^k.
    New shares hold together what one share may, and each of them as much as is then left to them.
    """

    def __init__(self, units: int) -> None:
        self._units = self.free = units
        self._held: Counter[str] = Counter()
        self._of_new = 0

    @property
    def taken(self) -> int:
        """The units that all shares hold."""
        return self._units - self.free

    def held_by(self, share: Share) -> int:
        """The units that the share holds."""
        return self._held[share.name]

    def has_room_for(self, share: Share, units: int = 1) -> bool:
        """Whether the share may take the units now."""
        left = self.free - self._of_new if share.is_new else self.free
        return self._held[share.name] + units <= left

    def take(self, share: Share, units: int = 1) -> None:
        """Take units, which `release` gives back, once `has_room_for` has said that it may."""
        self._move(share, units)

    def release(self, share: Share, units: int = 1) -> None:
        """Give units back that the share has taken."""
        self._move(share, -units)

    def _move(self, share: Share, units: int) -> None:
        self.free -= units
        self._held[share.name] += units
        if share.is_new:
            self._of_new += units
        if not self._held[share.name]:
            del self._held[share.name]


@dataclass(frozen=True, slots=True)
class SlotLimits:
    """The most slots of one purpose at a time, and the longest wait for one; 0 = no wait.

    A client has `per_client` at most, or `per_new_client` where it is new; `is_divided`: and what
    the rule of `SharedRoom` lets it take. A client that has a slot waits for `next_wait_s` at most,
    any other for `wait_s`.
    """

    total: int
    per_client: int
    wait_s: float
    next_wait_s: float
    per_new_client: int | None = None  # None: as any other
    is_divided: bool = False


@dataclass(frozen=True, slots=True)
class Requester:
    """The client that asks for a slot, by its share, and the purpose."""

    purpose: IntEnum  # the more urgent first
    share: Share


class Slots:
    """At most `slots` at a time, and within them the limits of each purpose.

    A slot that becomes free goes to the more urgent purpose, and there to the client with the
    fewest slots; of several, to the one that got none for longest.
    """

    def __init__(self, slots: int, limits: Mapping[IntEnum, SlotLimits]) -> None:
        self._slots, self._limits = slots, limits
        self._rooms = {purpose: SharedRoom(each.total) for purpose, each in limits.items()}
        self._waiting: dict[Requester, deque[asyncio.Future[None]]] = {}

    @classmethod
    def undivided(cls, limits: SlotLimits) -> "Slots":
        """Slots of one purpose, `AnyPurpose.ANY`."""
        return cls(limits.total, {AnyPurpose.ANY: limits})

    @asynccontextmanager
    async def hold(self, requester: Requester) -> AsyncIterator[None]:
        """Take a slot for the block.

        Raises:
            NoSlot: none became free in time.
        """
        await self.take(requester)
        try:
            yield
        finally:
            self.release(requester)

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
        self._rooms[requester.purpose].release(requester.share)
        while ready := [each for each in self._waiting if self._has_slot_for(each)]:
            chosen = min(ready, key=lambda each: (each.purpose, self._count(each)))
            waiter = self._waiting[chosen][0]
            self._dequeue(chosen, waiter)
            self._move_back(chosen)
            if not waiter.done():  # else its caller is just giving up
                self._occupy(chosen)
                waiter.set_result(None)

    def _count(self, requester: Requester) -> int:
        """The slots that the requester has."""
        return self._rooms[requester.purpose].held_by(requester.share)

    def _has_slot_for(self, requester: Requester) -> bool:
        limits, room = self._limits[requester.purpose], self._rooms[requester.purpose]
        if room.free < 1 or sum(each.taken for each in self._rooms.values()) >= self._slots:
            return False
        of_new = limits.per_new_client if requester.share.is_new else None
        if self._count(requester) >= (limits.per_client if of_new is None else of_new):
            return False
        return not limits.is_divided or room.has_room_for(requester.share)

    def _occupy(self, requester: Requester) -> None:
        self._rooms[requester.purpose].take(requester.share)

    async def _wait(self, requester: Requester) -> None:
        limits = self._limits[requester.purpose]
        wait_s = limits.next_wait_s if self._count(requester) else limits.wait_s
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
