"""The `payment-identifier` extension: the buyer's id of a payment, which replays nothing."""

import asyncio
from typing import Any, Final

import pytest

from farebox.x402.reasons import Reason
from support import node_proxy
from support.payments import Draft, Json
from support.promises import case
from support.stage import Stage, key_of, service
from testing.waiting import until

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
async def test_repeated_id_and_body_gives_no_second_success(stage: Stage) -> None:
    draft = await stage.draft()
    tx_hash = await stage.assert_settles(named(draft))
    again = await stage.settle(named(draft))
    assert (again["success"], again["errorReason"], again["transaction"]) == (
        False,
        Reason.DUPLICATE_SETTLEMENT,
        tx_hash,
    )
    assert stage.node().counts()[SEND] == 1


@case("PV-150")
async def test_pending_payment_succeeds_when_repeated_with_its_id(hasty: Stage) -> None:
    draft = await hasty.draft()
    node_proxy.hide_transactions(hasty.node())
    pending = await hasty.settle(named(draft))
    assert pending["errorReason"] == Reason.SETTLEMENT_PENDING
    hasty.node().reset()

    async def success() -> Json | None:
        outcome = await hasty.settle(named(draft))
        return outcome if outcome["success"] else None

    outcome = await until(success)
    assert outcome["transaction"] == pending["transaction"]


@case("PV-150")
async def test_id_of_another_payment_is_a_conflict(stage: Stage) -> None:
    first = await stage.draft()
    await stage.assert_settles(named(first))
    before = await stage.ledger().balance(first.asset, first.pay_to)
    answer = await stage.client.post("/settle", named(first.but()))
    assert (answer.status, answer.json()["errorReason"]) == (409, Reason.PAYMENT_IDENTIFIER_REUSED)
    assert (answer.json()["success"], answer.json()["transaction"]) == (False, "")
    assert (answer.json()["network"], answer.json()["payer"]) == (first.network, first.payer)
    assert await stage.rows() == 1, "the second payment is free again"
    assert await stage.ledger().balance(first.asset, first.pay_to) == before


@case("PV-150")
async def test_concurrent_payments_with_one_id_settle_once_on_two_replicas(stage: Stage) -> None:
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


async def test_ids_are_scoped_to_payer(stage: Stage) -> None:
    draft = await stage.draft()
    stranger = await stage.another_payer()
    key = key_of(stranger)
    await stage.assert_settles(named(draft.but(payer=key.public_key, signers=(key,))))
    await stage.assert_settles(named(draft))


async def test_refused_payment_leaves_id_free(stage: Stage) -> None:
    draft = await stage.draft()
    refused = await stage.settle(named(draft.but(amount=10**15)))
    assert refused["errorReason"] == Reason.INSUFFICIENT_FUNDS
    await stage.assert_settles(named(draft))


async def test_id_is_free_again_when_nothing_was_sent(
    hasty: Stage,
) -> None:
    draft = await hasty.draft()
    hasty.node().on(SEND, node_proxy.refused("not parsed", code=-32602))
    refused = await hasty.settle(named(draft))
    assert (refused["success"], refused["transaction"]) == (False, "")
    hasty.node().reset()
    await hasty.assert_settles(named(draft.but()))


@case("PV-150")
@pytest.mark.parametrize(
    "extension", [{"info": {"required": False, "id": "x" * 129}}, {"info": {"id": ID}}]
)
async def test_malformed_id_or_extension_is_a_400_on_both_routes(
    stage: Stage, extension: Json
) -> None:
    """tests/unit/x402/test_payment_identifier.py has every form of them."""
    body = (await stage.draft()).request()
    body["paymentPayload"]["extensions"] = {"payment-identifier": extension}
    await _refused(stage, body, Reason.INVALID_PAYMENT_IDENTIFIER)


@case("PV-150")
async def test_missing_required_id_is_a_400(stage: Stage) -> None:
    draft = await stage.draft()
    await _refused(stage, named(draft, None, required=True), Reason.PAYMENT_IDENTIFIER_REQUIRED)


async def test_required_id_settles(stage: Stage) -> None:
    await stage.assert_settles(named(await stage.draft(), "x" * 128, required=True))


@pytest.mark.parametrize("extensions", ["x", {"payment-identifier": None}])
async def test_payment_without_id_settles(stage: Stage, extensions: Any) -> None:
    body = (await stage.draft()).request()
    body["paymentPayload"]["extensions"] = extensions
    await stage.assert_settles(body)
    assert await stage.query("SELECT FROM request_names") == []


async def test_echoed_declaration_without_id_settles_when_id_is_optional(stage: Stage) -> None:
    await stage.assert_settles(named(await stage.draft(), None))


async def _refused(stage: Stage, body: Json, reason: Reason) -> None:
    verdict = await stage.client.post("/verify", body)
    outcome = await stage.client.post("/settle", body)
    assert (verdict.status, outcome.status) == (400, 400)
    assert (verdict.json()["isValid"], verdict.json()["invalidReason"]) == (False, reason)
    assert (outcome.json()["success"], outcome.json()["errorReason"]) == (False, reason)
    assert await stage.rows() == 0
