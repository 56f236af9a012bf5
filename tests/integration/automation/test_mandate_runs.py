"""Plans whose owner opened a mandate, on the real host: every kind runs, and its effects land."""

import pytest

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import PlanKind
from support.automation import read_plan, read_runs
from support.automation_world import AutomationWorld, has_consumed
from support.session_desk import SOLD, SessionDesk
from support.waiting import until

MODE = AuthorityMode.MANDATE


@pytest.fixture
async def desk(world: AutomationWorld) -> SessionDesk:
    return await SessionDesk.deploy(world)


async def test_contract_call_takes_from_the_owner_what_the_target_takes(desk: SessionDesk) -> None:
    world, asset = desk.world, desk.scene.asset
    plan = await desk.with_mandate(desk.draft(PlanKind.CONTRACT_CALL, desk.feed(), MODE, due=3))
    held = await desk.balance(asset, desk.payer.public_key)
    async with world.running(world.network(), world.network()):
        await until(lambda: has_consumed(world, plan, 3), 60)
    assert await world.count(desk.keeper) == 3
    assert await desk.balance(asset, desk.keeper) == 3 * SOLD
    assert await desk.balance(asset, desk.payer.public_key) == held - 3 * SOLD
    rows = await read_runs(world.database, plan)
    assert {row["executed_by"] for row in rows} == {"service"}
    assert {row["auth_nonce"] for row in rows} == {None}


async def test_disbursement_pays_each_leg_in_its_order(desk: SessionDesk) -> None:
    world = desk.world
    body = desk.disbursement()
    plan = await desk.with_mandate(desk.draft(PlanKind.DISBURSEMENT, body, MODE, runs=2, due=2))
    async with world.running(world.network()):
        await until(lambda: has_consumed(world, plan, 2), 60)
    paid = [await desk.balance(desk.scene.asset, each.address) for each in desk.scene.payees[:2]]
    assert paid == [200, 202]
    counters = (await read_plan(world.database, plan)).counters
    assert (counters.runs_consumed, counters.auths_used) == (2, 4)
