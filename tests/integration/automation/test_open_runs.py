"""Open plans on the devnet's real host: each due run lands once, or says why it does not."""

from dataclasses import replace
from typing import Any

import msgspec
from stellar_sdk import scval

from farebox.automation.paymaster import budget_store
from farebox.automation.paymaster.budget_store import AutomationBudgets
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs.receipt import receipt_digest
from farebox.automation.runs.receipts import SignedReceipt
from farebox.automation.schedules.schedule import ConditionSchedule
from farebox.kernel.amounts import Stroops
from farebox.stellar.auth_entries import signature_verifies
from support.automation import read_owner, read_plan, read_runs
from support.automation_world import (
    LIMITS,
    NET,
    AutomationWorld,
    has_consumed,
    keeper_plan,
    soon,
    until_state,
)
from support.promises import promise
from support.table_rows import in_row
from testing.waiting import until

FAULTS = {
    0: "check_failed",
    1: "check_not_boolean",
    2: "check_too_expensive",
    3: "check_changes_state",
    4: "contract_1",
    5: "budget",
    6: "other",
}


async def test_open_runs_land_once_each_and_are_counted(world: AutomationWorld) -> None:
    """Of five that are due the three that were paid, by two processes."""
    keeper = await world.keeper()
    plan = await keeper_plan(world, keeper, check=True, due=5, runs=3)
    async with world.running(world.network(), world.network()):
        await until(lambda: has_consumed(world, plan, 3))
    assert await world.count(keeper) == 3
    rows = await read_runs(world.database, plan)
    assert [row["state"] for row in rows[:3]] == ["succeeded"] * 3
    assert all(row["fee_charged"] > 0 and row["ledger"] and row["receipt"] for row in rows[:3])
    after = await read_plan(world.database, plan)
    counters = after.counters
    assert (counters.runs_consumed, counters.runs_succeeded, counters.auths_used) == (3, 3, 3)
    assert after.state is ProposalState.COMPLETED
    assert await read_owner(world.database, plan.terms.owner) == (0, 0)
    await check_spend(world, sum(row["fee_charged"] for row in rows[:3]))
    check_receipt(plan, rows[0])


async def check_spend(world: AutomationWorld, charged: int) -> None:
    """The spend of the day is the sum of the fees that runs were charged."""
    async with world.database.connection() as db:
        rows = await db.fetch("SELECT scope, stroops FROM automation_spend")
    spent = {"owner": charged, "total": charged, "loss": 0, "new_owners": 0}
    assert {row["scope"]: row["stroops"] for row in rows} == spent


def check_receipt(plan: StoredPlan, row: dict[str, Any]) -> None:
    """The receipt of a run verifies with the delegate's key."""
    line = msgspec.json.decode(row["receipt"], type=SignedReceipt)
    assert line.delegate == plan.terms.delegate.hex()
    digest = receipt_digest(bytes(line.receipt))
    assert signature_verifies(plan.terms.delegate, bytes.fromhex(line.signature), digest)
    receipt = msgspec.json.decode(line.receipt)
    assert (receipt["transaction"], receipt["state"]) == (row["tx_hash"].hex(), "succeeded")
    changed = bytes(line.receipt).replace(b'"succeeded"', b'"failed"')
    forged = receipt_digest(changed)
    assert not signature_verifies(plan.terms.delegate, bytes.fromhex(line.signature), forged)


async def test_run_whose_check_says_no_is_skipped_and_a_condition_is_polled_until_it_holds(
    world: AutomationWorld,
) -> None:
    """The skipped run is not charged; a condition has to hold in two ledgers."""
    keeper = await world.keeper()
    await world.invoke(keeper, "arrange", scval.to_bool(False))
    once = await keeper_plan(world, keeper, check=True)
    polled = await keeper_plan(world, keeper, check=True, schedule=ConditionSchedule(1))
    async with world.running(world.network()):
        await until_state(world, once, "skipped")
        await until_state(world, polled, "deferred")
        assert await world.count(keeper) == 0
        assert (await read_plan(world.database, once)).counters.runs_left == 10
        await world.invoke(keeper, "arrange", scval.to_bool(True))
        await until(lambda: has_consumed(world, polled, 1))
    rows = await read_runs(world.database, polled)
    assert (rows[0]["run_index"], rows[0]["state"]) == (0, "succeeded")
    assert await world.count(keeper) >= 1


