"""Open plans on the devnet's real host: each run lands exactly once."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from farebox.automation.authority.stored_calls import encode_calls
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.schedules.missed_runs import LatenessRule, MissedRuns
from farebox.kernel.addresses import Address
from farebox.local.devnet import Devnet
from farebox.storage.pool import Database
from support.automation import activate, draft_plan, open_calls, read_owner, read_plan, read_runs
from support.automation_world import AutomationWorld, automation_world, soon
from support.waiting import until


@pytest.fixture
async def world(devnet: Devnet, database: Database) -> AsyncIterator[AutomationWorld]:
    async with automation_world(devnet, database) as world:
        yield world


async def plan_of(
    world: AutomationWorld, keeper: str, *, check: bool = False, due: int = 1, **changes: Any
) -> StoredPlan:
    """An active plan of a keeper, of which `due` runs are due now, all of them caught up."""
    now = soon()
    start = now - timedelta(seconds=60 * (due - 1))
    calls = encode_calls(open_calls(Address(keeper), check=check))
    rule = LatenessRule(MissedRuns.CATCH_UP_ALL, timedelta(seconds=30))
    draft = draft_plan(now=start).but(calls=calls, rule=rule, **changes)
    return await activate(world.database, draft, now=now)


async def states(world: AutomationWorld, plan: StoredPlan) -> list[str]:
    return [row["state"] for row in await read_runs(world.database, plan)]


async def test_open_runs_land_once_each_and_are_counted(world: AutomationWorld) -> None:
    keeper = await world.keeper()
    plan = await plan_of(world, keeper, check=True, due=3)
    async with world.running(world.network(), world.network()):
        await until(lambda: _has_run(world, plan, 3))
    assert await world.count(keeper) == 3
    rows = await read_runs(world.database, plan)
    assert [row["state"] for row in rows[:3]] == ["succeeded"] * 3
    assert all(row["fee_charged"] > 0 and row["ledger"] and row["receipt"] for row in rows[:3])
    counters = (await read_plan(world.database, plan)).counters
    assert (counters.runs_consumed, counters.runs_succeeded, counters.auths_used) == (3, 3, 3)
    assert await read_owner(world.database, plan.terms.owner) == (0, 0)


async def _has_run(world: AutomationWorld, plan: StoredPlan, count: int) -> bool:
    return (await read_plan(world.database, plan)).counters.runs_consumed >= count
