"""A plan that would fail as of now is not for sale: no offer, no credit, and a stated reason."""

from datetime import UTC, datetime, timedelta
from typing import Any

from stellar_sdk import Keypair

from farebox.automation.authority.stored_calls import encode_calls
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans.proposal_state import ProposalFacts, ProposalState, ProposalTrigger
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.runs.move_plan import move_plan
from farebox.automation.schedules.schedule import OnceSchedule
from farebox.kernel.addresses import Address
from support.automation import lock, open_calls
from support.paid_plans import PaidPlans, paid_plans
from support.plan_stage import faulty_keeper
from support.presigned_plans import Leg, calls_of
from support.stage import Stage
from support.table_rows import in_row


async def faulty(shop: PaidPlans, fault: int) -> dict[str, Any]:
    """The terms of a plan whose every run fails."""
    return {"calls": encode_calls(open_calls(Address(await faulty_keeper(shop.stage, fault))))}


async def disbursing(shop: PaidPlans, *recipients: str) -> dict[str, Any]:
    """The terms of a plan that pays each of them, signed ahead."""
    calls = calls_of(shop.scene.asset, [Leg(each) for each in recipients])
    return {
        "calls": encode_calls(calls),
        "mode": AuthorityMode.PRESIGNED,
        "account": shop.scene.payers[0].address,
        "legs": len(recipients),
    }


async def refusal_of(shop: PaidPlans, code: str = "preflight_failed", **terms: Any) -> str:
    """Ask for the price of a plan that is not for sale; why."""
    plan = await shop.propose(**terms)
    answer = await shop.send(plan)
    assert answer.status == 409, (answer.status, answer.body)
    assert "payment-required" not in answer.headers
    error = answer.json()["error"]
    assert error["code"] == code
    assert (await shop.read(plan)).state is ProposalState.PROPOSED
    assert await shop.payments(plan) == [], "no quote is made"
    return str(error["message"])


async def test_keeper_that_always_fails_is_not_sold(shop: PaidPlans) -> None:
    for fault in (4, 6):
        with in_row(fault):
            assert "fails as of now" in await refusal_of(shop, **await faulty(shop, fault))
    await shop.offer(await shop.propose())


async def test_disbursement_with_a_leg_that_fails_is_not_sold(shop: PaidPlans) -> None:
    able, unable = shop.scene.payees[1].address, Keypair.random().public_key
    assert f"Leg 1, {unable}" in await refusal_of(shop, **await disbursing(shop, able, unable))
    control = await disbursing(shop, able, shop.scene.payers[1].address)
    await shop.offer(await shop.propose(**control))


async def test_plan_whose_last_run_is_over_before_it_can_begin_is_not_sold(
    shop: PaidPlans,
) -> None:
    """Paying and signing takes two minutes: a run has to be due after that."""
    for seconds in (-1, 60):
        with in_row(seconds):
            why = await refusal_of(shop, "session_expires_too_soon", **ending_in(seconds))
            assert "No run is due any more" in why
    await shop.offer(await shop.propose(**ending_in(600)))


def ending_in(seconds: int) -> dict[str, Any]:
    """The terms of a plan that ends in so many seconds, with one run just before."""
    now = datetime.now(UTC)
    end = now + timedelta(seconds=seconds)
    window = PlanWindow(now - timedelta(hours=1), end)
    return {"schedule": OnceSchedule(end - timedelta(seconds=45)), "window": window}


async def test_quote_is_not_paid_once_the_last_run_cannot_begin_any_more(shop: PaidPlans) -> None:
    plan, before = await shop.propose(), await shop.revenue()
    payment = await shop.sign(await shop.offer(plan))
    soon = datetime.now(UTC) + timedelta(seconds=60)
    await shop.stage.query(
        "UPDATE automation_proposals SET expires_at = $2 WHERE id = $1", plan.terms.id, soon
    )
    answer = await shop.send(plan, payment)
    assert (answer.status, answer.json()["error"]["code"]) == (409, "session_expires_too_soon")
    assert await shop.revenue() == before
    assert (await shop.read(plan)).state is ProposalState.PROPOSED


async def test_runs_without_a_price_are_credited_without_a_signature_unless_they_would_fail(
    stage: Stage,
) -> None:
    async with paid_plans(stage, FAREBOX_RUN_PRICE_TESTNET="0") as shop:
        await refusal_of(shop, **await faulty(shop, 4))
        plan = await shop.propose()
        answer = await shop.send(plan)
        assert answer.status == 200, answer.body
        assert answer.json()["payment"]["payTo"] is None
        assert answer.json()["proposal"]["status"] == "paid"
        async with shop.database.transaction() as db:
            locked = await lock(db, plan.terms.id)
            facts, now = ProposalFacts(), datetime.now(UTC)
            await move_plan(db, locked, ProposalTrigger.CANCEL, facts, now=now)
        assert await shop.credits() == [], "what cost nothing is no credit"
