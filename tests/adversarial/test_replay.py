"""Cases 1.10: replays of a payment, changed, concurrent or foreign."""

import asyncio
import base64
import time
from typing import Any, Final

import pytest
from stellar_sdk import Keypair, TransactionBuilder, TransactionEnvelope

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support import node_proxy
from support.envelopes import text_memo
from support.promises import case, promise
from support.stage import Stage, key_of, service

MANY: Final = 1_000


@case("PV-084", "PV-141")
@promise("error:never-a-double-charge")
async def test_same_body_succeeds_once_and_is_then_a_duplicate(stage: Stage) -> None:
    draft = await stage.draft()
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    tx_hash = await stage.assert_settles(draft.request())
    for _ in range(2):
        again = await stage.settle(draft.request())
        assert (again["success"], again["errorReason"], again["transaction"]) == (
            False,
            Reason.DUPLICATE_SETTLEMENT,
            tx_hash,
        )
    verdict = await stage.verify(draft.request())
    assert (verdict["isValid"], verdict["invalidReason"]) == (False, Reason.DUPLICATE_SETTLEMENT)
    assert verdict["extra"] == {"transaction": tx_hash}
    assert stage.node().counts()["sendTransaction"] == 1
    assert await stage.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


@case("PV-141")
@promise("error:never-a-double-charge")
async def test_twenty_concurrent_same_bodies_succeed_once(stage: Stage) -> None:
    draft = await stage.draft()
    body = draft.request()
    outcomes = await asyncio.gather(*(stage.client.post("/settle", body) for _ in range(20)))
    bodies = [answer.json() for answer in outcomes]
    assert sum(outcome["success"] for outcome in bodies) == 1
    hashes = {outcome["transaction"] for outcome in bodies}
    assert len(hashes) == 1
    reasons = {outcome.get("errorReason") for outcome in bodies if not outcome["success"]}
    assert reasons <= {Reason.DUPLICATE_SETTLEMENT, Reason.SETTLEMENT_PENDING}
    assert stage.node().counts()["sendTransaction"] == 1


@case("PV-141")
@promise("error:never-a-double-charge")
async def test_concurrent_same_bodies_on_two_replicas_succeed_once(stage: Stage) -> None:
    drafts = [await stage.draft() for _ in range(3)]
    before = await stage.ledger().balance(drafts[0].asset, drafts[0].pay_to)
    async with service(stage.environment) as replica:
        clients = [stage.client, replica] * 4
        answers = await asyncio.gather(
            *(client.post("/settle", draft.request()) for draft in drafts for client in clients)
        )
    bodies = [answer.json() for answer in answers]
    for index, draft in enumerate(drafts):
        own = bodies[index * len(clients) : (index + 1) * len(clients)]
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
async def test_other_json_around_the_same_entry_gives_no_second_success(
    stage: Stage, reword: Any
) -> None:
    draft = await stage.draft()
    tx_hash = await stage.assert_settles(draft.request())
    stage.node().calls.clear()
    body = draft.request()
    reword(body)
    again = await stage.settle(body)
    assert (again["success"], again["transaction"]) == (False, tx_hash)
    assert again["errorReason"] == Reason.DUPLICATE_SETTLEMENT
    assert stage.node().counts()["sendTransaction"] == 0


@case("PV-144")
async def test_other_envelope_around_the_same_entry_gives_no_second_success(stage: Stage) -> None:
    draft = await stage.draft()
    tx_hash = await stage.assert_settles(draft.request())
    other = draft.around([draft.operation()], fee=7, memo=text_memo(b"again"))
    assert base64.b64encode(other) != base64.b64encode(draft.envelope().to_xdr_bytes())
    again = await stage.settle(draft.request(other))
    assert (again["success"], again["transaction"]) == (False, tx_hash)


@case("PV-145")
async def test_same_nonce_of_another_payer_or_network_is_another_payment(
    stage: Stage,
) -> None:
    one = await stage.draft()
    other_payer = stage.networks[Network.TESTNET].scene.payers[2]
    key = key_of(other_payer)
    two = one.but(payer=key.public_key, signers=(key,), nonce=one.nonce)
    three = (await stage.draft(Network.PUBNET)).but(nonce=one.nonce)
    hashes = [await stage.assert_settles(draft.request()) for draft in (one, two, three)]
    assert len(set(hashes)) == 3


