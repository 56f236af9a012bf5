"""Case 6.2: refused, lost and wrong responses of a node to a settlement."""

from collections.abc import Callable
from typing import Any

import pytest
from stellar_sdk import TransactionEnvelope, xdr

from farebox.kernel.networks import Network
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support import node_proxy
from support.node_proxy import LOST_RESPONSES
from support.payments import Json
from support.promises import case
from support.stage import Stage


def _hash_of(call: node_proxy.Call) -> str:
    text = call.params["transaction"]
    return TransactionEnvelope.from_xdr(text, Network.TESTNET.passphrase).hash_hex()


def _refusal(code: str, *, fee: int = 0) -> str:
    kind = xdr.TransactionResultCode[code]
    result = xdr.TransactionResultResult(kind)
    return xdr.TransactionResult(xdr.Int64(fee), result, xdr.TransactionResultExt(0)).to_xdr()


def _refused_once(result_xdr: str) -> node_proxy.Step:
    """The queue refuses the first envelope, and takes those after it."""
    refused: list[str] = []

    async def step(call: node_proxy.Call, forward: node_proxy.Forward) -> Json:
        tx_hash = _hash_of(call)
        if refused and tx_hash not in refused:
            return await forward()
        refused.append(tx_hash)
        answer = {"status": "ERROR", "hash": tx_hash, "latestLedger": 10**9}
        return {"jsonrpc": "2.0", "result": answer | {"errorResultXdr": result_xdr}}

    return step


@case("RL-017")
async def test_inclusion_fee_is_raised_to_node_minimum(stage: Stage) -> None:
    draft = await stage.draft()
    wanted = 60_000
    stage.node().on(node_proxy.SEND, _refused_once(_refusal("txINSUFFICIENT_FEE", fee=wanted)))
    outcome = await stage.settle(draft.request())
    assert outcome["success"] is True, outcome
    low, high = [
        TransactionEnvelope.from_xdr(text, Network.TESTNET.passphrase).transaction.fee
        for text in stage.node().sent_envelopes()
    ]
    assert low < wanted <= high


@case("RL-017")
async def test_payment_is_free_when_node_minimum_exceeds_fee_ceiling(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    stage.node().on(node_proxy.SEND, _refused_once(_refusal("txINSUFFICIENT_FEE", fee=500_001)))
    outcome = await stage.settle(draft.request())
    assert (outcome["errorReason"], outcome["transaction"]) == (Reason.SUBMISSION_FAILED, "")
    assert REGISTRY[Reason.SUBMISSION_FAILED].retry is Retry.LATER
    assert len(stage.node().sent_envelopes()) == 1
    stage.node().reset()
    await stage.assert_settles(draft.request())


@case("RL-018")
@pytest.mark.parametrize("code", ["txBAD_AUTH", "txNO_ACCOUNT"])
async def test_payment_is_free_when_node_refuses_with_a_code(
    stage: Stage, code: str, log_text: Callable[[], str]
) -> None:
    draft = await stage.draft()
    stage.node().on(node_proxy.SEND, _refused_once(_refusal(code)))
    outcome = await stage.settle(draft.request())
    assert (outcome["errorReason"], outcome["transaction"]) == (Reason.SUBMISSION_FAILED, "")
    assert await stage.rows() == 0
    assert code in log_text()


@case("RL-018")
@pytest.mark.parametrize("result_xdr", [None, "AAAA"])
async def test_unreadable_send_error_is_pending_until_proven(
    stage: Stage, result_xdr: str | None
) -> None:
    """The queue has the envelope all the same: a failure answered here would land later."""

    async def unreadable(call: node_proxy.Call, forward: node_proxy.Forward) -> Json:
        await forward()
        answer: Json = {"status": "ERROR", "hash": _hash_of(call), "latestLedger": 10**9}
        if result_xdr is not None:
            answer["errorResultXdr"] = result_xdr
        return {"jsonrpc": "2.0", "result": answer}

    draft = await stage.draft()
    stage.node().on(node_proxy.SEND, unreadable)
    outcome = await stage.settle(draft.request())
    assert outcome["success"] is True, outcome
    assert len(stage.node().sent_envelopes()) == 1


@case("RL-019")
@pytest.mark.parametrize("fault", LOST_RESPONSES)
async def test_lost_send_response_is_resolved_by_hash(stage: Stage, fault: str) -> None:
    draft = await stage.draft()
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    stage.node().on(node_proxy.SEND, LOST_RESPONSES[fault])
    outcome = await stage.settle(draft.request())
    assert outcome["success"] is True, outcome
    assert len(set(stage.node().sent_envelopes())) == 1, "the same envelope, however often"
    after = await stage.ledger().balance(draft.asset, draft.pay_to)
    assert after == before + draft.amount


def _of_another(result: Json) -> None:
    result["txHash"] = "ab" * 32


def _upper_case(result: Json) -> None:
    result["txHash"] = result["txHash"].upper()


def _in_list(change: Callable[[Json], None]) -> Callable[[Json], None]:
    def changed(result: Json) -> None:
        for each in result["transactions"]:
            change(each)

    return changed


def _if_found(change: Callable[[Json], None]) -> Callable[[Json], None]:
    def changed(result: Json) -> None:
        if result["status"] != "NOT_FOUND":
            change(result)

    return changed


@case("RL-025")
@pytest.mark.parametrize("change", [_of_another, _upper_case])
async def test_result_of_another_transaction_is_ignored(
    hasty: Stage, change: Callable[[Json], None]
) -> None:
    draft = await hasty.draft()
    hasty.node().on("getTransaction", node_proxy.result(_if_found(change)))
    hasty.node().on("getTransactions", node_proxy.result(_in_list(change)))
    pending = await hasty.settle(draft.request())
    assert (pending["success"], pending["errorReason"]) == (False, Reason.SETTLEMENT_PENDING)
    hasty.node().reset()
    outcome = await hasty.settle(draft.request())
    assert (outcome["success"], outcome["transaction"]) == (True, pending["transaction"])
    assert (await hasty.ledger().found(outcome["transaction"]))["status"] == "SUCCESS"


@case("RL-026")
@pytest.mark.parametrize("changed_hash", ["cd" * 32, "", "upper"])
async def test_send_response_with_another_hash_is_logged_and_own_hash_recorded(
    stage: Stage, changed_hash: str, log_text: Callable[[], str]
) -> None:
    def other(result: Json) -> None:
        result["hash"] = result["hash"].upper() if changed_hash == "upper" else changed_hash

    draft = await stage.draft()
    stage.node().on(node_proxy.SEND, node_proxy.result(other))
    outcome: Any = await stage.settle(draft.request())
    assert outcome["success"] is True, outcome
    (text,) = stage.node().sent_envelopes()
    own = TransactionEnvelope.from_xdr(text, Network.TESTNET.passphrase).hash_hex()
    assert outcome["transaction"] == own
    assert "submission.hash_differs" in log_text()
