import pytest

from farebox.kernel.secret import Secret
from farebox.storage.capacity import Capacity, read_capacity
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database


@pytest.mark.parametrize(
    ("connections", "processes"),
    [(97, 4), (84, 3), (85, 4), (45, 2), (44, 1), (20, 1), (19, 0), (0, 0)],
)
def test_processes_fit_beside_the_commands_and_the_first_without_them(
    connections: int, processes: int
) -> None:
    assert Capacity(connections).processes(20) == processes


async def test_capacity_is_the_least_of_server_database_and_role(
    empty_database_url: Secret[str],
) -> None:
    async with Database(empty_database_url) as database, database.connection() as db:
        assert (await read_capacity(empty_database_url, within_s=5)).connections == 97
        name = await db.fetchval("SELECT current_database()")
        await db.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 31")
        assert (await read_capacity(empty_database_url, within_s=5)).connections == 31
        await db.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 17")
        try:
            url = Secret(empty_database_url.reveal().replace("//farebox@", "//few@"))
            assert (await read_capacity(url, within_s=5)).connections == 17
        finally:
            await db.execute("DROP ROLE few")


async def test_capacity_of_a_database_that_is_away_is_an_outage() -> None:
    with pytest.raises(DatabaseUnavailable):
        await read_capacity(Secret("postgresql://nobody@127.0.0.1:1/none"), within_s=5)
