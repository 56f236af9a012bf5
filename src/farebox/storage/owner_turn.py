"""One change at a time: so much of this process an owner may keep waiting."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from farebox.kernel.caller import OwnerId
from farebox.kernel.errors import TooManyRequests

MOST_WAITING: Final = 32  # of one owner


@dataclass(slots=True)
class _Queue:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


class OwnerTurns:
    """Queues before anything shared is taken: who waits for itself keeps nobody else waiting.

    Between replicas the database decides whose turn it is.
    """

    def __init__(self) -> None:
        self._queues: dict[OwnerId, _Queue] = {}

    @asynccontextmanager
    async def turn(self, owner: OwnerId) -> AsyncIterator[None]:
        """Nobody else of this process changes the owner's records in this context.

        Raises:
            TooManyRequests: too many wait for the owner already.
        """
        queue = self._queues.setdefault(owner, _Queue())
        if queue.waiting >= MOST_WAITING:
            raise TooManyRequests("One change after the other, please.", retry_after_s=1)
        queue.waiting += 1
        try:
            async with queue.lock:
                yield
        finally:
            queue.waiting -= 1
            if queue.waiting == 0:
                self._queues.pop(owner, None)
