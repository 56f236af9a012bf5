"""The rate limiter: token buckets in this process, and one count per minute in the database."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog

from farebox.ingress import count_store
from farebox.kernel.clock import Clock
from farebox.storage.batch import Batch
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

WINDOW: Final = timedelta(minutes=1)
_MINUTE_S: Final = 60.0
_MAX_NAMES: Final = 50_000
_ROUNDING: Final = 1e-6  # of a token: the error of sums of fractions
_DATABASE_PAUSE_S: Final = 5.0  # an unavailable database is not tried again for this long
_DELETE_EVERY_S: Final = 60.0
_DELETE_BATCH: Final = 1_000
_DELETE_PAUSE_S: Final = 0.1  # between two batches, for settlements at the same time

log = structlog.get_logger(__name__)
_CountedRequest = tuple[str, int, int]  # a name, its limit, and the cost of the request


@dataclass(frozen=True, slots=True)
class RateLimit:
    """`per_minute` requests of each client, counted apart from every other `action`; 0 = unlimited.

    A minute is one of the database's clock: a refused client waits for the next one.
    """

    action: str
    per_minute: int

    def name(self, client: str) -> str:
        """Return the name that the requests of a client are counted under."""
        return f"{self.action} {client}"


def change_limit(per_minute: int) -> RateLimit:
    """Make the one limit of all changes to an owner's records."""
    return RateLimit("change", per_minute)


def window_of(moment: datetime) -> datetime:
    """Return the beginning of the minute of `moment`."""
    return moment.replace(second=0, microsecond=0)


class _Bucket:
    """The tokens of a name, as of `filled_at`."""

    __slots__ = ("closed_until", "filled_at", "tokens")

    def __init__(self, tokens: float, filled_at: float) -> None:
        self.tokens, self.filled_at = tokens, filled_at
        self.closed_until = 0.0

    def wait_s(self, per_minute: int, now: float, cost: int) -> float:
        """Refill, and return the seconds until there are `cost` tokens; 0 when there are."""
        refill = (now - self.filled_at) * per_minute / _MINUTE_S
        self.tokens = min(float(per_minute), self.tokens + refill)
        self.filled_at = now
        missing = cost - self.tokens
        return 0.0 if missing < _ROUNDING else missing * _MINUTE_S / per_minute


class TokenBuckets:
    """A minute's worth of tokens for each name, refilled evenly; times are monotonic seconds.

    A name that the database has refused is closed until the minute of the database ends. Of more
    names than `max_names` the one that was used longest ago is forgotten: its bucket is full again.
    """

    def __init__(self, *, max_names: int = _MAX_NAMES) -> None:
        self._max_names = max_names
        self._buckets: dict[str, _Bucket] = {}

    def acquire(self, name: str, *, per_minute: int, now: float, cost: int = 1) -> float:
        """Take `cost` tokens and return 0; without them, return the seconds until there are.

        `cost` is at most `per_minute`.
        """
        bucket = self._buckets.pop(name, None) or _Bucket(per_minute, now)
        self._buckets[name] = bucket  # the newest is last
        if len(self._buckets) > self._max_names:
            del self._buckets[next(iter(self._buckets))]
        wait_s = bucket.wait_s(per_minute, now, cost)
        if not wait_s:
            bucket.tokens -= cost
        return wait_s

    def wait_s(self, name: str, *, per_minute: int, now: float, cost: int = 1) -> float:
        """Return the result of `acquire` without taking a token."""
        bucket = self._buckets.get(name)
        return 0.0 if bucket is None else bucket.wait_s(per_minute, now, cost)

    def close(self, name: str, *, until: float) -> None:
        """Close a name until then."""
        bucket = self._buckets.get(name)
        if bucket is not None:
            bucket.closed_until = max(bucket.closed_until, until)

    def closed_s(self, name: str, *, now: float) -> float:
        """Return the seconds for which a name is closed; 0 when it is open."""
        bucket = self._buckets.get(name)
        return 0.0 if bucket is None else max(0.0, bucket.closed_until - now)

    def __len__(self) -> int:
        return len(self._buckets)


