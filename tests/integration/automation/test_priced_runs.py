"""Runs and installations that were paid for: each costs the paymaster no more than its price."""

import json
from dataclasses import replace
from typing import Any

import pytest

from farebox.app.automation_network import AutomationNetwork
from farebox.automation.lifecycle import run_history_store
from farebox.automation.lifecycle.installations import Installed
from farebox.automation.paymaster.sponsored_store import SponsoredPurpose
from farebox.automation.plans.plan_credit import PlanCredit
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.quote import install_limit
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.error_codes import ErrorCode
from farebox.storage.pool import Database
from support.automation import read_plan, read_runs
from support.automation_world import AutomationWorld, has_consumed, keeper_plan, soon
from support.installing import begin, cancel, feeding, signed
from support.run_payments import balance
from support.session_desk import SessionDesk, by_key
from testing.waiting import until


async def hold(database: Database, plan: StoredPlan, **columns: Any) -> None:
    """Let a plan hold what its owner has paid for it."""
    async with database.connection() as db:
        for name, value in ({"credit_asset": "C"} | columns).items():
            await db.execute(
                f"UPDATE automation_proposals SET {name} = $2 WHERE id = $1", plan.terms.id, value
            )


async def credit_of(database: Database, plan: StoredPlan) -> PlanCredit:
    return (await read_plan(database, plan)).counters.credit


async def test_plan_pauses_for_a_new_quote_where_a_run_costs_more_than_was_paid(
    world: AutomationWorld,
) -> None:
    keeper = await world.keeper()
    plan = await keeper_plan(world, keeper)
    await hold(world.database, plan, credit_held=7_000, run_fee=1_000)

    async def is_paused() -> bool:
        return (await read_plan(world.database, plan)).state is ProposalState.PAUSED

    covered = await keeper_plan(world, await world.keeper())  # the control
    await hold(world.database, covered, credit_held=7_000, run_fee=1_000_000)
    async with world.running(world.network()):
        await until(is_paused)
        await until(lambda: has_consumed(world, covered, 1))
    made = (await read_plan(world.database, covered)).counters
    assert made.credit.held <= 7_000 - 700 * made.runs_consumed
    paused = await read_plan(world.database, plan)
    assert (paused.reason, paused.counters.runs_left) == ("new_quote", 0)
    assert await balance(world.database, plan) == 7_000, "the owner buys again at the new price"
    credit = paused.counters.credit
    assert credit.held == 0
    assert credit.run_fee is not None
    assert credit.run_fee > 3_000, "what a transaction costs now"
    assert await read_runs(world.database, plan) == [], "its due time is for sale again"
    async with world.database.connection() as db:
        events = await run_history_store.list_events(db, plan.terms.id, after=0, limit=9)
    (failed,) = (json.loads(each.data) for each in events if each.kind == "run.failed")
    assert (failed["runIndex"], failed["errorCode"]) == (0, "fee_above_quote")
    assert await world.count(keeper) == 0


async def test_installation_costs_no_more_than_the_plan_is_charged_for_it(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    database, plan = desk.world.database, await feeding(desk)
    quoted = await network.sessions.costs.read(replace(plan, state=ProposalState.PROPOSED))
    assert isinstance(quoted, int)
    limit = install_limit(quoted)
    assert limit is not None
    await hold(database, plan, setup_held=900, setup_left=limit)
    material = await network.sessions.materials.material(plan, soon())
    given = signed(material, by_key(desk.payer))
    assert isinstance(await network.sessions.installations.activate(plan, given), Installed)
    (row,) = await sponsored(database, SponsoredPurpose.INSTALL)
    assert row["is_prepaid"]
    assert 0 < row["fee_charged"] <= quoted
    credit = await credit_of(database, plan)
    assert (credit.setup_held, credit.setup_left) == (0, limit - row["fee_charged"])
    again = await read_plan(database, plan)
    await begin(desk, again)
    await cancel(desk, await read_plan(database, plan))
    await network.sessions.closings.run_once()
    (closed,) = await sponsored(database, SponsoredPurpose.CLOSE)
    assert closed["is_prepaid"], "the rest of the setup pays for closing"
    left = (await credit_of(database, plan)).setup_left
    assert left == limit - row["fee_charged"] - closed["fee_charged"]
    assert await balance(database, plan) == 0, "what was spent is not given back"


async def test_installation_that_the_plan_was_not_charged_for_is_not_sent(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    database, plan = desk.world.database, await feeding(desk)
    material = await network.sessions.materials.material(plan, soon())
    given = signed(material, by_key(desk.payer))
    for left in (0, 20_000):
        await hold(database, plan, setup_left=left)
        with pytest.raises(AutomationRefused) as refused:
            await network.sessions.installations.activate(plan, given)
        assert refused.value.code is ErrorCode.FEE_CEILING
    rows = await sponsored(database, SponsoredPurpose.INSTALL)
    assert {row["outcome"] for row in rows} == {"dead"}
    assert {row["tx_hash"] for row in rows} == {None}


async def test_closing_that_no_setup_pays_for_is_a_loss_of_the_owner(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    database, plan = desk.world.database, await feeding(desk)
    material = await network.sessions.materials.material(plan, soon())
    given = signed(material, by_key(desk.payer))
    assert isinstance(await network.sessions.installations.activate(plan, given), Installed)
    await begin(desk, plan)
    await cancel(desk, await read_plan(database, plan))
    await hold(database, plan, setup_left=0)
    await network.sessions.closings.run_once()
    (closed,) = await sponsored(database, SponsoredPurpose.CLOSE)
    async with database.connection() as db:
        lost = await db.fetchval("SELECT sum(stroops) FROM automation_spend WHERE scope = 'loss'")
    assert 0 < closed["fee_charged"] == lost


async def sponsored(database: Database, purpose: SponsoredPurpose) -> list[dict[str, Any]]:
    async with database.connection() as db:
        rows = await db.fetch(
            "SELECT * FROM automation_sponsored WHERE purpose = $1 ORDER BY created_at",
            purpose.value,
        )
    return [dict(row) for row in rows]
