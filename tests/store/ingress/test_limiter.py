"""So many a minute, exactly, whoever counts and however many come at once."""

import asyncio
from typing import Final

import pytest

from farebox.ingress.limiter import Limiter, Turns
from farebox.ingress.limits import Limit
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from support.manual_clock import ManualClock

TEN: Final = Limit("thing", 10)
A, B = "203.0.113.7", "203.0.113.8"
NOWHERE: Final = Secret("postgresql://farebox@127.0.0.1:1/farebox")


async def _asked(database: Database) -> dict[str, int]:
    async with database.connection() as db:
        rows = await db.fetch("SELECT name, sum(asked) AS n FROM ingress_counts GROUP BY name")
    return {row["name"]: row["n"] for row in rows}


async def test_ten_a_minute_and_then_the_seconds_to_wait(
    database: Database, clock: ManualClock
) -> None:
    limiter = Limiter(database, clock)
    for _ in range(TEN.most):
        assert await limiter.take(TEN, A) is None
        clock.turn(1)
    assert await limiter.take(TEN, A) == 50
    assert await limiter.take(TEN, B) is None
    assert await limiter.take(Limit("other", 10), A) is None
    clock.turn(49.5)
    assert await limiter.take(TEN, A) == 1
    clock.turn(0.5)
    assert [await limiter.take(TEN, A) for _ in range(TEN.most)] == [None] * TEN.most
    assert await limiter.take(TEN, A) == 60


async def test_replicas_that_count_at_once_answer_ten_together(
    postgres_url: Secret[str], database: Database, clock: ManualClock
) -> None:
    async with Database(postgres_url, connections=2) as other:
        replicas = [Limiter(each, clock) for each in (database, other)]
        asked = (replicas[n % 2].take(TEN, A if n % 3 else B) for n in range(120))
        told = await asyncio.gather(*asked)
    by_name = {A: [w for n, w in enumerate(told) if n % 3], B: told[::3]}
    assert {name: waits.count(None) for name, waits in by_name.items()} == {A: 10, B: 10}
    assert set(told) == {None, 60} or all(w is None or 1 <= w <= 60 for w in told)


async def test_a_flood_does_not_reach_the_database(database: Database, clock: ManualClock) -> None:
    limiter = Limiter(database, clock)
    for _ in range(20 * TEN.most):
        await limiter.take(TEN, A)
    assert await _asked(database) == {"thing 203.0.113.7": TEN.most + 1}


async def test_what_arrives_while_one_is_counted_is_counted_by_one_statement(
    database: Database, clock: ManualClock
) -> None:
    statements = 0

    class Counting(Database):
        def connection(self):  # type: ignore[no-untyped-def]  # passes the pool's own on
            nonlocal statements
            statements += 1
            return database.connection()

    limiter = Limiter(Counting(NOWHERE), clock)
    told = await asyncio.gather(*(limiter.take(TEN, A) for _ in range(9)))
    assert told == [None] * 9
    assert statements <= 2
    assert await _asked(database) == {"thing 203.0.113.7": 9}


async def test_zero_is_off_and_asks_nobody(clock: ManualClock) -> None:
    limiter = Limiter(Database(NOWHERE), clock)
    assert [await limiter.take(Limit("thing", 0), A) for _ in range(50)] == [None] * 50


async def test_without_the_database_each_process_limits_by_its_own_count(
    database: Database, clock: ManualClock
) -> None:
    calls = 0

    class Away(Database):
        def connection(self):  # type: ignore[no-untyped-def]  # raises before it is one
            nonlocal calls
            calls += 1
            raise DatabaseUnavailable("away")

    limiter = Limiter(Away(NOWHERE), clock)
    told = [await limiter.take(TEN, A) for _ in range(TEN.most + 5)]
    assert told[: TEN.most] == [None] * TEN.most
    assert told[-1] == 6  # a tenth of a minute for one of ten
    assert calls == 1, "an absent database is not asked for each request"
    clock.turn(6)
    assert await limiter.take(TEN, A) is None
    assert calls == 2
    assert await _asked(database) == {}


async def test_what_is_known_can_be_looked_at_without_taking(
    database: Database, clock: ManualClock
) -> None:
    limiter = Limiter(database, clock)
    assert limiter.look(TEN, A) is None
    for _ in range(TEN.most + 1):
        await limiter.take(TEN, A)
    assert limiter.look(TEN, A) == 60
    assert limiter.look(TEN, B) is None
    assert limiter.look(Limit("thing", 0), A) is None


async def test_minutes_that_are_over_are_forgotten(database: Database, clock: ManualClock) -> None:
    limiter = Limiter(database, clock)
    await asyncio.gather(*(limiter.take(TEN, f"198.51.100.{n}") for n in range(50)))
    clock.turn(60)
    await limiter.take(TEN, A)
    assert await limiter.sweep() == 0, "the minute before may still be written to"
    clock.turn(60)
    assert await limiter.sweep() == 50
    assert await _asked(database) == {"thing 203.0.113.7": 1}


async def test_turns_are_one_limit_of_the_limiter(database: Database, clock: ManualClock) -> None:
    turns = Turns(Limiter(database, clock), TEN)
    assert [await turns.take(A) for _ in range(11)] == [None] * 10 + [60]


@pytest.mark.parametrize("most", [1, 2, 600])
async def test_whoever_keeps_to_the_limit_is_never_refused(
    database: Database, clock: ManualClock, most: int
) -> None:
    limiter, limit = Limiter(database, clock), Limit("thing", most)
    clock.turn(17)
    for _ in range(most):
        assert await limiter.take(limit, A) is None
    clock.turn(60)
    assert await limiter.take(limit, A) is None
