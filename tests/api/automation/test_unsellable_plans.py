"""What would fail as of now is not for sale: no offer, nothing credited, and the reason is told."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from stellar_sdk import Keypair, scval

from farebox.automation.authority.stored_calls import encode_calls
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.schedules.schedule import OnceSchedule
from farebox.kernel.addresses import Address
from support.automation import open_calls
from support.contracts import wasm_of
from support.paid_plans import PaidPlans, paid_plans
from support.plan_service import PlanService
from support.presigned_plans import Leg, calls_of
from support.stage import Stage


@pytest.fixture
async def shop(stage: Stage) -> AsyncIterator[PaidPlans]:
    async with paid_plans(stage) as opened:
        yield opened


async def faulty(shop: PaidPlans, fault: int) -> dict[str, Any]:
    """The terms of a plan whose every run fails."""
    ledger = shop.stage.ledger()
    code = wasm_of("faulty_keeper")
    target = await ledger.deploy(await ledger.account(), code, scval.to_uint32(fault))
    return {"calls": encode_calls(open_calls(Address(target)))}


async def disbursing(shop: PaidPlans, *recipients: str) -> dict[str, Any]:
    """The terms of a plan that pays each of them, signed ahead."""
    calls = calls_of(shop.scene.asset, [Leg(each) for each in recipients])
    return {
        "calls": encode_calls(calls),
        "mode": AuthorityMode.PRESIGNED,
        "account": shop.scene.payers[0].address,
        "legs": len(recipients),
    }


async def told(shop: PaidPlans, code: str = "preflight_failed", **terms: Any) -> str:
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


@pytest.mark.parametrize("fault", [4, 6])
async def test_keeper_that_always_fails_is_not_sold(shop: PaidPlans, fault: int) -> None:
    assert "fails as of now" in await told(shop, **await faulty(shop, fault))
    await shop.offer(await shop.propose())


async def test_disbursement_with_a_leg_that_fails_is_not_sold(shop: PaidPlans) -> None:
    able, unable = shop.scene.payees[1].address, Keypair.random().public_key
    assert f"Leg 1, {unable}" in await told(shop, **await disbursing(shop, able, unable))
    control = await disbursing(shop, able, shop.scene.payers[1].address)
    await shop.offer(await shop.propose(**control))


@pytest.mark.parametrize(("seconds", "is_sold"), [(-1, False), (60, False), (600, True)])
async def test_plan_whose_last_run_is_over_before_it_can_begin_is_not_sold(
    shop: PaidPlans, seconds: int, *, is_sold: bool
) -> None:
    """Paying and signing takes two minutes: a run has to be due after that."""
    now = datetime.now(UTC)
    end = now + timedelta(seconds=seconds)
    window = PlanWindow(now - timedelta(hours=1), end)
    terms: dict[str, Any] = {
        "schedule": OnceSchedule(end - timedelta(seconds=45)),
        "window": window,
    }
    if is_sold:
        await shop.offer(await shop.propose(**terms))
    else:
        told_why = await told(shop, "session_expires_too_soon", **terms)
        assert "No run is due any more" in told_why


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


async def test_plan_that_fails_is_not_waived_where_runs_are_free(plans: PlanService) -> None:
    owner = await plans.wallet((await plans.stage.ledger().account()).public_key)
    broken = await plans.open_plan(owner, await plans.faulty_keeper(4), check=False, runs=0)
    body = await plans.post(owner, broken, "payment")
    assert (body["http"], body["error"]["code"]) == (409, "preflight_failed")
    assert (await plans.state(broken)).state is ProposalState.PROPOSED
    control = await plans.open_plan(owner, await plans.keeper(), check=False, runs=0)
    assert (await plans.post(owner, control, "payment"))["http"] == 200
    assert (await plans.state(control)).state is ProposalState.PAID
