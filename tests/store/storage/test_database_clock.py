"""The service follows the database's clock, whatever the machine's clock says."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from farebox.storage.database_clock import DatabaseClock
from farebox.storage.pool import Connection, Database
from support.manual_clock import ManualClock
from support.promises import case


class WrongClock(ManualClock):
    """A machine whose wall clock is ten minutes ahead, or jumps."""

    ahead = timedelta(minutes=10)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


class OverNow(Exception):
    """Ends a background task from inside."""


@case("RL-040")
async def test_database_clock_ignores_a_wrong_or_jumping_wall_clock(database: Database) -> None:
    local = WrongClock()
    clock = DatabaseClock(database, local)
    assert clock.now() > datetime.now(UTC) + timedelta(minutes=9), "the database was not read yet"
    async with clock:
        before = clock.now()
        assert abs(before - datetime.now(UTC)) < timedelta(seconds=2)
        local.ahead = timedelta(hours=-3)
        assert clock.now() == before
        local.turn(7)
        assert clock.now() == before + timedelta(seconds=7)
        await clock.sleep(3)
        assert clock.monotonic() == 10


@case("RL-040")
async def test_database_clocks_of_two_machines_agree(database: Database) -> None:
    one, other = WrongClock(), WrongClock()
    other.ahead = timedelta(minutes=-10)
    async with DatabaseClock(database, one) as here, DatabaseClock(database, other) as there:
        assert abs(here.now() - there.now()) < timedelta(seconds=2)


async def test_database_clock_follows_the_databases_time(database: Database) -> None:
    local = WrongClock()
    async with DatabaseClock(database, local) as clock:
        local.turn(3600)  # this machine's clock runs fast
        rounds = 0
        sleep = local.sleep

        async def counted(seconds: float) -> None:
            nonlocal rounds
            rounds += 1
            if rounds == 2:
                raise OverNow
            await sleep(seconds)

        local.sleep = counted  # type: ignore[method-assign] # the script of this one test
        with pytest.raises(OverNow):
            await clock.run()
        assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=2)


class SlowConnection:
    """A connection; the process stands still for so long while a statement is answered."""

    def __init__(self, whole: Connection, local: ManualClock, seconds: float) -> None:
        self._whole, self._local, self._seconds = whole, local, seconds

    async def fetchval(self, statement: str) -> datetime:
        value: datetime = await self._whole.fetchval(statement)
        self._local.turn(self._seconds)
        return value


class SlowDatabase(Database):
    """Lends connections of another pool as slow ones."""

    def __init__(self, whole: Database, local: ManualClock, seconds: float = 0.0) -> None:
        self._whole, self._local, self.seconds = whole, local, seconds

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        async with self._whole.connection() as db:
            yield SlowConnection(db, self._local, self.seconds)


@case("RL-040")
async def test_database_clock_keeps_its_reading_when_the_process_stands_still_in_the_next(
    database: Database,
) -> None:
    """Control: a clock that takes every reading is late by a minute and a half."""
    local = WrongClock()
    slow = SlowDatabase(database, local)
    async with DatabaseClock(slow, local) as clock:
        right = clock.now()
        slow.seconds = 180.0
        await clock.synchronise()
        assert clock.now() == right + timedelta(seconds=180)
        slow.seconds = 0.0
        await clock.synchronise()
        assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=2), "the next one is exact"


async def test_database_clock_repeats_a_first_reading_that_is_not_exact_at_once(
    database: Database,
) -> None:
    local = WrongClock()
    slow = SlowDatabase(database, local, 180.0)
    pauses: list[float] = []

    async def counted(seconds: float) -> None:
        pauses.append(seconds)
        slow.seconds = 0.0
        if len(pauses) == 3:
            raise OverNow

    local.sleep = counted  # type: ignore[method-assign] # the script of this one test
    async with DatabaseClock(slow, local) as clock:
        assert abs(clock.now() - datetime.now(UTC)) > timedelta(seconds=80)
        with pytest.raises(OverNow):
            await clock.run()
        assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=2)
    assert pauses == [1.0, 30.0, 30.0]
