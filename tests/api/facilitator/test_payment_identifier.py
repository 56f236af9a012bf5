"""The `payment-identifier` extension: the buyer's name for a payment, which replays nothing."""

import asyncio
from typing import Any, Final

import pytest

from farebox.x402.reasons import Reason
from support import node
from support.payments import Draft, Json
from support.promises import case
from support.stage import Stage, key_of, service

ID: Final = "pay_7d5d747be160e280504c099d984bcfe0"
SEND: Final = "sendTransaction"


def named(draft: Draft, name: Any = ID, *, required: Any = False, **terms: Any) -> Json:
    """What a stock client sends: the seller's declaration, with the buyer's id in its info."""
    body = draft.request(**terms)
    info = {"required": required, "id": name}
    schema = {"type": "object", "required": ["required"]}
    body["paymentPayload"]["extensions"] = {"payment-identifier": {"info": info, "schema": schema}}
    return body


@case("PV-150")
async def test_the_same_id_and_body_is_a_repeat_and_never_a_second_success(stage: Stage) -> None:
    draft = await stage.draft()
    tx_hash = await stage.settled(named(draft))
    again = await stage.settle(named(draft))
    assert (again["success"], again["errorReason"], again["transaction"]) == (
        False,
        Reason.DUPLICATE_SETTLEMENT,
        tx_hash,
    )
    assert stage.node().counts()[SEND] == 1


@case("PV-150")
async def test_a_pending_payment_goes_on_to_its_success_under_its_id(hasty: Stage) -> None:
    draft = await hasty.draft()
    node.lose_sight(hasty.node())
    pending = await hasty.settle(named(draft))
    assert pending["errorReason"] == Reason.SETTLEMENT_PENDING
    hasty.node().reset()
    outcome = await hasty.settle(named(draft))
    for _ in range(200):
        if outcome["success"]:
            break
        await asyncio.sleep(0.05)
        outcome = await hasty.settle(named(draft))
    assert (outcome["success"], outcome["transaction"]) == (True, pending["transaction"])


@case("PV-150")
async def test_the_same_id_for_another_payment_is_a_conflict(stage: Stage) -> None:
    first = await stage.draft()
    await stage.settled(named(first))
    before = await stage.ledger().balance(first.asset, first.pay_to)
    answer = await stage.client.post("/settle", named(first.but()))
    assert (answer.status, answer.json()["errorReason"]) == (409, Reason.PAYMENT_IDENTIFIER_REUSED)
    assert (answer.json()["success"], answer.json()["transaction"]) == (False, "")
    assert (answer.json()["network"], answer.json()["payer"]) == (first.network, first.payer)
    assert await stage.rows() == 1, "the second payment is free again"
    assert await stage.ledger().balance(first.asset, first.pay_to) == before


@case("PV-150")
async def test_one_id_for_many_payments_at_once_on_two_replicas_settles_one(stage: Stage) -> None:
    drafts = [await stage.draft() for _ in range(6)]
    async with service(stage.environment) as client:
        clients = [stage.client, client] * 3
        answers = await asyncio.gather(
            *(
                each.post("/settle", named(draft))
                for each, draft in zip(clients, drafts, strict=True)
            )
        )
    assert sorted(answer.status for answer in answers) == [200, 409, 409, 409, 409, 409]
    assert sum(answer.json()["success"] for answer in answers) == 1
    assert stage.node().counts()[SEND] == 1
    assert await stage.rows() == 1


async def test_another_payer_has_its_ids_to_itself(stage: Stage) -> None:
    draft = await stage.draft()
    stranger = await stage.another_payer()
    key = key_of(stranger)
    await stage.settled(named(draft.but(payer=key.public_key, signers=(key,))))
    await stage.settled(named(draft))


async def test_a_refused_payment_uses_up_no_id(stage: Stage) -> None:
    draft = await stage.draft()
    refused = await stage.settle(named(draft.but(amount=10**15)))
    assert refused["errorReason"] == Reason.SIMULATION_FAILED
    await stage.settled(named(draft))


async def test_an_id_of_which_nothing_was_sent_may_be_used_for_the_next_payment(
    hasty: Stage,
) -> None:
    draft = await hasty.draft()
    hasty.node().on(SEND, node.busy)
    refused = await hasty.settle(named(draft))
    assert (refused["success"], refused["transaction"]) == (False, "")
    hasty.node().reset()
    await hasty.settled(named(draft.but()))


@case("PV-150")
@pytest.mark.parametrize(
    "name", ["short", "x" * 15, "x" * 129, "sixteen letters!", ID + "\n", 7, True, [ID], {"id": ID}]
)
async def test_a_malformed_id_is_a_bad_request_on_both_routes(stage: Stage, name: Any) -> None:
    draft = await stage.draft()
    await _refused(stage, named(draft, name), Reason.INVALID_PAYMENT_IDENTIFIER)


@case("PV-150")
@pytest.mark.parametrize(
    "extension", ["id", [], {}, {"info": "x"}, {"info": {"id": ID}}, {"info": {"required": 1}}]
)
async def test_an_extension_of_another_form_is_a_bad_request(stage: Stage, extension: Any) -> None:
    body = (await stage.draft()).request()
    body["paymentPayload"]["extensions"] = {"payment-identifier": extension}
    await _refused(stage, body, Reason.INVALID_PAYMENT_IDENTIFIER)


@case("PV-150")
async def test_a_required_id_that_is_missing_is_a_bad_request(stage: Stage) -> None:
    draft = await stage.draft()
    await _refused(stage, named(draft, None, required=True), Reason.PAYMENT_IDENTIFIER_REQUIRED)


@pytest.mark.parametrize("name", ["x" * 16, "x" * 128, "Az09_-Az09_-Az09", ID])
async def test_every_id_of_the_allowed_form_is_taken(stage: Stage, name: str) -> None:
    await stage.settled(named(await stage.draft(), name, required=True))


@pytest.mark.parametrize("extensions", [None, "x", [], {}, {"payment-identifier": None}])
async def test_without_an_id_nothing_changes(stage: Stage, extensions: Any) -> None:
    body = (await stage.draft()).request()
    body["paymentPayload"]["extensions"] = extensions
    await stage.settled(body)
    assert await stage.query("SELECT FROM request_names") == []


async def test_a_declaration_echoed_without_an_id_nothing_requires_is_no_id(stage: Stage) -> None:
    await stage.settled(named(await stage.draft(), None))


async def _refused(stage: Stage, body: Json, reason: Reason) -> None:
    verdict = await stage.client.post("/verify", body)
    outcome = await stage.client.post("/settle", body)
    assert (verdict.status, outcome.status) == (400, 400)
    assert (verdict.json()["isValid"], verdict.json()["invalidReason"]) == (False, reason)
    assert (outcome.json()["success"], outcome.json()["errorReason"]) == (False, reason)
    assert await stage.rows() == 0
