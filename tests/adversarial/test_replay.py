"""Cases 1.10: the same payment again, in other clothes, at once, or by somebody else."""

import asyncio
import base64
from typing import Any, Final

import pytest
from stellar_sdk import Keypair

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node
from support.envelopes import text_memo
from support.promises import case, promise
from support.stage import Stage, key_of, service

MANY: Final = 1_000


@case("PV-141")
@promise("error:never-a-double-charge")
async def test_the_same_body_succeeds_once_and_is_a_duplicate_after(stage: Stage) -> None:
    draft = await stage.draft()
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    tx_hash = await stage.settled(draft.request())
    for _ in range(2):
        again = await stage.settle(draft.request())
        assert (again["success"], again["errorReason"], again["transaction"]) == (
            False,
            Reason.DUPLICATE_SETTLEMENT,
            tx_hash,
        )
    assert stage.node().counts()["sendTransaction"] == 1
    assert await stage.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


@case("PV-141")
@promise("error:never-a-double-charge")
async def test_the_same_body_twenty_times_at_once_succeeds_once(stage: Stage) -> None:
    draft = await stage.draft()
    body = draft.request()
    outcomes = await asyncio.gather(*(stage.client.post("/settle", body) for _ in range(20)))
    told = [answer.json() for answer in outcomes]
    assert sum(outcome["success"] for outcome in told) == 1
    hashes = {outcome["transaction"] for outcome in told}
    assert len(hashes) == 1
    reasons = {outcome.get("errorReason") for outcome in told if not outcome["success"]}
    assert reasons <= {Reason.DUPLICATE_SETTLEMENT, Reason.SETTLEMENT_PENDING}
    assert stage.node().counts()["sendTransaction"] == 1


@case("PV-141")
@promise("error:never-a-double-charge")
async def test_the_same_body_at_once_on_two_replicas_succeeds_once(stage: Stage) -> None:
    drafts = [await stage.draft() for _ in range(3)]
    before = await stage.ledger().balance(drafts[0].asset, drafts[0].pay_to)
    async with service(stage.environment) as replica:
        clients = [stage.client, replica] * 4
        answers = await asyncio.gather(
            *(client.post("/settle", draft.request()) for draft in drafts for client in clients)
        )
    told = [answer.json() for answer in answers]
    for index, draft in enumerate(drafts):
        own = told[index * len(clients) : (index + 1) * len(clients)]
        assert sum(outcome["success"] for outcome in own) == 1, own
        assert {outcome["payer"] for outcome in own} == {draft.payer}
    after = await stage.ledger().balance(drafts[0].asset, drafts[0].pay_to)
    assert after == before + 3 * drafts[0].amount


def _other_timeout(body: Any) -> None:
    body["paymentRequirements"]["maxTimeoutSeconds"] = 901


def _other_extra(body: Any) -> None:
    body["paymentRequirements"]["extra"]["name"] = "USDC"
    body["paymentPayload"]["resource"] = {"url": "https://elsewhere.test/"}


def _other_version(body: Any) -> None:
    del body["x402Version"]


@case("PV-144")
@pytest.mark.parametrize("reword", [_other_timeout, _other_extra, _other_version])
async def test_other_wording_around_the_same_entry_is_no_second_success(
    stage: Stage, reword: Any
) -> None:
    draft = await stage.draft()
    tx_hash = await stage.settled(draft.request())
    body = draft.request()
    reword(body)
    again = await stage.settle(body)
    assert (again["success"], again["transaction"]) == (False, tx_hash)
    assert again["errorReason"] == Reason.DUPLICATE_SETTLEMENT
    assert stage.node().counts()["sendTransaction"] == 1


@case("PV-144")
async def test_another_envelope_around_the_same_entry_is_no_second_success(stage: Stage) -> None:
    draft = await stage.draft()
    tx_hash = await stage.settled(draft.request())
    other = draft.around([draft.operation()], fee=7, memo=text_memo(b"again"))
    assert base64.b64encode(other) != base64.b64encode(draft.envelope().to_xdr_bytes())
    again = await stage.settle(draft.request(other))
    assert (again["success"], again["transaction"]) == (False, tx_hash)


@case("PV-145")
async def test_the_same_nonce_is_another_payment_for_another_payer_or_network(
    stage: Stage,
) -> None:
    one = await stage.draft()
    other_payer = stage.networks[Network.TESTNET].scene.payers[2]
    key = key_of(other_payer)
    two = one.but(payer=key.public_key, signers=(key,), nonce=one.nonce)
    three = (await stage.draft(Network.PUBNET)).but(nonce=one.nonce)
    hashes = [await stage.settled(draft.request()) for draft in (one, two, three)]
    assert len(set(hashes)) == 3


@case("PV-147")
@promise("verify:moves-nothing")
async def test_a_thousand_verifies_reserve_nothing(stage: Stage) -> None:
    draft = await stage.draft()
    body = draft.request()
    for _ in range(MANY // 50):
        verdicts = await asyncio.gather(*(stage.verify(body) for _ in range(50)))
        assert all(verdict["isValid"] for verdict in verdicts)
    assert await stage.rows() == 0
    await stage.settled((await stage.draft()).request())


@case("PV-148")
async def test_an_entry_somebody_else_lands_first_is_no_success_of_ours(stage: Stage) -> None:
    draft = await stage.draft()
    thief = await stage.ledger().account()

    async def overtake(call: node.Call, forward: node.Forward) -> node.Json:
        del call
        await _land(stage, thief, draft)
        return await forward()

    stage.node().on("sendTransaction", overtake)
    outcome = await stage.settle(draft.request())
    assert outcome["success"] is False
    assert outcome["errorReason"]
    assert (await stage.settle(draft.request()))["success"] is False
    (row,) = await stage.query("SELECT state, answered_at FROM settlements")
    assert (row["state"], row["answered_at"]) == ("failed", None)


async def _land(stage: Stage, key: Keypair, draft: Any) -> None:
    await stage.ledger().submit(
        key,
        lambda builder: builder.append_invoke_contract_function_op(
            draft.asset, "transfer", draft.call().args, auth=[draft.entry()]
        ),
    )


@case("PV-149")
async def test_a_duplicate_is_known_after_the_authorization_has_expired(stage: Stage) -> None:
    latest = await stage.ledger().latest()
    draft = await stage.draft(expires_at_ledger=latest + 30)
    tx_hash = await stage.settled(draft.request())
    await stage.ledger().wait_past(draft.expires_at_ledger)
    again = await stage.settle(draft.request())
    assert (again["errorReason"], again["transaction"]) == (Reason.DUPLICATE_SETTLEMENT, tx_hash)
