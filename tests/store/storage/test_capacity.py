"""The connections that a server has room for."""

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.capacity import Capacity, read_capacity
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database


@pytest.mark.parametrize(
    ("connections", "processes"),
    [(97, 4), (84, 3), (85, 4), (45, 2), (44, 1), (20, 1), (19, 0), (0, 0)],
)
def test_processes_leaves_room_for_commands_except_for_the_first_process(
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
        await db.execute("ALTER ROLE CURRENT_USER CONNECTION LIMIT 17")
        try:
            assert (await read_capacity(empty_database_url, within_s=5)).connections == 17
        finally:
            await db.execute("ALTER ROLE CURRENT_USER CONNECTION LIMIT -1")


async def test_read_capacity_reports_an_outage_when_the_database_is_unavailable() -> None:
    with pytest.raises(DatabaseUnavailable):
        await read_capacity(Secret("postgresql://nobody@127.0.0.1:1/none"), within_s=5)
