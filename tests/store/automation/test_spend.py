"""The paymaster's budgets as rows: what fits, what failed runs may lose, and one order of locks."""

import asyncio
from datetime import date
from typing import Final

from farebox.automation.paymaster import budget_store
from farebox.automation.paymaster.budget_store import AutomationBudgets, RunCharge, SpendScope
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.automation import activate, read_plan
from testing.waiting import until

NET: Final = Network.TESTNET
DAY: Final = date(2026, 11, 21)
# of an owner 1,000, of which 100 may be lost; of all 4,000, of which new ones may lose 200
BUDGETS: Final = AutomationBudgets(total=Stroops(4_000), owner=Stroops(1_000))


def charge(owner: str, stroops: int, *, is_new: bool | None = True) -> RunCharge:
    return RunCharge(NET, OwnerId(owner), DAY, Stroops(stroops), is_new_owner=is_new)


async def reserve(database: Database, *wanted: RunCharge) -> list[SpendScope | None]:
    found = []
    for each in wanted:
        async with database.transaction() as db:
            found.append(await budget_store.reserve(db, each, BUDGETS))
    return found


async def end(database: Database, done: RunCharge, *, cost: int, loss: int) -> None:
    async with database.transaction() as db:
        await budget_store.give_back(db, done, cost=cost, loss=loss)


async def counters(database: Database) -> dict[tuple[str, str], int]:
    async with database.connection() as db:
        rows = await db.fetch("SELECT scope, name, stroops FROM automation_spend")
    return {(row["scope"], row["name"]): row["stroops"] for row in rows}


async def test_envelope_that_does_not_fit_changes_no_counter(database: Database) -> None:
    assert await reserve(database, charge("a", 900, is_new=None)) == [None]
    before = await counters(database)
    assert before == {("owner", "a"): 900, ("total", ""): 900}
    assert await reserve(database, charge("a", 101, is_new=None)) == [SpendScope.OWNER]
    assert await counters(database) == before


async def test_failed_runs_of_an_owner_stop_at_its_loss_limit(database: Database) -> None:
    first, second = charge("a", 60, is_new=False), charge("a", 41, is_new=False)
    assert await reserve(database, first, second) == [None, SpendScope.LOSS]
    await end(database, first, cost=20, loss=0)  # it has succeeded
    assert await reserve(database, second) == [None]
    await end(database, second, cost=41, loss=41)
    assert await reserve(database, first) == [SpendScope.LOSS]
    assert await reserve(database, charge("a", 59, is_new=False)) == [None]
    other = charge("b", 100, is_new=False)
    assert await reserve(database, other) == [None], "another owner has a limit of its own"


async def test_new_owners_share_one_small_limit(database: Database) -> None:
    """However many there are: a name costs nothing."""
    wanted = [charge(f"new {number}", 60) for number in range(4)]
    assert await reserve(database, *wanted) == [None, None, None, SpendScope.NEW_OWNERS]
    assert await reserve(database, charge("known", 60, is_new=False)) == [None]
    await end(database, wanted[0], cost=60, loss=0)
    assert await reserve(database, wanted[3]) == [None]
    assert (await counters(database))["new_owners", ""] == 180


async def test_control_owners_with_limits_of_their_own_lose_more_together(
    database: Database,
) -> None:
    wanted = [charge(f"new {number}", 60, is_new=False) for number in range(9)]
    assert await reserve(database, *wanted) == [None] * 9


async def test_envelope_above_a_loss_limit_is_sent_alone(database: Database) -> None:
    """Else a plan whose transactions are dear could never run."""
    dear = charge("a", 150, is_new=False)
    assert await reserve(database, dear, dear) == [None, SpendScope.LOSS]
    await end(database, dear, cost=150, loss=150)
    assert await reserve(database, charge("a", 1, is_new=False)) == [SpendScope.LOSS]


async def test_owner_is_new_until_ten_runs_have_succeeded(database: Database) -> None:
    plan = await activate(database)
    found = []
    for succeeded in (0, 9, 10):
        async with database.transaction() as db:
            await db.execute(
                "UPDATE automation_proposals SET runs_consumed = $1, runs_succeeded = $1",
                succeeded,
            )
            found.append(await budget_store.is_new_owner(db, plan.terms.owner, NET))
    assert found == [True, True, False]
    assert (await read_plan(database, plan)).counters.runs_succeeded == 10


async def test_counters_are_locked_in_one_order(database: Database, other_pool: Database) -> None:
    """One transaction gives back while another reserves, and a third one holds the total.

    Without one lock for all, the first got the total and waited for the owner's counter, which the
    second had got and waited for the total.
    """
    early = charge("a", 100, is_new=None)
    late = charge("b", 100, is_new=None)
    await reserve(database, early, late)
    await _move_behind(database, "b")
    tasks = []
    async with database.transaction() as db:
        await db.execute("SELECT FROM automation_spend WHERE scope = 'total' FOR UPDATE")
        tasks.append(asyncio.create_task(_give_back(other_pool, late)))
        await until(lambda: _are_waiting(database, 1))
        tasks.append(asyncio.create_task(_reserve_one(other_pool, late)))
        await until(lambda: _are_waiting(database, 2))
    await asyncio.gather(*tasks)
    assert (await counters(database))["owner", "b"] == 110


async def _move_behind(database: Database, name: str) -> None:
    """Write an owner's row anew, so that it stands behind the total's: the space of old versions
    is used again, and rows come to stand in any order.
    """
    async with database.connection() as db:
        await db.execute("UPDATE automation_spend SET stroops = stroops WHERE name = $1", name)


async def _give_back(database: Database, done: RunCharge) -> None:
    """Give back in the order of the rows, as the planner may have it where they are many."""
    async with database.transaction() as db:
        await db.execute("SET LOCAL enable_indexscan = off")
        await budget_store.give_back(db, done, cost=10, loss=10)


async def _reserve_one(database: Database, wanted: RunCharge) -> None:
    assert await reserve(database, wanted) == [None]


async def _are_waiting(database: Database, count: int) -> bool:
    async with database.connection() as db:
        waiting: int = await db.fetchval(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
    return waiting == count
