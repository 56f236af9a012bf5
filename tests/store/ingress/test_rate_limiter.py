"""Limits a minute are exact, with concurrent requests and several replicas."""

import asyncio
from itertools import product
from typing import Final

from farebox.ingress.rate_limiter import ActionQuota, RateLimit, RateLimiter
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from support.manual_clock import ManualClock

TEN: Final = RateLimit("thing", 10)
A, B = "203.0.113.7", "203.0.113.8"
NOWHERE: Final = Secret("postgresql://farebox@127.0.0.1:1/farebox")


async def _asked(database: Database) -> dict[str, int]:
    async with database.connection() as db:
        rows = await db.fetch("SELECT name, sum(asked) AS n FROM ingress_counts GROUP BY name")
    return {row["name"]: row["n"] for row in rows}


async def test_acquire_returns_the_seconds_to_wait_after_ten_a_minute(
    database: Database, clock: ManualClock
) -> None:
    limiter = RateLimiter(database, clock)
    for _ in range(TEN.per_minute):
        assert await limiter.acquire(TEN, A) is None
        clock.turn(1)
    assert await limiter.acquire(TEN, A) == 50
    assert await limiter.acquire(TEN, B) is None
    assert await limiter.acquire(RateLimit("other", 10), A) is None
    clock.turn(49.5)
    assert await limiter.acquire(TEN, A) == 1
    clock.turn(0.5)
    assert [await limiter.acquire(TEN, A) for _ in range(TEN.per_minute)] == [None] * TEN.per_minute
    assert await limiter.acquire(TEN, A) == 60


async def test_concurrent_replicas_share_one_limit(
    postgres_url: Secret[str], database: Database, clock: ManualClock
) -> None:
    async with Database(postgres_url, connections=2) as other:
        replicas = [RateLimiter(each, clock) for each in (database, other)]
        requests = (replicas[n % 2].acquire(TEN, A if n % 3 else B) for n in range(120))
        waits = await asyncio.gather(*requests)
    by_name = {A: [w for n, w in enumerate(waits) if n % 3], B: waits[::3]}
    assert {name: of_name.count(None) for name, of_name in by_name.items()} == {A: 10, B: 10}
    assert set(waits) == {None, 60} or all(w is None or 1 <= w <= 60 for w in waits)


async def test_acquire_over_the_limit_does_not_use_the_database(
    database: Database, clock: ManualClock
) -> None:
    limiter = RateLimiter(database, clock)
    for _ in range(20 * TEN.per_minute):
        await limiter.acquire(TEN, A)
    assert await _asked(database) == {"thing 203.0.113.7": TEN.per_minute + 1}


async def test_concurrent_requests_are_counted_in_one_statement(
    database: Database, clock: ManualClock
) -> None:
    statements = 0

    class Counting(Database):
        def connection(self):  # type: ignore[no-untyped-def]  # passes the pool's own on
            nonlocal statements
            statements += 1
            return database.connection()

    limiter = RateLimiter(Counting(NOWHERE), clock)
    waits = await asyncio.gather(*(limiter.acquire(TEN, A) for _ in range(9)))
    assert waits == [None] * 9
    assert statements <= 2
    assert await _asked(database) == {"thing 203.0.113.7": 9}


async def test_acquire_counts_the_cost_on_every_replica(
    postgres_url: Secret[str], database: Database, clock: ManualClock
) -> None:
    async with Database(postgres_url, connections=2) as other:
        replicas = [RateLimiter(each, clock) for each in (database, other)]
        requests = (replicas[n % 2].acquire(TEN, A, cost=3) for n in range(20))
        waits = await asyncio.gather(*requests)
    assert waits.count(None) == 3
    assert await RateLimiter(database, clock).acquire(RateLimit("small", 2), A, cost=3) is None
    assert await RateLimiter(database, clock).acquire(RateLimit("small", 2), A, cost=3) == 60


