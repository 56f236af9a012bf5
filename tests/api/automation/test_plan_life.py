"""The whole life of plans over HTTP: activated, run, paused, resumed, cancelled, read back."""

import asyncio
import base64

import msgspec

from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs.receipt import receipt_digest
from farebox.automation.runs.receipts import SignedReceipt
from farebox.kernel.networks import Network
from farebox.local.devnet import Party
from farebox.stellar.auth_entries import signature_verifies
from support.callers import Wallet
from support.plan_service import PlanService, sign_entry
from support.presigned_plans import AMOUNT, Leg
from support.proposing_stage import payroll
from support.stage import key_of
from testing.plan_specs import in_time


async def test_open_plan_lives_over_http(plans: PlanService) -> None:
    keeper, wallet = await plans.keeper(), await plans.wallet()
    plan = await plans.open_plan(wallet, keeper)
    empty = await plans.call(wallet, "GET", f"{plan.terms.id}/receipts")
    assert (empty.status, empty.body) == (200, b"")
    activated = await plans.post(wallet, plan, "activate")
    assert activated["http"] == 200, activated
    assert activated["proposal"]["status"] in ("active", "executing")
    await plans.until_consumed(plan, 1)
    paused = await plans.post(wallet, plan, "pause", {"reason": "a holiday"})
    assert (paused["http"], paused["proposal"]["status"]) == (200, "paused"), paused
    assert paused["proposal"]["statusReason"] == "owner"
    resumed = await plans.post(wallet, plan, "resume")
    assert (resumed["http"], resumed["proposal"]["status"]) == (200, "active"), resumed
    await plans.make_due(plan)
    await plans.until_consumed(plan, 2)
    cancelled = await plans.post(wallet, plan, "cancel")
    assert (cancelled["http"], cancelled["proposal"]["status"]) == (200, "cancelled"), cancelled
    assert await plans.count(keeper) == 2
    await _check_history(plans, wallet, plan)
    await _check_receipts(plans, wallet, plan)


async def _check_history(plans: PlanService, wallet: Wallet, plan: StoredPlan) -> None:
    runs = await plans.get(wallet, plan, "runs")
    done = [each for each in runs["items"] if each["state"] == "succeeded"]
    assert [each["runIndex"] for each in done] == [1, 0]
    detail = await plans.get(wallet, plan, "runs/0")
    (leg,) = detail["legs"]
    *_, attempt = leg["attemptList"]
    assert (attempt["outcome"], attempt["transaction"]) == ("success", leg["transaction"])
    events = await plans.get(wallet, plan, "events?limit=100")
    kinds = [each["kind"] for each in events["items"]]
    assert kinds[:2] == ["plan.waive_payment", "plan.activate"]
    assert {"plan.pause", "plan.note", "plan.resume", "plan.cancel", "run.succeeded"} <= {*kinds}


async def _check_receipts(plans: PlanService, wallet: Wallet, plan: StoredPlan) -> None:
    """They are signed lines of the plan's runs."""
    answer = await plans.call(wallet, "GET", f"{plan.terms.id}/receipts")
    assert answer.headers["content-type"] == "application/x-ndjson"
    texts = answer.body.decode().splitlines()
    assert len(texts) == 2
    for text in texts:
        line = msgspec.json.decode(text, type=SignedReceipt)
        digest, signature = receipt_digest(bytes(line.receipt)), bytes.fromhex(line.signature)
        assert signature_verifies(plan.terms.delegate, signature, digest)
        assert not signature_verifies(plan.terms.delegate, signature, receipt_digest(b"{}"))


async def test_presigned_plan_lives_over_http(plans: PlanService) -> None:
    scene = await plans.stage.networks[Network.TESTNET].devnet.scene(payers=1, payees=1)
    payer: Party = scene.payers[0]
    wallet = await plans.wallet(payer.address)
    legs = [Leg(scene.payees[0].address)]
    plan = await plans.presigned_plan(wallet, scene, payer, legs)
    entries = await plans.sign_all(wallet, plan, key_of(payer))
    body = {"presignedEntriesXdr": entries[::-1]}
    activated = await plans.post(wallet, plan, "activate", body)
    assert activated["http"] == 200, activated
    await plans.until_consumed(plan, 1)
    assert (await plans.post(wallet, plan, "pause"))["http"] == 200
    resumed = await plans.post(wallet, plan, "resume")
    assert resumed["http"] == 200, resumed
    for count in (2, 3):
        await plans.make_due(plan)
        await plans.until_consumed(plan, count)
    received = await plans.stage.ledger().balance(scene.asset, scene.payees[0].address)
    assert received == 3 * AMOUNT
    shown = await plans.get(wallet, plan, "runs")
    assert [each["state"] for each in shown["items"]] == ["succeeded"] * 3
    answer = await plans.call(wallet, "GET", f"{plan.terms.id}/receipts")
    lines = answer.body.decode().splitlines()
    assert [msgspec.json.decode(line)["receipt"]["runIndex"] for line in lines] == [0, 1, 2]


async def test_proposed_plan_is_activated_with_the_entries_of_its_own_response(
    plans: PlanService,
) -> None:
    scene = await plans.stage.networks[Network.TESTNET].devnet.scene(payers=1, payees=1)
    payer, payee = scene.payers[0], scene.payees[0]
    wallet = await plans.wallet(payer.address)
    schedule = {"type": "interval", "everySeconds": 60, "startAt": in_time(seconds=2)}
    terms = {"schedule": schedule, "runLimit": 2, "expiresAt": in_time(minutes=20)}
    body = payroll(scene.asset, (payee.address, AMOUNT), **terms, missedRuns="catch_up_all")
    proposed = await plans.call(wallet, "POST", "", body)
    assert proposed.status == 201, proposed.body
    detail = proposed.json()
    plan = await plans.pay_for(detail["proposal"]["id"], runs=2)
    entries = [
        sign_entry(base64.b64decode(each["entryXdr"]), key_of(payer))
        for each in detail["session"]["install"]["entries"]
    ]
    await asyncio.sleep(1)
    activated = await plans.post(wallet, plan, "activate", {"presignedEntriesXdr": entries})
    assert activated["http"] == 200, activated
    assert activated["session"]["state"] == "installed"
    await plans.until_consumed(plan, 1)
    await plans.make_due(plan)
    await plans.until_consumed(plan, 2)
    assert await plans.stage.ledger().balance(scene.asset, payee.address) == 2 * AMOUNT
    assert (await plans.state(plan)).state is ProposalState.COMPLETED