@promise("automation:bounded-retries")
async def test_faulty_target_is_not_run_and_says_why(world: AutomationWorld) -> None:
    keepers = await world.faulty_keepers(*FAULTS)
    plans = [await keeper_plan(world, keeper, check=True) for keeper in keepers]
    async with world.running(world.network()):
        for code, plan in zip(FAULTS.values(), plans, strict=True):
            with in_row(code):
                await until_state(world, plan, "failed")
    for code, plan in zip(FAULTS.values(), plans, strict=True):
        with in_row(code):
            row = (await read_runs(world.database, plan))[0]
            assert (row["error_code"], row["error_class"]) == (code, "program")
            assert row["tx_hash"] is None
            counters = (await read_plan(world.database, plan)).counters
            assert (counters.runs_consumed, counters.failures_in_row) == (0, 1)


async def _is_paused(world: AutomationWorld, plan: StoredPlan, reason: str) -> bool:
    found = await read_plan(world.database, plan)
    return (found.state, found.reason) == (ProposalState.PAUSED, reason)


async def test_stopped_network_sends_nothing_until_it_is_started(world: AutomationWorld) -> None:
    """Nor is an attempt recorded by a process whose watch has not seen the switch."""
    keeper, network = await world.keeper(), world.network()
    async with world.database.transaction() as db:
        assert await budget_store.stop_network(db, NET, at=soon())
    plan = await keeper_plan(world, keeper)
    async with world.running(network):
        assert network.watch.warnings == ("automation_stopped",)
        await network.scheduler.claim()
        assert (await read_runs(world.database, plan))[0]["state"] == "scheduled"
        async with world.database.connection() as db:
            assert await budget_store.start_network(db, NET)
        await network.watch.refresh()
        await until(lambda: has_consumed(world, plan, 1))
        async with world.database.transaction() as db:
            assert await budget_store.stop_network(db, NET, at=soon())
        row = await until_state(world, await keeper_plan(world, keeper), "deferred")
    assert row["state_reason"] == "automation_stopped"
    assert await world.count(keeper) == 1


async def test_run_waits_for_the_next_day_when_a_budget_is_used_up(world: AutomationWorld) -> None:
    keeper = await world.keeper()
    for scope in ("total", "owner"):
        budgets = replace(AutomationBudgets(), **{scope: Stroops(1)})
        plan = await keeper_plan(world, keeper)
        async with world.running(world.network(limits=replace(LIMITS, budgets=budgets))):
            row = await until_state(world, plan, "deferred")
        assert row["error_code"] == f"budget_{scope}"
        assert row["due_at"] > soon(1)
        assert row["channel"] is None
    assert await world.count(keeper) == 0
    async with world.database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM automation_attempts") == 0
        assert (
            await db.fetchval("SELECT count(*) FROM automation_channels WHERE run_id IS NULL") == 3
        )


async def test_plan_pauses_for_failed_runs_a_low_fee_limit_or_other_code(
    world: AutomationWorld,
) -> None:
    """After three failed runs in a row, two that cost more than the limit, and at once."""
    failing = await keeper_plan(world, await world.faulty_keeper(4), due=5)
    keeper, dear_keeper = await world.keeper(), await world.keeper()
    dear = await keeper_plan(world, dear_keeper, max_fee=Stroops(1_000))
    plan = await keeper_plan(world, keeper, target_wasm_hash=world.hash_of("keeper"))
    other = await keeper_plan(world, keeper, target_wasm_hash=world.hash_of("faulty_keeper"))
    async with world.running(world.network()):
        row = await until_state(world, dear, "retry_wait")
        assert row["error_code"] == "fee_ceiling"
        async with world.database.connection() as db:
            await db.execute(
                "UPDATE automation_runs SET due_at = now()"
                " WHERE state = 'retry_wait' AND proposal_id = $1",
                dear.terms.id,
            )
        await until(lambda: _is_paused(world, dear, "fee_ceiling"))
        await until(lambda: has_consumed(world, plan, 1))
        await until(lambda: _is_paused(world, other, "target_upgraded"))
        await until(lambda: _is_paused(world, failing, "failed_runs"))
    states = [row["state"] for row in await read_runs(world.database, failing)]
    assert states.count("failed") == 3
    assert set(states) == {"failed", "skipped"}
    assert (await world.count(keeper), await world.count(dear_keeper)) == (1, 0)


async def test_overdue_run_is_missed_while_the_network_is_out(world: AutomationWorld) -> None:
    keeper = await world.keeper()
    world.outages = ("rpc_unavailable",)
    plan = await keeper_plan(world, keeper)
    async with world.database.connection() as db:
        await db.execute(
            "UPDATE automation_runs SET deadline_at = now() - interval '1 s' WHERE run_index = 0"
        )
    waiting = await keeper_plan(world, keeper)
    async with world.running(world.network()):
        await until_state(world, plan, "missed")
        assert (await read_runs(world.database, waiting))[0]["state"] == "scheduled"
    assert (await read_plan(world.database, plan)).counters.runs_left == 10
    assert await world.count(keeper) == 0
