"""The service follows the database's clock, whatever the machine's clock says."""

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
