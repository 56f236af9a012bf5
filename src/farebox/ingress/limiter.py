"""Whether somebody has asked too often, over all processes."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

import structlog

from farebox.ingress import count_store
from farebox.ingress.limits import WINDOW, Limit, window_of
from farebox.ingress.token_buckets import TokenBuckets
from farebox.kernel.clock import Clock
from farebox.storage.batch import Batch
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_AWAY_S: Final = 5.0  # so long an absent database is not asked again
_SWEEP_EVERY_S: Final = 60.0
_SWEPT_AT_ONCE: Final = 1_000

log = structlog.get_logger(__name__)
_Asked = tuple[str, int]  # a name, and how often it may ask


class Limiter:
    """Counts in the database, so that it does not matter which process is asked.

    This process's own count stands in front: who asks faster than allowed does not reach the
    database, and while that is away the own count decides alone. What arrives while a statement is
    under way is counted by the next one, together.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._own = TokenBuckets()
        self._counts = Batch(self._count)
        self._away_until = -math.inf

    async def take(self, limit: Limit, who: str) -> int | None:
        """The request may be answered (None), or the seconds until another one may, at least 1."""
        if not limit.most:
            return None
        name, now = limit.name(who), self._clock.monotonic()
        wait_s = self._own.take(name, most=limit.most, now=now)
        if wait_s:
            return max(1, math.ceil(wait_s))
        if now < self._away_until:
            return None
        try:
            return await self._counts.add((name, limit.most))
        except DatabaseUnavailable:
            self._away_until = self._clock.monotonic() + _AWAY_S
            log.warning("ingress.database_away")
            return None

    def look(self, limit: Limit, who: str) -> int | None:
        """As `take`, as far as this process knows; nothing is taken or asked."""
        if not limit.most:
            return None
        now = self._clock.monotonic()
        wait_s = self._own.wait_s(limit.name(who), most=limit.most, now=now)
        return max(1, math.ceil(wait_s)) if wait_s else None

    async def _count(self, items: Sequence[_Asked]) -> list[int | None]:
        asked = Counter(name for name, _ in items)
        now = self._clock.now()
        window_start = window_of(now)
        async with self._database.connection() as db:
            counted = await count_store.count_requests(db, asked, window_start=window_start)
        wait_s = max(1, math.ceil((window_start + WINDOW - now).total_seconds()))
        before = {name: counted[name] - number for name, number in asked.items()}
        answers: list[int | None] = []
        for name, most in items:
            before[name] += 1
            is_refused = before[name] > most
            if is_refused:
                self._own.close(name, until=self._clock.monotonic() + wait_s)
            answers.append(wait_s if is_refused else None)
        return answers

    async def sweep(self) -> int:
        """Forget minutes that are over, a bounded number of counts; how many."""
        async with self._database.connection() as db:
            return await count_store.delete_windows(
                db, before=window_of(self._clock.now()) - WINDOW, limit=_SWEPT_AT_ONCE
            )

    async def run(self) -> None:
        """Sweep for ever, batch after batch while there is more."""
        while True:
            await self._clock.sleep(_SWEEP_EVERY_S)
            try:
                while await self.sweep() == _SWEPT_AT_ONCE:
                    await self._clock.sleep(0)
            except DatabaseUnavailable:
                log.info("ingress.not_swept")


class Turns:
    """One limit of a limiter, as a feature is handed it."""

    def __init__(self, limiter: Limiter, limit: Limit) -> None:
        self._limiter, self._limit = limiter, limit

    async def take(self, who: str) -> int | None:
        """A turn is taken (None), or the seconds after which there is one again, at least 1."""
        return await self._limiter.take(self._limit, who)