class RateLimiter:
    """Limits requests over all processes: each counts in the database, which alone refuses.

    A client that the database has refused does not reach it again until its minute ends. While the
    database is unavailable the limiter fails open to the token buckets of this process.
    Requests that arrive while a statement runs are counted together by the next one.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._buckets = TokenBuckets()
        self._counts = Batch(self._count)
        self._paused_until = -math.inf

    async def acquire(self, limit: RateLimit, client: str, *, cost: int = 1) -> int | None:
        """Count a request `cost` times: None when allowed, else the seconds to wait, at least 1.

        After these seconds the same request is allowed, unless others of the client were counted.
        """
        if not limit.per_minute:
            return None
        name, now = limit.name(client), self._clock.monotonic()
        cost = min(cost, limit.per_minute)
        wait_s = self._buckets.acquire(name, per_minute=limit.per_minute, now=now, cost=cost)
        closed_s = self._buckets.closed_s(name, now=now)
        if closed_s:
            return math.ceil(closed_s)
        if now >= self._paused_until:
            try:
                return await self._counts.add((name, limit.per_minute, cost))
            except DatabaseUnavailable:
                self._paused_until = self._clock.monotonic() + _DATABASE_PAUSE_S
                log.warning("rate_limiter.database_unavailable")
        return math.ceil(wait_s) or None

    def peek(self, limit: RateLimit, client: str, *, cost: int = 1) -> int | None:
        """Return the result of `acquire` as far as this process knows; nothing is counted."""
        if not limit.per_minute:
            return None
        name, now = limit.name(client), self._clock.monotonic()
        cost = min(cost, limit.per_minute)
        wait_s = self._buckets.closed_s(name, now=now)
        if not wait_s and now < self._paused_until:
            wait_s = self._buckets.wait_s(name, per_minute=limit.per_minute, now=now, cost=cost)
        return math.ceil(wait_s) or None

    async def _count(self, requests: Sequence[_CountedRequest]) -> list[int | None]:
        costs: Counter[str] = Counter()
        for name, _, cost in requests:
            costs[name] += cost
        now = self._clock.now()
        window_start = window_of(now)
        async with self._database.connection() as db:
            counts = await count_store.count_requests(db, costs, window_start=window_start)
        wait_s = max(1, math.ceil((window_start + WINDOW - now).total_seconds()))
        before = {name: counts[name] - number for name, number in costs.items()}
        results: list[int | None] = []
        for name, per_minute, cost in requests:
            before[name] += cost
            is_refused = before[name] > per_minute
            if is_refused:
                self._buckets.close(name, until=self._clock.monotonic() + wait_s)
            results.append(wait_s if is_refused else None)
        return results

    async def delete_expired(self) -> int:
        """Delete a bounded number of counts of past minutes; return how many."""
        async with self._database.connection() as db:
            return await count_store.delete_windows(
                db, before=window_of(self._clock.now()) - WINDOW, limit=_DELETE_BATCH
            )

    async def run(self) -> None:
        """Delete expired counts for ever, batch after batch while there are more."""
        while True:
            await self._clock.sleep(_DELETE_EVERY_S)
            try:
                while await self.delete_expired() == _DELETE_BATCH:
                    await self._clock.sleep(_DELETE_PAUSE_S)
            except DatabaseUnavailable:
                log.info("rate_limiter.delete_failed")


class ActionQuota:
    """A `Quota`: one rate limit of a limiter, as a feature receives it."""

    def __init__(self, limiter: RateLimiter, limit: RateLimit) -> None:
        self._limiter, self._limit = limiter, limit

    async def acquire(self, client: str) -> int | None:
        """Count a request: None when it is allowed, else the seconds to wait, at least 1."""
        return await self._limiter.acquire(self._limit, client)
