"""A lock for each owner: at most one change of its records at a time in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from farebox.kernel.caller import OwnerId
from farebox.kernel.errors import TooManyRequests
from farebox.kernel.quota import Quota

MAX_WAITING: Final = 32  # of one owner


@dataclass(slots=True)
class _OwnerLock:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


class OwnerLocks:
    """Locks owners before anything shared is used, so that an owner delays only itself.

    Replicas are kept apart by an advisory lock of the database.
    """

    def __init__(self, changes: Quota) -> None:
        self._changes = changes
        self._locks: dict[OwnerId, _OwnerLock] = {}

    async def count_change(self, owner: OwnerId) -> None:
        """Count one change against the owner's rate limit: each leaves an audit event.

        Raises:
            TooManyRequests: the owner has reached the limit.
        """
        wait_s = await self._changes.acquire(owner)
        if wait_s is not None:
            raise TooManyRequests("Too many changes within a minute.", retry_after_s=wait_s)

    @asynccontextmanager
    async def hold(self, owner: OwnerId) -> AsyncIterator[None]:
        """Hold the owner's lock in this context.

        Raises:
            TooManyRequests: `MAX_WAITING` changes of the owner wait or run already.
        """
        own = self._locks.setdefault(owner, _OwnerLock())
        if own.waiting >= MAX_WAITING:
            raise TooManyRequests("One change after the other, please.", retry_after_s=1)
        own.waiting += 1
        try:
            async with own.lock:
                yield
        finally:
            own.waiting -= 1
            if own.waiting == 0:
                self._locks.pop(owner, None)
