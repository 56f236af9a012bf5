"""Whose time it is: the database's, whatever this machine believes."""

from datetime import UTC, datetime, timedelta

import pytest

from farebox.storage.database_clock import DatabaseClock
from farebox.storage.pool import Database
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
async def test_a_wall_clock_that_is_off_or_jumps_decides_nothing(database: Database) -> None:
    local = WrongClock()
    clock = DatabaseClock(database, local)
    assert clock.now() > datetime.now(UTC) + timedelta(minutes=9), "nothing better is known yet"
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
async def test_two_machines_agree_on_the_time(database: Database) -> None:
    one, other = WrongClock(), WrongClock()
    other.ahead = timedelta(minutes=-10)
    async with DatabaseClock(database, one) as here, DatabaseClock(database, other) as there:
        assert abs(here.now() - there.now()) < timedelta(seconds=2)


async def test_the_databases_time_is_followed(database: Database) -> None:
    local = WrongClock()
    async with DatabaseClock(database, local) as clock:
        local.turn(3600)  # this machine's seconds ran away
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
