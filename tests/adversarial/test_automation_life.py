"""Plans at the moment they are due: what must not run does not, whatever comes first."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest
from stellar_sdk import scval

from farebox.automation.execution.plan_upkeep import PlanUpkeep
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans.proposal_state import (
    ProposalFacts,
    ProposalState,
    ProposalTrigger,
)
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs import claim_store, run_store
from farebox.automation.runs.move_plan import move_plan
from farebox.automation.runs.run import Run
from farebox.kernel.clock import SystemClock
from farebox.local.devnet import Devnet
from farebox.storage.pool import Database
from support.automation import lock, read_plan, read_runs
from support.automation_world import (
    NET,
    AutomationWorld,
    automation_world,
    has_consumed,
    keeper_plan,
    soon,
    until_state,
)
from support.promises import case
from testing.waiting import until

# what a target's check does wrong, and how that is recorded
FAULTS = {
    0: "check_failed",
    1: "check_not_boolean",
    2: "check_too_expensive",
    3: "check_changes_state",
}


class SetClock(SystemClock):
    """A clock that is off by some time, which a test changes."""

    def __init__(self) -> None:
        self.off = timedelta()

    def now(self) -> datetime:
        return super().now() + self.off


@pytest.fixture
async def world(devnet: Devnet, database: Database) -> AsyncIterator[AutomationWorld]:
    """A paymaster with channels, and a clock that can be set."""
    async with automation_world(devnet, database) as world:
        world.clock = SetClock()
        yield world


def clock_of(world: AutomationWorld) -> SetClock:
    assert isinstance(world.clock, SetClock)
    return world.clock


async def claim(world: AutomationWorld) -> list[Run]:
    """Claim what is due by the world's clock."""
    now = world.clock.now()
    async with world.database.connection() as db:
        runs = await claim_store.claim_due(
            db, NET, count=5, holder="a process", now=now, until=now + timedelta(seconds=60)
        )
    return list(runs)


async def move(world: AutomationWorld, plan: StoredPlan, trigger: ProposalTrigger) -> StoredPlan:
    async with world.database.transaction() as db:
        locked = await lock(db, plan.terms.id)
        is_busy = await run_store.lock_due_run(db, plan.terms.id)
        facts = ProposalFacts(has_unresolved_run=is_busy, runs_left=locked.counters.runs_left)
        return await move_plan(db, locked, trigger, facts, now=world.clock.now(), reason="owner")


async def attempts(world: AutomationWorld) -> int:
    async with world.database.connection() as db:
        return int(await db.fetchval("SELECT count(*) FROM automation_attempts"))


@case("VA-014")
@pytest.mark.parametrize(
    ("trigger", "state"),
    [
        (ProposalTrigger.PAUSE, ProposalState.PAUSED),
        (ProposalTrigger.CANCEL, ProposalState.CANCELLED),
    ],
)
async def test_plan_that_is_stopped_as_its_run_is_due_does_not_run(
    world: AutomationWorld, trigger: ProposalTrigger, state: ProposalState
) -> None:
    keeper, network = await world.keeper(), world.network()
    for is_claimed in (False, True):
        plan = await keeper_plan(world, keeper)
        claimed = await claim(world) if is_claimed else []
        await move(world, plan, trigger)
        for run in claimed or await claim(world):
            await network.executor.execute(run)
        assert (await read_plan(world.database, plan)).state is state, is_claimed
        assert await attempts(world) == await world.count(keeper) == 0, is_claimed
    control = await keeper_plan(world, keeper)
    for run in await claim(world):
        await network.executor.execute(run)
    assert (await read_plan(world.database, control)).counters.runs_consumed == 1
    assert await world.count(keeper) == 1


@case("VA-014")
@pytest.mark.parametrize("order", ["claim first", "upkeep first", "scheduler alone"])
async def test_plan_that_expires_as_its_run_is_due_does_not_run(
    world: AutomationWorld, order: str
) -> None:
    keeper, network = await world.keeper(), world.network()
    now = soon()
    window = PlanWindow(now - timedelta(seconds=1), now + timedelta(hours=1))
    plan = await keeper_plan(world, keeper, window=window)
    upkeep = PlanUpkeep(NET, world.database, world.clock)
    claimed = await claim(world) if order == "claim first" else []
    clock_of(world).off = timedelta(hours=1, seconds=1)
    if order == "upkeep first":
        await upkeep.run_once()
    for run in claimed or await claim(world):
        await network.executor.execute(run)
    await upkeep.run_once()
    after = await read_plan(world.database, plan)
    assert after.state in (ProposalState.EXPIRED, ProposalState.COMPLETED)
    assert after.counters.runs_consumed == await attempts(world) == await world.count(keeper) == 0


@case("VA-014")
async def test_clock_that_is_set_back_neither_runs_early_nor_twice(world: AutomationWorld) -> None:
    keeper, network, clock = await world.keeper(), world.network(), clock_of(world)
    plan = await keeper_plan(world, keeper, due=2)
    for run in await claim(world):
        await network.executor.execute(run)
    assert await world.count(keeper) == 1, "the control"
    clock.off = timedelta(hours=-2)
    assert await claim(world) == [], "the next run is not due any more"
    await PlanUpkeep(NET, world.database, clock).run_once()
    after = await read_plan(world.database, plan)
    assert (after.state, after.counters.runs_consumed) == (ProposalState.ACTIVE, 1)
    moved = await move(world, plan, ProposalTrigger.PAUSE)
    await move(world, moved, ProposalTrigger.RESUME)
    assert await claim(world) == []
    clock.off = timedelta()
    async with world.running(network):
        await until(lambda: has_consumed(world, plan, 2))
    rows = await read_runs(world.database, plan)
    due = [row["scheduled_for"] for row in rows if row["state"] == "succeeded"]
    assert len(due) == len(set(due)) == await world.count(keeper) == 2


@case("VA-011")
async def test_target_whose_check_is_broken_never_runs_and_pauses_its_plan(
    world: AutomationWorld,
) -> None:
    keepers = [await world.faulty_keeper(fault) for fault in FAULTS]
    plans = [await keeper_plan(world, keeper, check=True, due=5) for keeper in keepers]

    async def are_paused() -> bool:
        states = {(await read_plan(world.database, plan)).state for plan in plans}
        return states == {ProposalState.PAUSED}

    async with world.running(world.network()):
        await until(are_paused, 60)
    for plan, code in zip(plans, FAULTS.values(), strict=True):
        after = await read_plan(world.database, plan)
        assert (after.reason, after.counters.runs_consumed) == ("failed_runs", 0), code
        rows = await read_runs(world.database, plan)
        failed = [row for row in rows if row["state"] == "failed"]
        assert [row["error_code"] for row in failed] == [code] * 3
        assert sum(row["attempts"] for row in rows) <= 5 * len(failed), "retries are bounded"
    assert await attempts(world) == 0


@case("VA-011")
async def test_target_that_says_no_is_neither_run_nor_charged_nor_failed(
    world: AutomationWorld,
) -> None:
    keeper = await world.keeper()
    await world.invoke(keeper, "arrange", scval.to_bool(False))
    plan = await keeper_plan(world, keeper, check=True)
    async with world.running(world.network()):
        row = await until_state(world, plan, "skipped")
        assert row["state_reason"] == "check_declined"
        after = await read_plan(world.database, plan)
        assert (after.counters.failures_in_row, after.counters.runs_consumed) == (0, 0)
        await world.invoke(keeper, "arrange", scval.to_bool(True))
        control = await keeper_plan(world, keeper, check=True)
        await until(lambda: has_consumed(world, control, 1))
    assert await world.count(keeper) == 1