@case("PV-147")
@promise("verify:moves-nothing")
async def test_thousand_verifications_reserve_nothing(stage: Stage) -> None:
    draft = await stage.draft()
    body = draft.request()
    for _ in range(MANY // 50):
        verdicts = await asyncio.gather(*(stage.verify(body) for _ in range(50)))
        assert all(verdict["isValid"] for verdict in verdicts)
    assert await stage.rows() == 0
    await stage.assert_settles((await stage.draft()).request())


@case("PV-148")
async def test_entry_landed_first_by_foreign_transaction_is_answered_with_its_hash(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    thief = await stage.ledger().account()
    foreign = ""

    async def overtake(call: node_proxy.Call, forward: node_proxy.Forward) -> node_proxy.Json:
        nonlocal foreign
        del call
        foreign = await _land(stage, thief, draft)
        return await forward()

    stage.node().on("sendTransaction", overtake)
    outcome = await stage.settle(draft.request())
    assert outcome == {
        "success": False,
        "errorReason": Reason.FOREIGN_LANDING,
        "errorMessage": REGISTRY[Reason.FOREIGN_LANDING].sentence,
        "transaction": foreign,
        "network": draft.network.value,
        "payer": draft.payer,
    }
    assert REGISTRY[Reason.FOREIGN_LANDING].retry is Retry.NEVER
    assert await stage.settle(draft.request()) == outcome
    (row,) = await stage.query("SELECT state, answered_at, tx_hash FROM settlements")
    assert (row["state"], row["answered_at"]) == ("failed", None)
    for tx_hash in (foreign, row["tx_hash"].hex()):
        shown = (await stage.client.get(f"/v1/settlements/{tx_hash}")).json()
        assert shown == shown | {
            "transaction": tx_hash,
            "status": "failed",
            "reason": Reason.FOREIGN_LANDING,
            "landedAs": foreign,
        }
    assert stage.node().counts()["sendTransaction"] == 1


@case("PV-084", "PV-148")
async def test_entry_used_earlier_elsewhere_is_answered_with_its_hash(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    foreign = await _land(stage, await stage.ledger().account(), draft)
    stage.node().calls.clear()
    verdict = await stage.verify(draft.request())
    assert verdict["invalidReason"] == Reason.SIMULATION_FAILED
    assert set(stage.node().counts()) <= {"simulateTransaction", *_BACKGROUND}, "verify looks up"
    outcomes = [await stage.settle(draft.request()) for _ in range(2)]
    assert outcomes[0] == outcomes[1]
    assert (outcomes[0]["success"], outcomes[0]["errorReason"], outcomes[0]["transaction"]) == (
        False,
        Reason.FOREIGN_LANDING,
        foreign,
    )
    assert outcomes[0]["payer"] == draft.payer
    assert await stage.rows() == 0
    assert stage.node().counts()["sendTransaction"] == 0


@case("PV-148")
async def test_smaller_transfer_with_the_nonce_of_a_payment_is_no_landing_of_it(
    stage: Stage,
) -> None:
    """The payer signs one nonce twice and lands the cheaper transfer: nothing was paid."""
    draft = await stage.draft()
    await _land(stage, await stage.ledger().account(), draft.but(amount=1, nonce=draft.nonce))
    outcome = await stage.settle(draft.request())
    assert (outcome["errorReason"], outcome["transaction"]) == (Reason.SIMULATION_FAILED, "")


@case("PV-148")
async def test_landing_of_another_transfer_is_not_told_to_a_payment_with_its_nonce(
    stage: Stage,
) -> None:
    """The payer settles a cheap transfer, lands it elsewhere, and presents a dear one."""
    dear = await stage.draft()
    cheap = dear.but(amount=1, nonce=dear.nonce)
    thief = await stage.ledger().account()

    async def overtake(call: node_proxy.Call, forward: node_proxy.Forward) -> node_proxy.Json:
        del call
        await _land(stage, thief, cheap)
        return await forward()

    stage.node().on("sendTransaction", overtake)
    landed = await stage.settle(cheap.request())
    assert landed["errorReason"] == Reason.FOREIGN_LANDING
    outcome = await stage.settle(dear.request())
    assert outcome["errorReason"] == Reason.DUPLICATE_SETTLEMENT
    assert outcome["transaction"] == landed["transaction"]


_BACKGROUND: Final = (
    "getLatestLedger", "getLedgerEntries", "getFeeStats", "getHealth", "getNetwork",
    "getTransactions",
)  # fmt: skip


@case("PV-148")
async def test_event_alone_does_not_prove_foreign_landing(stage: Stage) -> None:
    """The node shows another envelope under the hash its event names."""
    draft, other = await stage.draft(), await stage.draft()
    thief = await stage.ledger().account()
    await _land(stage, thief, draft)
    innocent = await stage.ledger().found(await stage.assert_settles(other.request()))

    async def swapped(call: node_proxy.Call, forward: node_proxy.Forward) -> node_proxy.Json:
        del call
        answer = await forward()
        answer["result"]["envelopeXdr"] = innocent["envelopeXdr"]
        return answer

    stage.node().on("getTransaction", swapped)
    outcome = await stage.settle(draft.request())
    assert (outcome["errorReason"], outcome["transaction"]) == (Reason.SIMULATION_FAILED, "")


@case("PV-148")
@pytest.mark.parametrize("method", ["getEvents", "getLedgerEntries"])
async def test_refusal_is_retried_later_when_node_lacks_history(stage: Stage, method: str) -> None:
    """The payment has landed: a final refusal would tell its buyer to sign again."""
    draft = await stage.draft()
    await _land(stage, await stage.ledger().account(), draft)
    stage.node().on(method, node_proxy.refused("not today"))
    outcome = await stage.settle(draft.request())
    assert (outcome["errorReason"], outcome["transaction"]) == (Reason.NETWORK_UNAVAILABLE, "")
    assert REGISTRY[Reason.NETWORK_UNAVAILABLE].retry is Retry.LATER


@case("PV-148")
async def test_payment_stays_pending_until_lookup_is_answered(
    hasty: Stage,
) -> None:
    draft = await hasty.draft()
    thief = await hasty.ledger().account()
    foreign = ""

    async def overtake(call: node_proxy.Call, forward: node_proxy.Forward) -> node_proxy.Json:
        nonlocal foreign
        del call
        foreign = await _land(hasty, thief, draft)
        return await forward()

    hasty.node().on("sendTransaction", overtake)
    hasty.node().on("getEvents", node_proxy.http(503))
    outcome = await hasty.settle(draft.request())
    assert outcome["errorReason"] == Reason.SETTLEMENT_PENDING
    hasty.node().reset()
    outcome = await hasty.settle(draft.request())
    assert (outcome["errorReason"], outcome["transaction"]) == (Reason.FOREIGN_LANDING, foreign)


@case("PV-148")
async def test_own_transaction_in_foreign_fee_bump_is_a_success(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    devnet, ledger = stage.networks[draft.network].devnet, stage.ledger()
    stranger, outer = await ledger.account(), ""

    async def wrap(call: node_proxy.Call, forward: node_proxy.Forward) -> node_proxy.Json:
        """Land it in a fee bump, before a ledger could close with it alone."""
        nonlocal outer
        del forward
        inner = TransactionEnvelope.from_xdr(call.params["transaction"], draft.network.passphrase)
        bump = TransactionBuilder.build_fee_bump_transaction(
            stranger, 2 * inner.transaction.fee, inner, draft.network.passphrase
        )
        bump.sign(stranger)
        latest = await ledger.latest()
        outer = await devnet.land(Secret(bump.to_xdr_object().to_xdr_bytes()))
        sent = {"status": "PENDING", "hash": inner.hash_hex(), "latestLedger": latest}
        return {"result": sent | {"latestLedgerCloseTime": str(int(time.time()))}}

    stage.node().on("sendTransaction", wrap)
    outcome = await stage.settle(draft.request())
    assert outcome["success"] is True, outcome
    assert outcome["transaction"] != outer
    found = await stage.ledger().found(outcome["transaction"])
    assert found["status"] == "SUCCESS"
    (row,) = await stage.query("SELECT fee_charged FROM settlements")
    assert row["fee_charged"] == 0, "the stranger paid"
    assert await stage.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


async def _land(stage: Stage, key: Keypair, draft: Any) -> str:
    """Somebody else uses the payment's entry in a transaction of their own; its hash."""
    found = await stage.ledger().submit(
        key,
        lambda builder: builder.append_invoke_contract_function_op(
            draft.asset, "transfer", draft.call().args, auth=[draft.entry()]
        ),
    )
    return found.transaction_hash


@case("PV-149")
async def test_duplicate_is_recognised_after_authorization_expiry(stage: Stage) -> None:
    latest = await stage.ledger().latest()
    draft = await stage.draft(expires_at_ledger=latest + 30)
    tx_hash = await stage.assert_settles(draft.request())
    await stage.networks[draft.network].devnet.jump(0, ledgers=30)
    await stage.until_seen(draft.expires_at_ledger + 1)
    again = await stage.settle(draft.request())
    assert (again["errorReason"], again["transaction"]) == (Reason.DUPLICATE_SETTLEMENT, tx_hash)
