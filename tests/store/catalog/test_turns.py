"""Ten turns a minute and client, exactly, whoever counts and however many come at once."""

import asyncio

import pytest

from farebox.catalog.turns import TURNS, Turns, client_name
from farebox.storage.pool import Database
from support.manual_clock import ManualClock

A, B = "203.0.113.7", "203.0.113.8"


async def test_ten_turns_a_minute_and_then_the_seconds_to_wait(
    database: Database, clock: ManualClock
) -> None:
    turns = Turns(database, clock)
    for _ in range(TURNS):
        assert await turns.take(A) is None
        clock.turn(1)
    assert await turns.take(A) == 50
    assert await turns.take(B) is None
    clock.turn(49.5)
    assert await turns.take(A) == 1
    clock.turn(0.5)
    assert await turns.take(A) is None  # the first of the ten is a minute old
    assert await turns.take(A) == 1
    clock.turn(1)
    assert await turns.take(A) is None


async def test_a_refused_request_costs_no_turn(database: Database, clock: ManualClock) -> None:
    turns = Turns(database, clock)
    for _ in range(TURNS * 3):
        await turns.take(A)
    clock.turn(60)
    assert [await turns.take(A) for _ in range(TURNS)] == [None] * TURNS
    assert await turns.take(A) == 60


async def test_replicas_that_count_at_once_give_ten_turns_together(
    database: Database, clock: ManualClock
) -> None:
    replicas = [Turns(database, clock) for _ in range(2)]
    asked = (replicas[n % 2].take(A) for n in range(5 * TURNS))
    given = await asyncio.gather(*asked)
    assert given.count(None) == TURNS
    assert all(wait_s is None or 1 <= wait_s <= 60 for wait_s in given)


async def test_clients_that_are_gone_leave_nothing(database: Database, clock: ManualClock) -> None:
    turns = Turns(database, clock)
    await asyncio.gather(*(turns.take(f"198.51.100.{n}") for n in range(50)))
    clock.turn(61)
    await turns.take(A)
    await turns.take(B)
    async with database.connection() as db:
        left = await db.fetch("SELECT client FROM validation_turns ORDER BY client")
    assert [row["client"] for row in left] == [A, B]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::99", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::99", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", "unknown"),
        ("testclient", "unknown"),
    ],
)
def test_a_client_is_counted_by_what_costs_something_to_change(address: str, name: str) -> None:
    assert client_name(address) == name
