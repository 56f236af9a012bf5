"""Payment for runs through the whole service, with real settlement on the devnet."""

import asyncio
import base64
import json
from typing import Any

from stellar_sdk import Keypair

from farebox.automation.plans.proposal_state import ProposalFacts, ProposalState, ProposalTrigger
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.kernel.clock import SystemClock
from support import node_proxy
from support.asgi import Answer
from support.automation import RUNS, move
from support.callers import send_request, sign_in_wallet
from support.paid_plans import (
    NET,
    ORIGIN,
    PRICE,
    PaidPlans,
    paid_plans,
    path_of,
    signature,
)
from support.payment_headers import receipt, required
from support.stage import HASH, Stage, key_of
from testing.waiting import until

TOTAL = RUNS * PRICE
PENDING, PAID = ProposalState.PAYMENT_PENDING, ProposalState.PAID


def code_of(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json()["error"]["code"]


async def state_of(shop: PaidPlans, plan: StoredPlan) -> tuple[ProposalState, int]:
    found = await shop.read(plan)
    return found.state, found.counters.runs_credited


async def test_offer_names_price_network_route_and_identifier(shop: PaidPlans) -> None:
    plan = await shop.propose()
    offer = await shop.offer(plan)
    assert offer["accepts"] == [
        {
            "scheme": "exact",
            "network": "stellar:testnet",
            "asset": shop.scene.asset,
            "amount": str(TOTAL),
            "payTo": shop.scene.payees[0].address,
            "maxTimeoutSeconds": 120,
            "extra": {"areFeesSponsored": True},
        }
    ]
    assert offer["resource"]["url"] == f"{ORIGIN}{path_of(plan, 'payment')}"
    identifier = offer["extensions"]["payment-identifier"]["info"]
    assert identifier == {"required": True, "id": f"{plan.terms.id}_1"}
    assert await shop.offer(plan) == offer, "the same quote while it holds"


async def test_foreign_account_pays_once_and_gets_the_same_receipt_again(shop: PaidPlans) -> None:
    plan, before = await shop.propose(), await shop.revenue()
    payment = await shop.sign(await shop.offer(plan))
    answer = await shop.send(plan, payment)
    assert answer.status == 200, answer.body
    body = answer.json()
    assert (body["proposal"]["status"], body["proposal"]["runsCredited"]) == ("paid", RUNS)
    shown = body["payment"]
    assert (shown["state"], shown["runs"], shown["amount"]) == ("confirmed", RUNS, str(TOTAL))
    assert HASH.match(shown["transaction"])
    assert receipt(answer) == {
        "success": True,
        "transaction": shown["transaction"],
        "network": NET.value,
        "payer": shop.scene.payers[0].address,
    }
    assert shop.scene.payers[0].address != plan.terms.account
    again = await shop.send(plan, payment)
    assert (again.status, again.json()) == (200, body)
    assert receipt(again) == receipt(answer)
    assert await shop.revenue() == before + TOTAL
    assert code_of(await shop.send(plan)) == (409, "illegal_transition")


async def test_another_payment_of_a_paid_quote_is_refused_unsent(shop: PaidPlans) -> None:
    plan = await shop.propose()
    offer = await shop.offer(plan)
    assert (await shop.send(plan, await shop.sign(offer))).status == 200
    before = await shop.revenue()
    assert code_of(await shop.send(plan, await shop.sign(offer))) == (409, "payment_used")
    assert await shop.revenue() == before


async def test_two_payments_of_one_quote_at_once_credit_it_once(shop: PaidPlans) -> None:
    plan, before = await shop.propose(), await shop.revenue()
    offer = await shop.offer(plan)
    payments = [
        await shop.sign(offer, payer=each.address, signers=(key_of(each),))
        for each in shop.scene.payers[:2]
    ]
    answers = await asyncio.gather(*(shop.send(plan, each) for each in (*payments, *payments)))
    statuses = sorted(answer.status for answer in answers)
    assert statuses == [200, 200, 409, 409], [answer.body for answer in answers]
    refused = {code_of(each)[1] for each in answers if each.status == 409}
    assert refused <= {"payment_in_flight", "payment_used"}
    assert await state_of(shop, plan) == (PAID, RUNS)
    assert await shop.revenue() == before + TOTAL


async def settle(
    shop: PaidPlans, payment: str, offer: dict[str, Any], headers: dict[str, str]
) -> Any:
    """Send a payment for runs to the public route, as a seller does."""
    payload = json.loads(base64.b64decode(payment))
    body = {"paymentPayload": payload, "paymentRequirements": offer["accepts"][0]}
    answer = await send_request(shop.client, "POST", "/settle", headers, body)
    assert answer.status == 200, answer.body
    return answer.json()


async def test_payment_that_the_owner_settled_is_credited_once(shop: PaidPlans) -> None:
    plan, before = await shop.propose(), await shop.revenue()
    offer = await shop.offer(plan)
    payment = await shop.sign(offer)
    landed = await settle(shop, payment, offer, shop.owner.headers)
    assert landed["success"], landed
    answers = [await shop.send(plan, payment) for _ in range(2)]
    assert [each.status for each in answers] == [200, 200], answers[0].body
    assert {each.json()["payment"]["transaction"] for each in answers} == {landed["transaction"]}
    assert await state_of(shop, plan) == (PAID, RUNS)
    assert await shop.revenue() == before + TOTAL
    other = await shop.propose()
    name = (await shop.offer(other))["extensions"]
    replayed = json.loads(base64.b64decode(payment)) | {"extensions": name}
    again = await shop.send(other, base64.b64encode(json.dumps(replayed).encode()).decode())
    assert code_of(again) == (409, "payment_used")
    assert await state_of(shop, other) == (ProposalState.PROPOSED, 0)


async def test_payment_that_the_owner_settled_is_credited_after_its_authorization_has_expired(
    shop: PaidPlans,
) -> None:
    plan, ledger = await shop.propose(), shop.stage.ledger()
    offer = await shop.offer(plan)
    last = await ledger.latest() + 40  # a busy machine settles within these as well
    payment = await shop.sign(offer, expires_at_ledger=last)
    landed = await settle(shop, payment, offer, shop.owner.headers)
    assert landed["success"], landed
    await ledger.wait_past(last)
    await shop.stage.until_seen(last + 1)
    await shop.pass_time()
    answer = await shop.send(plan, payment)
    assert answer.status == 200, answer.body
    assert answer.json()["payment"]["transaction"] == landed["transaction"]
    assert await state_of(shop, plan) == (PAID, RUNS)


async def test_payment_that_somebody_else_settled_is_not_credited(shop: PaidPlans) -> None:
    """A seller that is paid into the same account has relied on that success."""
    seller, plan = await sign_in_wallet(shop.database), await shop.propose()
    offer = await shop.offer(plan)
    payment = await shop.sign(offer)
    assert (await settle(shop, payment, offer, seller.headers))["success"]
    answer = await shop.send(plan, payment)
    assert (answer.status, receipt(answer)["errorReason"]) == (402, "duplicate_settlement")
    assert await state_of(shop, plan) == (ProposalState.PROPOSED, 0)


async def test_payment_of_an_expired_quote_is_refused_unsent(shop: PaidPlans) -> None:
    plan, before = await shop.propose(), await shop.revenue()
    payment = await shop.sign(await shop.offer(plan))
    await shop.pass_time()
    assert code_of(await shop.send(plan, payment)) == (409, "quote_expired")
    assert await state_of(shop, plan) == (ProposalState.PROPOSED, 0)
    assert await shop.revenue() == before
    renewed = await shop.offer(plan)
    info = renewed["extensions"]["payment-identifier"]["info"]
    assert info["id"] == f"{plan.terms.id}_2"
    assert (await shop.send(plan, await shop.sign(renewed))).status == 200


async def test_payment_for_other_terms_is_answered_with_the_offer(shop: PaidPlans) -> None:
    plan, before = await shop.propose(), await shop.revenue()
    offer = await shop.offer(plan)
    honest = await shop.draft(offer)
    (terms,) = offer["accepts"]
    less = offer | {"accepts": [terms | {"amount": str(TOTAL - 1)}]}
    other = offer | {"accepts": [terms | {"payTo": shop.scene.payees[1].address}]}
    presented = {
        signature(less, honest.but(amount=TOTAL - 1)): "No matching payment requirements",
        signature(other, honest): "No matching payment requirements",
        signature(offer, honest.but(amount=TOTAL - 1)): (
            "invalid_exact_stellar_payload_wrong_amount"
        ),
        signature(offer, honest, extensions={}): "payment_identifier_required",
        signature(offer, honest, extensions=await _of_other_plan(shop)): (
            "No matching payment requirements"
        ),
    }
    for payment, error in presented.items():
        answer = await shop.send(plan, payment)
        assert (answer.status, required(answer)["error"]) == (402, error)
        assert required(answer)["accepts"] == offer["accepts"]
    for payment in ("nothing", base64.b64encode(b"[]").decode()):
        assert code_of(await shop.send(plan, payment)) == (400, "invalid_payment_header")
    assert await state_of(shop, plan) == (ProposalState.PROPOSED, 0)
    assert await shop.revenue() == before


async def _of_other_plan(shop: PaidPlans) -> dict[str, Any]:
    extensions: dict[str, Any] = (await shop.offer(await shop.propose()))["extensions"]
    return extensions


async def test_plans_of_others_are_not_found(shop: PaidPlans) -> None:
    plan = await shop.propose()
    payment = await shop.sign(await shop.offer(plan))
    other = await sign_in_wallet(shop.database)
    for signed in (None, payment):
        assert code_of(await shop.send(plan, signed, wallet=other)) == (404, "not_found")
        answer = await shop.send(plan, signed, wallet=other, route="topup", body={"runs": 1})
        assert code_of(answer) == (404, "not_found")


async def test_fewer_runs_are_paid_first_and_the_rest_is_topped_up(shop: PaidPlans) -> None:
    plan = await shop.propose()
    assert code_of(await shop.send(plan, body={"runs": RUNS + 1})) == (422, "limit_exceeded")
    top_up: dict[str, Any] = {"route": "topup", "body": {"runs": 2}}
    assert code_of(await shop.send(plan, **top_up)) == (409, "illegal_transition")
    assert (await shop.buy(plan, body={"runs": 4})).status == 200
    offer = await shop.offer(plan, **top_up)
    assert offer["accepts"][0]["amount"] == str(2 * PRICE)
    assert offer["resource"]["url"].endswith("/topup")
    payment = await shop.sign(offer)
    elsewhere = await shop.send(plan, payment)
    assert code_of(elsewhere) == (409, "illegal_transition"), "a top-up is no first payment"
    answer = await shop.send(plan, payment, **top_up)
    assert answer.status == 200, answer.body
    assert answer.json()["payment"]["isTopUp"] is True
    assert await state_of(shop, plan) == (PAID, 6)
    over = await shop.send(plan, route="topup", body={"runs": RUNS - 5})
    assert code_of(over) == (422, "limit_exceeded")
    assert over.json()["error"]["details"] == {"field": "runs"}


async def test_unused_runs_are_credit_of_the_next_plan(shop: PaidPlans) -> None:
    plan = await shop.propose()
    assert (await shop.buy(plan, body={"runs": 4})).status == 200
    assert await shop.credits() == []
    await move(
        shop.database, plan, ProposalTrigger.CANCEL, ProposalFacts(), now=SystemClock().now()
    )
    assert await shop.credits() == [
        {"network": NET.value, "asset": shop.scene.asset, "amount": str(4 * PRICE)}
    ]
    before = await shop.revenue()
    covered = await shop.propose()
    answer = await shop.send(covered, body={"runs": 3})
    assert answer.status == 200, answer.body
    assert answer.json()["payment"]["amount"] == "0"
    assert "payment-response" not in answer.headers
    assert await state_of(shop, covered) == (PAID, 3)
    assert await shop.revenue() == before
    partly = await shop.propose()
    assert (await shop.offer(partly))["accepts"][0]["amount"] == str((RUNS - 1) * PRICE)
    assert (await shop.buy(partly)).status == 200
    assert await state_of(shop, partly) == (PAID, RUNS)
    assert await shop.credits() == []


async def test_unknown_outcome_is_pending_until_the_loop_proves_it(stage: Stage) -> None:
    async with paid_plans(stage, FAREBOX_SETTLE_DEADLINE_S="4") as shop:
        plan, before = await shop.propose(), await shop.revenue()
        offer = await shop.offer(plan)
        payment = await shop.sign(offer)
        node_proxy.hide_transactions(stage.node())
        answer = await shop.send(plan, payment)
        assert answer.status == 202, answer.body
        assert answer.json()["proposal"]["status"] == "payment_pending"
        shown = answer.json()["payment"]
        assert shown["state"] == "pending"
        assert receipt(answer)["errorReason"] == "settlement_pending"
        assert receipt(answer)["transaction"] == shown["transaction"]
        assert HASH.match(shown["transaction"])
        for signed in (None, await shop.sign(offer)):
            assert code_of(await shop.send(plan, signed)) == (409, "payment_in_flight")
        stage.node().reset()
        await shop.pass_time(holds_only=True)

        async def is_paid() -> bool:
            return await state_of(shop, plan) == (PAID, RUNS)

        await until(is_paid)
        again = await shop.send(plan, payment)
        assert (again.status, receipt(again)["transaction"]) == (200, shown["transaction"])
        assert await shop.revenue() == before + TOTAL


async def test_payment_that_failed_on_the_ledger_has_a_receipt_and_a_new_quote(
    shop: PaidPlans,
) -> None:
    """The node approves what the ledger refuses: the payer has spent the money meanwhile."""
    plan, before = await shop.propose(), await shop.revenue()
    offer = await shop.offer(plan)
    key = key_of(await shop.stage.another_payer())
    draft = await shop.draft(offer, payer=key.public_key, signers=(key,))
    shop.stage.node().on("simulateTransaction", node_proxy.Approving())
    verdict = await shop.stage.verify(draft.request())
    assert verdict["isValid"] is True, verdict
    await _empty(shop, key)
    answer = await shop.send(plan, signature(offer, draft))
    assert answer.status == 402, answer.body
    failed = receipt(answer)
    assert (failed["success"], failed["errorReason"]) == (
        False,
        "settle_exact_stellar_transaction_failed",
    )
    assert HASH.match(failed["transaction"])
    assert await state_of(shop, plan) == (ProposalState.PROPOSED, 0)
    assert await shop.revenue() == before
    assert receipt(await shop.send(plan, signature(offer, draft))) == failed
    assert code_of(await shop.send(plan, await shop.sign(offer))) == (409, "quote_expired")


async def _empty(shop: PaidPlans, key: Keypair) -> None:
    ledger, asset = shop.stage.ledger(), shop.scene.asset
    held = await ledger.balance(asset, key.public_key)
    await ledger.give(key, asset, shop.scene.payees[1].address, held)


async def test_payer_without_funds_is_offered_the_same_quote(shop: PaidPlans) -> None:
    plan = await shop.propose()
    offer = await shop.offer(plan)
    key = key_of(await shop.stage.another_payer())
    await _empty(shop, key)
    answer = await shop.send(plan, await shop.sign(offer, payer=key.public_key, signers=(key,)))
    assert answer.status == 402
    assert required(answer) == offer | {"error": "insufficient_funds"}
    assert await state_of(shop, plan) == (ProposalState.PROPOSED, 0)
    assert (await shop.send(plan, await shop.sign(offer))).status == 200


async def test_network_without_a_paymaster_sells_no_runs(shop: PaidPlans) -> None:
    plan = await shop.propose()

    async def is_refused() -> bool:
        answer = await shop.send(plan)
        return answer.status == 503 and code_of(answer)[1] == "automation_unavailable"

    async with shop.without_channels():
        await until(is_refused)
    await shop.offer(plan)


async def test_body_that_is_not_of_the_shape_is_refused(shop: PaidPlans) -> None:
    plan = await shop.propose()
    for route, body in (("payment", {"runs": 0}), ("payment", {"x": 1}), ("topup", {})):
        answer = await shop.send(plan, route=route, body=body)
        assert code_of(answer) == (400, "invalid_request"), json.dumps(body)


async def test_renewed_price_is_of_a_fee_that_is_simulated_anew(stage: Stage) -> None:
    async with paid_plans(stage, FAREBOX_RUN_UNITS_PER_XLM_TESTNET="100000000") as shop:
        plan = await shop.propose()
        first = await shop.offer(plan)
        (row,) = await shop.payments(plan)
        assert row["fee_stroops"] < plan.terms.max_fee
        assert int(first["accepts"][0]["amount"]) > TOTAL, "above the floor"
        await shop.stage.query("UPDATE automation_payments SET fee_stroops = 1")
        await shop.pass_time()
        renewed = (await shop.offer(plan))["accepts"][0]["amount"]
        (_, row) = await shop.payments(plan)
        assert row["fee_stroops"] > 1
        assert int(renewed) > TOTAL
        stage.node().on_every_method(node_proxy.http(503))
        held = await shop.offer(plan)
        assert held["accepts"][0]["amount"] == renewed, "a quote that holds needs no network"
        await shop.pass_time()
        answer = await shop.send(plan)
        stage.node().reset()
        assert code_of(answer) == (503, "network_unavailable")
        assert int(answer.headers["retry-after"]) >= 1
        assert len(await shop.payments(plan)) == 2