async def test_refused_request_is_allowed_after_the_wait_that_it_is_told(
    database: Database,
) -> None:
    """Control: a bucket that refuses before the database tells the wait for a few tokens."""
    for cost, second in product((1, 3, 5), (0, 13, 41, 59)):
        clock, client = ManualClock(), f"192.0.{cost}.{second}"
        limiter, limit = RateLimiter(database, clock), RateLimit("thing", 20)
        clock.turn(second)
        for _ in range(limit.per_minute // cost):
            assert await limiter.acquire(limit, client, cost=cost) is None
        wait_s = await limiter.acquire(limit, client, cost=cost)
        assert wait_s == limiter.peek(limit, client, cost=cost) == 60 - second
        clock.turn(wait_s - 0.5)
        assert await limiter.acquire(limit, client, cost=cost) == 1
        clock.turn(0.5)
        assert await limiter.acquire(limit, client, cost=cost) is None


async def test_minute_begins_anew_for_a_client_that_used_the_last_one_up_at_its_end(
    database: Database, clock: ManualClock
) -> None:
    limiter, limit = RateLimiter(database, clock), RateLimit("thing", 20)
    for second in (55, 5):
        clock.turn(second)
        assert [await limiter.acquire(limit, A, cost=5) for _ in range(4)] == [None] * 4
    assert await limiter.acquire(limit, A, cost=5) == 60


async def test_a_limit_of_zero_is_off_and_does_not_use_the_database(clock: ManualClock) -> None:
    limiter = RateLimiter(Database(NOWHERE), clock)
    assert [await limiter.acquire(RateLimit("thing", 0), A) for _ in range(50)] == [None] * 50


async def test_acquire_limits_per_process_when_the_database_is_unavailable(
    database: Database, clock: ManualClock
) -> None:
    calls = 0

    class Away(Database):
        def connection(self):  # type: ignore[no-untyped-def]  # raises before it is one
            nonlocal calls
            calls += 1
            raise DatabaseUnavailable("away")

    limiter = RateLimiter(Away(NOWHERE), clock)
    waits = [await limiter.acquire(TEN, A) for _ in range(TEN.per_minute + 5)]
    assert waits[: TEN.per_minute] == [None] * TEN.per_minute
    assert waits[-1] == 6  # a tenth of a minute for one of ten
    assert calls == 1, "an unavailable database is not tried for each request"
    assert limiter.peek(TEN, A) == 6
    assert limiter.peek(TEN, A, cost=3) == 18
    clock.turn(6)
    assert await limiter.acquire(TEN, A) is None
    assert calls == 2
    assert await _asked(database) == {}


async def test_peek_returns_the_wait_without_counting(
    database: Database, clock: ManualClock
) -> None:
    limiter = RateLimiter(database, clock)
    assert limiter.peek(TEN, A) is None
    for _ in range(TEN.per_minute + 1):
        await limiter.acquire(TEN, A)
    assert limiter.peek(TEN, A) == 60
    assert limiter.peek(TEN, B) is None
    assert limiter.peek(RateLimit("thing", 0), A) is None


async def test_delete_expired_deletes_past_minutes(database: Database, clock: ManualClock) -> None:
    limiter = RateLimiter(database, clock)
    await asyncio.gather(*(limiter.acquire(TEN, f"198.51.100.{n}") for n in range(50)))
    clock.turn(60)
    await limiter.acquire(TEN, A)
    assert await limiter.delete_expired() == 0, "the minute before may still be written to"
    clock.turn(60)
    assert await limiter.delete_expired() == 50
    assert await _asked(database) == {"thing 203.0.113.7": 1}


async def test_action_quota_uses_one_limit_of_the_rate_limiter(
    database: Database, clock: ManualClock
) -> None:
    quota = ActionQuota(RateLimiter(database, clock), TEN)
    assert [await quota.acquire(A) for _ in range(11)] == [None] * 10 + [60]


async def test_caller_within_the_limit_is_never_refused(database: Database) -> None:
    for most in (1, 2, 600):
        clock = ManualClock()
        limiter, limit = RateLimiter(database, clock), RateLimit(f"thing {most}", most)
        clock.turn(17)
        for _ in range(most):
            assert await limiter.acquire(limit, A) is None
        clock.turn(60)
        assert await limiter.acquire(limit, A) is None
