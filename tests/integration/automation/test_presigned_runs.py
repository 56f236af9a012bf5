"""Pre-signed plans on the devnet: the signed call, once, and nothing else."""

from functools import partial
from typing import Any

import pytest
from stellar_sdk import InvokeHostFunction, Keypair, xdr

from farebox.automation.execution.run_authority import entry_record
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.plans.wire import OnLegError
from farebox.automation.sealed_columns import ENTRY_PURPOSE
from farebox.local.devnet import Scene
from support.automation import read_plan, read_runs
from support.automation_world import SEALERS, AutomationWorld, has_consumed, until_state
from support.presigned_plans import AMOUNT, Leg, presigned_plan
from testing.waiting import until


@pytest.fixture
async def scene(world: AutomationWorld) -> Scene:
    """One payer, and three accounts that may hold the asset."""
    return await world.devnet.scene(payers=1, payees=3)


async def balances(world: AutomationWorld, scene: Scene) -> list[int]:
    return [await world.ledger.balance(scene.asset, each.address) for each in scene.payees]


async def test_presigned_runs_land_once_each_and_destroy_their_entries(
    world: AutomationWorld, scene: Scene
) -> None:
    legs = [Leg(scene.payees[0].address)]
    plan = await presigned_plan(world, scene, scene.payers[0], legs, runs=2)
    async with world.running(world.network(), world.network()):
        await until(lambda: has_consumed(world, plan, 1))
        async with world.database.connection() as db:
            await db.execute("UPDATE automation_runs SET due_at = now() WHERE due_at IS NOT NULL")
        await until(lambda: has_consumed(world, plan, 2))
    assert await balances(world, scene) == [2 * AMOUNT, 0, 0]
    rows = await read_runs(world.database, plan)
    changes = f'[{{"token":"{scene.asset}","amount":"-{AMOUNT}"}}]'
    assert [row["effects"] for row in rows] == [changes, changes]
    assert (await read_plan(world.database, plan)).state is ProposalState.COMPLETED
    async with world.database.connection() as db:
        stored = await db.fetch("SELECT state, entry FROM automation_presigned")
    assert [tuple(row) for row in stored] == [("used", None)] * 2


async def test_legs_of_a_run_land_one_after_another_for_one_credit(
    world: AutomationWorld, scene: Scene
) -> None:
    legs = [Leg(each.address, AMOUNT + n) for n, each in enumerate(scene.payees)]
    plan = await presigned_plan(world, scene, scene.payers[0], legs)
    async with world.running(world.network()):
        await until(lambda: has_consumed(world, plan, 1))
    assert await balances(world, scene) == [AMOUNT, AMOUNT + 1, AMOUNT + 2]
    counters = (await read_plan(world.database, plan)).counters
    assert (counters.runs_consumed, counters.auths_used) == (1, 3)


async def test_leg_without_trustline_fails_and_the_rule_decides_about_the_rest(
    world: AutomationWorld, scene: Scene
) -> None:
    stranger = await world.ledger.account()
    legs = [Leg(stranger.public_key), Leg(scene.payees[0].address)]
    plans = {
        rule: await presigned_plan(world, scene, scene.payers[0], legs, on_leg_error=rule)
        for rule in (OnLegError.STOP, OnLegError.CONTINUE)
    }
    async with world.running(world.network()):
        for plan in plans.values():
            await until(partial(_all_ended, world, plan))
    found = {}
    for rule, plan in plans.items():
        rows = await first_run(world, plan)
        assert rows[0]["error_class"] == "user_funds"
        consumed = (await read_plan(world.database, plan)).counters.runs_consumed
        found[rule] = ([row["state"] for row in rows], consumed)
    assert found == {
        OnLegError.STOP: (["failed", "skipped"], 0),
        OnLegError.CONTINUE: (["failed", "succeeded"], 1),
    }


