"""A settlement whose outcome is not known yet: responses, repeats and reconciliation."""

from typing import Final

import pytest
from stellar_sdk import TransactionEnvelope, xdr

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node_proxy
from support.payments import Draft, Json
from support.promises import promise
from support.stage import HASH, Stage, service
from testing.waiting import until

SEND: Final = "sendTransaction"
GET: Final = "getTransaction"


@promise(
    "settle:timeout-is-indeterminate", "settle:reconciles-by-hash", "error:never-a-double-charge"
)
async def test_settle_returns_pending_with_hash_and_only_its_repeat_continues_to_one_result(
    hasty: Stage,
) -> None:
    draft = await hasty.draft()
    node_proxy.hide_transactions(hasty.node())
    outcome = await hasty.settle(draft.request())
    tx_hash = outcome["transaction"]
    assert HASH.match(tx_hash)
    assert outcome == outcome | {
        "success": False,
        "errorReason": Reason.SETTLEMENT_PENDING,
        "network": draft.network.value,
        "payer": draft.payer,
    }
    other = await hasty.settle(draft.request(maxTimeoutSeconds=901))
    assert (other["success"], other["transaction"]) == (False, tx_hash)
    assert hasty.node().counts()[SEND] == 1
    repeated = await hasty.settle(draft.request())
    assert repeated["errorReason"] == Reason.SETTLEMENT_PENDING
    hasty.node().reset()
    outcome = await _until_final(hasty, draft)
    assert (outcome["success"], outcome["transaction"]) == (True, tx_hash)
    assert hasty.node().counts()[SEND] == 0


@promise("error:never-a-double-charge")
@pytest.mark.parametrize(
    "step",
    [
        node_proxy.lost_answer(),
        node_proxy.lost_answer(b"<html>"),
        node_proxy.lost_answer(b"", status=200),
    ],
)
async def test_lost_node_response_sends_no_other_envelope(
    hasty: Stage, step: node_proxy.Step
) -> None:
    draft = await hasty.draft()
    before = await hasty.ledger().balance(draft.asset, draft.pay_to)
    hasty.node().on(SEND, step)
    outcome = await hasty.settle(draft.request())
    envelopes = {c.params["transaction"] for c in hasty.node().calls if c.method == SEND}
    assert len(envelopes) == 1
    if not outcome["success"]:
        assert outcome["errorReason"] == Reason.SETTLEMENT_PENDING
        hasty.node().on(SEND, node_proxy.http(503))
        outcome = await _until_final(hasty, draft)
    assert outcome["success"] is True, outcome
    assert await hasty.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


@promise("settle:timeout-is-indeterminate", "error:never-a-double-charge")
async def test_refusal_of_resent_envelope_leaves_settlement_pending(hasty: Stage) -> None:
    draft = await hasty.draft()
    hasty.node().on(SEND, node_proxy.lost_answer())
    node_proxy.hide_transactions(hasty.node())
    pending = await hasty.settle(draft.request())
    assert pending["errorReason"] == Reason.SETTLEMENT_PENDING
    for code in ("txBAD_SEQ", "txINSUFFICIENT_BALANCE", "txTOO_LATE"):
        hasty.node().on(SEND, _refusing(code))
        hasty.node().calls.clear()
        again = await hasty.settle(draft.request())
        assert again == pending, f"it has landed, whatever this node says of it: {code}"
        assert hasty.node().counts()[SEND] >= 1, code
    hasty.node().reset()
    outcome = await _until_final(hasty, draft)
    assert (outcome["success"], outcome["transaction"]) == (True, pending["transaction"])


@promise("settle:reconciles-by-hash")
async def test_restart_finishes_pending_settlement_without_caller(hasty: Stage) -> None:
    draft = await hasty.draft()
    node_proxy.hide_transactions(hasty.node())
    pending = await hasty.settle(draft.request())
    hasty.node().reset()
    async with service(hasty.environment) as client:
        again = Stage(client, hasty.networks, hasty.environment)
        assert await _until_confirmed(again) == pending["transaction"]
        outcome = await again.settle(draft.request())
    assert (outcome["success"], outcome["transaction"]) == (True, pending["transaction"])
    assert hasty.node().counts()[SEND] == 0


