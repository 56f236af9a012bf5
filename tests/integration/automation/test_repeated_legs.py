"""Failed legs of mandates: they are repeated while nothing later was made, and else refused."""

from dataclasses import replace

import pytest
from stellar_sdk import Asset, Keypair

from farebox.automation.lifecycle.repeat_run import RunRepeat
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.plans.wire import OnLegError, PlanKind
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.error_codes import ErrorCode
from support.automation import read_runs
from support.automation_world import NET, has_consumed
from support.plan_desk import lifecycle_of, owner_of
from support.session_desk import SessionDesk
from testing.waiting import until


async def partly_paid(desk: SessionDesk, poor: Keypair, *, first: bool) -> StoredPlan:
    """A plan whose leg to an account without a trustline has failed, and whose other has not."""
    legs = [{"to": desk.scene.payees[0].address, "amount": "100"}]
    legs.insert(0 if first else 1, {"to": poor.public_key, "amount": "101"})
    body = desk.disbursement(legs=legs, onLegError="continue")
    draft = desk.draft(PlanKind.DISBURSEMENT, body, AuthorityMode.MANDATE, runs=2)
    draft = replace(draft.but(on_leg_error=OnLegError.CONTINUE), runs=2)
    plan = await desk.with_mandate(draft)
    async with desk.world.running(desk.world.network()):
        await until(lambda: has_consumed(desk.world, plan, 1), 60)
    return plan


async def repeat(desk: SessionDesk, plan: StoredPlan) -> None:
    world = desk.world
    networks = {NET: lifecycle_of(world, world.network())}
    repeating = RunRepeat(world.database, world.clock, networks)
    await repeating.repeat(owner_of(plan), "request", plan.terms.id, 0)


async def test_failed_leg_is_repeated_only_behind_every_one_that_was_paid(
    desk: SessionDesk,
) -> None:
    """One before another that was paid is refused with a code."""
    poor, asset = await desk.world.ledger.account(), desk.scene.asset
    before = await partly_paid(desk, poor, first=True)
    with pytest.raises(AutomationRefused) as refused:
        await repeat(desk, before)
    assert refused.value.code is ErrorCode.RUN_INDEX_PASSED
    assert [row["state"] for row in await legs_of(desk, before)] == ["failed", "succeeded"]
    behind = await partly_paid(desk, poor, first=False)
    assert [row["state"] for row in await legs_of(desk, behind)] == ["succeeded", "failed"]
    trusted = Asset(desk.scene.code, desk.scene.issuer)
    await desk.world.ledger.submit(poor, lambda b: b.append_change_trust_op(trusted))
    await repeat(desk, behind)

    async def is_paid() -> bool:
        return await desk.balance(asset, poor.public_key) == 101

    async with desk.world.running(desk.world.network()):
        await until(is_paid, 60)


async def legs_of(desk: SessionDesk, plan: StoredPlan) -> list[dict[str, object]]:
    return [row for row in await read_runs(desk.world.database, plan) if row["run_index"] == 0]