async def test_plan_pauses_for_a_low_balance_after_three_runs_that_lacked_it(
    world: AutomationWorld, scene: Scene
) -> None:
    held = await world.ledger.balance(scene.asset, scene.payers[0].address)
    legs = [Leg(scene.payees[0].address, held + 1)]
    plan = await presigned_plan(world, scene, scene.payers[0], legs, runs=4)

    async def is_paused() -> bool:
        async with world.database.connection() as db:
            await db.execute("UPDATE automation_runs SET due_at = now() WHERE due_at IS NOT NULL")
        return (await read_plan(world.database, plan)).state is ProposalState.PAUSED

    async with world.running(world.network()):
        await until(is_paused)
    assert (await read_plan(world.database, plan)).reason == "low_balance"
    states = [row["state"] for row in await read_runs(world.database, plan)]
    assert states.count("failed") == 3
    assert await balances(world, scene) == [0, 0, 0]


async def first_run(world: AutomationWorld, plan: StoredPlan) -> list[dict[str, Any]]:
    return [row for row in await read_runs(world.database, plan) if row["run_index"] == 0]


async def _all_ended(world: AutomationWorld, plan: StoredPlan) -> bool:
    return all(row["finished_at"] for row in await first_run(world, plan))


async def test_effects_or_entry_outside_the_plan_are_refused_before_sending(
    world: AutomationWorld, scene: Scene
) -> None:
    """The entry for another call pauses its plan as well."""
    payer, to = scene.payers[0], scene.payees[0].address
    dear = await presigned_plan(world, scene, payer, [Leg(to)], most=AMOUNT - 1)
    other = await presigned_plan(world, scene, payer, [Leg(to, signed_amount=AMOUNT + 1)])
    async with world.running(world.network()):
        of_dear = await until_state(world, dear, "failed")
        of_other = await until_state(world, other, "failed")
    assert (of_dear["error_code"], of_dear["tx_hash"]) == ("debit_too_high", None)
    assert (of_other["error_class"], of_other["error_code"]) == ("session", "entry_mismatch")
    after = await read_plan(world.database, other)
    assert (after.state, after.reason) == (ProposalState.PAUSED, "session_drift")
    assert await balances(world, scene) == [0, 0, 0]


async def test_entry_used_by_a_stranger_counts_as_the_run(
    world: AutomationWorld, scene: Scene
) -> None:
    legs = [Leg(scene.payees[0].address)]
    plan = await presigned_plan(world, scene, scene.payers[0], legs)
    await _use_entry(world, plan)
    async with world.running(world.network()):
        row = await until_state(world, plan, "succeeded")
    assert (row["executed_by"], row["tx_hash"]) == ("third_party", None)
    assert (await read_plan(world.database, plan)).counters.runs_consumed == 1
    assert await balances(world, scene) == [AMOUNT, 0, 0]


async def _use_entry(world: AutomationWorld, plan: StoredPlan) -> None:
    """Land the plan's first entry in a stranger's transaction."""
    async with world.database.connection() as db:
        sealed: bytes = await db.fetchval("SELECT entry FROM automation_presigned")
    raw = SEALERS.entries.open(
        sealed,
        owner=plan.terms.owner,
        purpose=ENTRY_PURPOSE,
        record=entry_record(plan.terms.id, 0, 0),
    )
    entry = xdr.SorobanAuthorizationEntry.from_xdr_bytes(raw.reveal())
    call: Any = entry.root_invocation.function.contract_fn
    stranger: Keypair = await world.ledger.account()
    function = xdr.HostFunction(
        xdr.HostFunctionType.HOST_FUNCTION_TYPE_INVOKE_CONTRACT, invoke_contract=call
    )
    await world.ledger.submit(stranger, lambda b: b.append_operation(_operation(function, entry)))


def _operation(function: xdr.HostFunction, entry: xdr.SorobanAuthorizationEntry) -> Any:
    return InvokeHostFunction(host_function=function, auth=[entry])