async def test_payment_that_node_never_accepts_is_pending_and_sent_again(hasty: Stage) -> None:
    """Control: TRY_AGAIN_LATER as a refusal; what a node keeps all the same lands after it."""
    draft = await hasty.draft()
    hasty.node().on(SEND, node_proxy.busy)
    pending = await hasty.settle(draft.request())
    assert (pending["success"], pending["errorReason"]) == (False, Reason.SETTLEMENT_PENDING)
    hasty.node().reset()
    outcome = await _until_final(hasty, draft)
    assert (outcome["success"], outcome["transaction"]) == (True, pending["transaction"])


async def test_payment_is_free_when_network_refuses_envelope(stage: Stage) -> None:
    draft = await stage.draft()
    for code in ("txINSUFFICIENT_BALANCE", "txINSUFFICIENT_FEE", "txMALFORMED"):
        stage.node().on(SEND, _refusing(code))
        outcome = await stage.settle(draft.request())
        assert (outcome["success"], outcome["errorReason"]) == (False, Reason.SUBMISSION_FAILED)
        assert outcome["transaction"] == "", "nothing was broadcast"
        assert await stage.rows() == 0
    stage.node().reset()
    await stage.assert_settles(draft.request())


async def test_settlement_without_proof_is_unproven(hasty: Stage) -> None:
    """The node forgot the window, and the relayer's sequence number was used by something."""
    draft = await hasty.draft()
    node_proxy.hide_transactions(hasty.node())
    hasty.node().on(GET, node_proxy.result(_forgotten))
    outcome = await _until_final(hasty, draft)
    assert outcome["success"] is False
    assert outcome["errorReason"] == Reason.OUTCOME_UNPROVEN
    hasty.node().reset()
    assert await hasty.settle(draft.request()) == outcome
    assert hasty.node().counts()[SEND] == 0


def _forgotten(result: Json) -> None:
    """Once it has landed and a few ledgers have closed, the node knows nothing before them."""
    landed = int(result.get("ledger", 0))
    node_proxy.unknown(result)
    if not landed or result["latestLedger"] < landed + 3:
        return
    result["oldestLedger"] = result["latestLedger"]
    result["latestLedgerCloseTime"] = str(int(result["latestLedgerCloseTime"]) + 100)
    result["oldestLedgerCloseTime"] = result["latestLedgerCloseTime"]


def _refusing(code: str) -> node_proxy.Step:
    """The queue refuses it for this reason, in the network's own words."""

    async def step(call: node_proxy.Call, forward: node_proxy.Forward) -> Json:
        del forward
        sent = TransactionEnvelope.from_xdr(call.params["transaction"], Network.TESTNET.passphrase)
        kind = xdr.TransactionResultCode[code]
        refusal = xdr.TransactionResult(
            xdr.Int64(0), xdr.TransactionResultResult(kind), xdr.TransactionResultExt(0)
        )
        answer: Json = {"status": "ERROR", "hash": sent.hash_hex(), "latestLedger": 5}
        answer |= {"latestLedgerCloseTime": "0", "errorResultXdr": refusal.to_xdr()}
        return {"jsonrpc": "2.0", "result": answer}

    return step


async def test_journal_rows_are_separate_per_network(stage: Stage) -> None:
    for network in Network:
        await stage.assert_settles((await stage.draft(network)).request())
    rows = await stage.query("SELECT network, state FROM settlements ORDER BY network")
    assert [(row["network"], row["state"]) for row in rows] == [
        ("stellar:pubnet", "confirmed"),
        ("stellar:testnet", "confirmed"),
    ]


async def _until_confirmed(stage: Stage) -> str:
    """The hash of the only row, once the service itself has confirmed it."""
    confirmed = "SELECT tx_hash FROM settlements WHERE state = 'confirmed'"
    (row,) = await until(lambda: stage.query(confirmed))
    return str(row["tx_hash"].hex())


async def _until_final(stage: Stage, draft: Draft) -> Json:
    async def final() -> Json:
        outcome = await stage.settle(draft.request())
        return {} if outcome.get("errorReason") == Reason.SETTLEMENT_PENDING else outcome

    return await until(final)
