"""Plans whose owner opened a mandate, on the real host: every kind runs, and its effects land."""

from functools import partial
from typing import Any

from farebox.automation.authority.installation import revoke_mandate
from farebox.automation.plans.policy_id import mandate_address
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.wire import PlanKind
from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.submission.fate import Dead
from integration.automation.test_undecided_runs import SilentNode, lose_track
from support.automation import read_plan, read_runs
from support.automation_world import NET, has_consumed, until_state
from support.session_desk import PRICE, SOLD, SessionDesk, by_key
from support.session_runs import build_next, land_as_stranger, make_due, passed_minimums
from support.table_rows import in_row
from testing.waiting import until

MODE = AuthorityMode.MANDATE


async def test_runs_of_every_kind_are_made_from_the_owner(desk: SessionDesk) -> None:
    """Two calls, two disbursements in the order of their legs, two purchases, two rebalances."""
    world, scene, owner = desk.world, desk.scene, desk.payer.public_key
    bodies = {
        PlanKind.CONTRACT_CALL: desk.feed(),
        PlanKind.DISBURSEMENT: desk.disbursement(),
        PlanKind.DCA: desk.dca(),
        PlanKind.REBALANCE: desk.rebalance(),
    }
    plans = {
        kind: await desk.with_mandate(desk.draft(kind, body, MODE, runs=2, due=2))
        for kind, body in bodies.items()
    }
    held = [await desk.balance(token, owner) for token in (scene.asset, scene.native)]
    async with world.running(world.network(), world.network()):
        for kind, plan in plans.items():
            with in_row(kind):
                await until(partial(has_consumed, world, plan, 2), 60)
    assert await world.count(desk.keeper) == 2
    assert await desk.balance(scene.asset, desk.keeper) == 2 * SOLD
    paid = [await desk.balance(scene.asset, each.address) for each in scene.payees[:2]]
    assert paid == [200, 202]
    assert await desk.balance(scene.asset, owner) == held[0] - 6 * SOLD - sum(paid)
    bought = await desk.balance(scene.native, owner) - held[1]
    assert bought > 4 * SOLD * 98 // 100
    minimums = await passed_minimums(world, plans[PlanKind.DCA])
    assert len(minimums) == 2
    assert all(each >= SOLD * 98 // 100 for each in minimums), "the owner's rate alone is half"
    rows = await read_runs(world.database, plans[PlanKind.CONTRACT_CALL])
    assert {row["executed_by"] for row in rows} == {"service"}
    assert {row["auth_nonce"] for row in rows} == {None}
    counters = (await read_plan(world.database, plans[PlanKind.DISBURSEMENT])).counters
    assert (counters.runs_consumed, counters.auths_used) == (2, 4)


async def test_purchase_below_the_oracles_floor_is_not_made(desk: SessionDesk) -> None:
    """The pool gives one for one; the oracle says that two are due, or nothing of now."""
    world, scene = desk.world, desk.scene
    floor = {"oracle": desk.oracle, "maxDeviationBps": 100, "maxAgeSeconds": 600}
    await desk.set_price(scene.native, PRICE, age_s=3_600)
    plan = await desk.with_mandate(desk.draft(PlanKind.DCA, desk.dca(oracleFloor=floor), MODE))

    async def refused_for(code: str) -> dict[str, Any] | None:
        rows = await read_runs(world.database, plan)
        waiting = [row for row in rows if row["state"] == "retry_wait"]
        return next((row for row in waiting if row["error_code"] == code), None)

    async with world.running(world.network()):
        for price, code in ((PRICE // 2, "price_unknown"), (PRICE, "price_below_limit")):
            with in_row(code):
                row = await until(partial(refused_for, code))
                assert (row["error_class"], row["tx_hash"]) == ("market", None)
            await desk.set_price(scene.native, price)
            await make_due(world)
        await until(lambda: has_consumed(world, plan, 1), 60)


async def test_rebalance_below_its_threshold_is_skipped_and_not_charged(desk: SessionDesk) -> None:
    world, scene, owner = desk.world, desk.scene, desk.payer.public_key
    tokens = (scene.asset, scene.native)
    held = [await desk.balance(token, owner) for token in tokens]
    share = 10_000 * held[0] // sum(held)
    weights = zip(tokens, (share, 10_000 - share), strict=True)
    assets = [{"token": token, "weightBps": bps} for token, bps in weights]
    draft = desk.draft(PlanKind.REBALANCE, desk.rebalance(assets=assets), MODE)
    plan = await desk.with_mandate(draft)
    async with world.running(world.network()):
        await until_state(world, plan, "skipped")
    assert await desk.balance(scene.asset, owner) == held[0]
    assert (await read_plan(world.database, plan)).counters.runs_consumed == 0


async def test_run_that_a_stranger_lands_counts_as_the_run(desk: SessionDesk) -> None:
    world = desk.world
    plan = await desk.with_mandate(desk.draft(PlanKind.CONTRACT_CALL, desk.feed(), MODE))
    built = await build_next(world, plan)
    await land_as_stranger(world, built)
    async with world.running(world.network()):
        row = await until_state(world, plan, "succeeded")
    assert (row["executed_by"], row["tx_hash"]) == ("third_party", None)
    assert await world.count(desk.keeper) == 1
    assert (await read_plan(world.database, plan)).counters.runs_consumed == 1


async def test_run_whose_mandate_is_gone_is_abandoned(desk: SessionDesk) -> None:
    """Its channel and the account's one place among the runs under way are not held for ever."""
    world = desk.world
    plan = await desk.with_mandate(desk.draft(PlanKind.CONTRACT_CALL, desk.feed(), MODE))
    await lose_track(world, hours=1)
    async with world.database.connection() as db:
        await db.execute("UPDATE automation_sessions SET mandate_id = $1", desk.keeper)
        await db.execute("UPDATE automation_attempts SET sent_after_ledger = 1")
    gone = world.network(wrap=lambda real: SilentNode(real, Dead(1_000)))
    async with world.running(gone):
        await until_state(world, plan, "abandoned")
    stopped = await read_plan(world.database, plan)
    assert (stopped.state, stopped.reason) == (ProposalState.PAUSED, "outcome_unknown")
    assert stopped.counters.runs_consumed == 0


async def test_closed_mandate_fails_its_plan_and_a_revoked_allowance_its_run(
    desk: SessionDesk,
) -> None:
    world = desk.world
    plan = await desk.with_mandate(desk.draft(PlanKind.CONTRACT_CALL, desk.feed(), MODE))
    raw = plan.terms.session_spec
    assert raw is not None
    mandate = mandate_address(NET, desk.at(ServiceContract.FACTORY), plan.terms.policy_id)
    close, approval = revoke_mandate(read_spec(raw), mandate)
    await desk.land_signed(approval, by_key(desk.payer))
    async with world.running(world.network()):
        row = await until_state(world, plan, "failed")
        assert row["error_class"] == "user_funds"
    await desk.land_signed(close, by_key(desk.payer))
    again = await desk.with_mandate(desk.draft(PlanKind.CONTRACT_CALL, desk.feed(), MODE))
    closing = mandate_address(NET, desk.at(ServiceContract.FACTORY), again.terms.policy_id)
    await desk.land_signed(revoke_mandate(read_spec(raw), closing)[0], by_key(desk.payer))
    async with world.running(world.network()):
        row = await until_state(world, again, "failed")
    assert (row["error_class"], row["error_code"]) == ("session", "session_closed")
    after = await read_plan(world.database, again)
    assert (after.state, after.reason) == (ProposalState.FAILED, "session_closed")
