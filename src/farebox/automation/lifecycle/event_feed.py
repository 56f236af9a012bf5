"""The events of a plan: read at once, or waited for without holding a connection.

One loop of the process looks for news of every plan that somebody waits for, by one statement.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

import structlog

from farebox.automation.lifecycle import run_history_store
from farebox.automation.lifecycle.owned_plans import check_id, read_owned
from farebox.automation.lifecycle.run_history_store import PlanEvent
from farebox.kernel.caller import OwnerId
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.storage.pool import Database

LONGEST_WAIT_S: Final = 25
_LOOK_EVERY_S: Final = 0.5
_WAITING: Final = 500  # requests of a process; more are answered at once
_WAITING_PER_OWNER: Final = 8

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(eq=False, slots=True)
class _Waiter:
    """A request that waits for events of a plan behind a number."""

    proposal_id: str
    after: int
    has_news: asyncio.Event = field(default_factory=asyncio.Event)


class EventFeed:
    """Reads events of plans, and lets requests wait for them."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._waiters: set[_Waiter] = set()
        self._waiting: Counter[OwnerId] = Counter()
        self._is_wanted = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._waiters)

    async def read(
        self, owner: OwnerId, proposal_id: str, *, after: int, limit: int
    ) -> Sequence[PlanEvent]:
        """The events of the owner's plan behind the number `after`.

        Raises:
            NotFound: the owner has no such plan.
        """
        check_id(proposal_id)
        async with self._database.connection() as db:
            await read_owned(db, owner, proposal_id)
            return await run_history_store.list_events(db, proposal_id, after=after, limit=limit)

    async def wait(self, owner: OwnerId, proposal_id: str, *, after: int, within_s: float) -> None:
        """Return once there is an event behind `after`, or the time is over.

        Returns at once where the owner, or the process, has too many requests that wait. The
        caller has read the plan before.
        """
        is_full = len(self._waiters) >= _WAITING
        if is_full or self._waiting[owner] >= _WAITING_PER_OWNER:
            return
        waiter = _Waiter(proposal_id, after)
        self._waiters.add(waiter)
        self._waiting[owner] += 1
        self._is_wanted.set()
        try:
            async with asyncio.timeout(within_s):
                await waiter.has_news.wait()
        except TimeoutError:
            return
        finally:
            self._waiters.discard(waiter)
            self._waiting[owner] -= 1
            if not self._waiting[owner]:
                del self._waiting[owner]

    async def run(self) -> NoReturn:
        """Look for news while somebody waits, until cancelled."""
        while True:
            if not self._waiters:
                self._is_wanted.clear()
                await self._is_wanted.wait()
            try:
                await self.look()
            except Outage as outage:
                log.info("automation.events_not_read", part=outage.part)
            await self._clock.sleep(_LOOK_EVERY_S)

    async def look(self) -> None:
        """Wake every request whose plan has newer events.

        Raises:
            DatabaseUnavailable: they go on waiting.
        """
        waiters = list(self._waiters)
        if not waiters:
            return
        plans = sorted({each.proposal_id for each in waiters})
        async with self._database.connection() as db:
            last = await run_history_store.read_last_events(db, plans)
        for waiter in waiters:
            if last.get(waiter.proposal_id, 0) > waiter.after:
                waiter.has_news.set()
