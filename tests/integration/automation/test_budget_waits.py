"""Runs that wait for a budget run when something is given back to it, and not at midnight."""

from dataclasses import replace
from typing import Any

from farebox.automation.paymaster.budget_store import AutomationBudgets
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.kernel.amounts import NO_STROOPS, Stroops
from farebox.submission.fate import Fate, SentEnvelope
from farebox.submission.submit import Submitter
from support.automation import draft_plan, read_runs
from support.automation_world import LIMITS, AutomationWorld, has_consumed, keeper_plan
from testing.waiting import until


class UntilOneWaits:
    """Tells the fate of what it has sent once another run waits for the budget meanwhile."""

    def __init__(self, world: AutomationWorld, real: Submitter) -> None:
        self._world, self._real = world, real

    async def submit(self, sent: SentEnvelope, **others: Any) -> Fate:
        fate: Fate = await self._real.submit(sent, **others)
        await until(lambda: count_deferred(self._world))
        return fate

    async def wait(self, sent: SentEnvelope, *, until: float) -> Fate:
        return await self._real.wait(sent, until=until)


async def fee_of_a_run(world: AutomationWorld) -> tuple[int, int]:
    """The most that a run of a keeper may cost, and what it costs."""
    plan = await keeper_plan(world, await world.keeper())
    async with world.running(world.network()):
        await until(lambda: has_consumed(world, plan, 1))
    async with world.database.connection() as db:
        row = await db.fetchrow("SELECT fee_limit, fee_charged FROM automation_attempts")
    assert row is not None
    return row["fee_limit"], row["fee_charged"]


async def run_both(world: AutomationWorld, budgets: AutomationBudgets, *, same_owner: bool) -> None:
    """Run two plans that are due at once, whose reservations do not fit a budget together."""
    changes: dict[str, Any] = {"owner": draft_plan().terms.owner} if same_owner else {}
    plans: list[StoredPlan] = [
        await keeper_plan(world, await world.keeper(), runs=1, **changes) for _ in range(2)
    ]
    limits = replace(LIMITS, budgets=budgets)
    network = world.network(limits=limits, wrap=lambda real: UntilOneWaits(world, real))
    async with world.running(network):
        for plan in plans:
            await until(lambda plan=plan: has_consumed(world, plan, 1), 30)  # type: ignore[misc]
    waited = [row for plan in plans for row in await read_runs(world.database, plan)]
    assert {row["state"] for row in waited} == {"succeeded"}


async def count_deferred(world: AutomationWorld) -> int:
    async with world.database.connection() as db:
        return int(
            await db.fetchval("SELECT count(*) FROM automation_events WHERE kind = 'run.deferred'")
        )


async def test_owners_run_is_made_when_another_one_has_cost_less(world: AutomationWorld) -> None:
    limit, cost = await fee_of_a_run(world)
    assert cost < limit
    await run_both(world, AutomationBudgets(owner=Stroops(limit + cost)), same_owner=True)
    assert await count_deferred(world) >= 1, "the control: the budget was used up"


async def test_run_of_another_owner_is_made_when_the_networks_budget_allows_it(
    world: AutomationWorld,
) -> None:
    limit, cost = await fee_of_a_run(world)
    total = Stroops(limit + 2 * cost)  # the first run's cost of today counts
    await run_both(world, AutomationBudgets(total=total, owner=NO_STROOPS), same_owner=False)
    assert await count_deferred(world) >= 1, "the control: the budget was used up"
