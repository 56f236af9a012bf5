"""A settlement whose outcome is not known yet: what is said, what is done, what never happens."""

import asyncio
from typing import Final

import pytest
from stellar_sdk import TransactionEnvelope, xdr

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node
from support.payments import Draft, Json
from support.promises import promise
from support.stage import HASH, Stage, service

SEND: Final = "sendTransaction"
GET: Final = "getTransaction"
_LOOKS: Final = 200


@promise("settle:timeout-is-indeterminate", "error:never-a-double-charge")
async def test_no_confirmation_in_time_is_pending_with_the_hash(hasty: Stage) -> None:
    draft = await hasty.draft()
    node.lose_sight(hasty.node())
    outcome = await hasty.settle(draft.request())
    tx_hash = outcome["transaction"]
    assert HASH.match(tx_hash)
    assert outcome == outcome | {
        "success": False,
        "errorReason": Reason.SETTLEMENT_PENDING,
        "network": draft.network.value,
        "payer": draft.payer,
    }


@promise("settle:timeout-is-indeterminate", "settle:reconciles-by-hash")
async def test_the_same_body_repeated_goes_on_to_the_one_result(hasty: Stage) -> None:
    draft = await hasty.draft()
    node.lose_sight(hasty.node())
    pending = [await hasty.settle(draft.request()) for _ in range(2)]
    assert {outcome["errorReason"] for outcome in pending} == {Reason.SETTLEMENT_PENDING}
    hasty.node().reset()
    outcome = await _until_final(hasty, draft)
    assert (outcome["success"], outcome["transaction"]) == (True, pending[0]["transaction"])
    assert hasty.node().counts()[SEND] == 0


@promise("settle:reconciles-by-hash", "error:never-a-double-charge")
async def test_another_request_for_a_pending_payment_is_no_second_attempt(hasty: Stage) -> None:
    draft = await hasty.draft()
    node.lose_sight(hasty.node())
    pending = await hasty.settle(draft.request())
    other = await hasty.settle(draft.request(maxTimeoutSeconds=901))
    assert (other["success"], other["transaction"]) == (False, pending["transaction"])
    assert hasty.node().counts()[SEND] == 1


@promise("error:never-a-double-charge")
@pytest.mark.parametrize(
    "step", [node.lost_answer(), node.lost_answer(b"<html>"), node.lost_answer(b"", status=200)]
)
async def test_an_answer_lost_after_sending_never_sends_another_envelope(
    hasty: Stage, step: node.Step
) -> None:
    draft = await hasty.draft()
    before = await hasty.ledger().balance(draft.asset, draft.pay_to)
    hasty.node().on(SEND, step)
    outcome = await hasty.settle(draft.request())
    envelopes = {c.params["transaction"] for c in hasty.node().calls if c.method == SEND}
    assert len(envelopes) == 1
    if not outcome["success"]:
        assert outcome["errorReason"] == Reason.SETTLEMENT_PENDING
        hasty.node().on(SEND, node.http(503))
        outcome = await _until_final(hasty, draft)
    assert outcome["success"] is True, outcome
    assert await hasty.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


@promise("settle:timeout-is-indeterminate", "error:never-a-double-charge")
@pytest.mark.parametrize("code", ["txBAD_SEQ", "txINSUFFICIENT_BALANCE", "txTOO_LATE"])
async def test_a_refusal_of_what_may_be_out_already_proves_nothing(hasty: Stage, code: str) -> None:
    draft = await hasty.draft()
    hasty.node().on(SEND, node.lost_answer())
    node.lose_sight(hasty.node())
    pending = await hasty.settle(draft.request())
    assert pending["errorReason"] == Reason.SETTLEMENT_PENDING
    hasty.node().on(SEND, _refusing(code))
    again = await hasty.settle(draft.request())
    assert again == pending, "it has landed, whatever this node says of it"
    hasty.node().reset()
    outcome = await _until_final(hasty, draft)
    assert (outcome["success"], outcome["transaction"]) == (True, pending["transaction"])


@promise("settle:reconciles-by-hash")
async def test_a_restart_ends_what_was_left_pending_without_a_caller(hasty: Stage) -> None:
    draft = await hasty.draft()
    node.lose_sight(hasty.node())
    pending = await hasty.settle(draft.request())
    hasty.node().reset()
    async with service(hasty.environment) as client:
        again = Stage(client, hasty.networks, hasty.environment)
        assert await _until_confirmed(again) == pending["transaction"]
        outcome = await again.settle(draft.request())
    assert (outcome["success"], outcome["transaction"]) == (True, pending["transaction"])
    assert hasty.node().counts()[SEND] == 0


async def test_a_node_that_never_takes_it_leaves_the_payment_free(hasty: Stage) -> None:
    draft = await hasty.draft()
    hasty.node().on(SEND, _busy)
    refused = await hasty.settle(draft.request())
    assert (refused["success"], refused["transaction"]) == (False, "")
    assert refused["errorReason"] == Reason.SUBMISSION_FAILED
    assert await hasty.rows() == 0
    hasty.node().reset()
    await hasty.settled(draft.request())


@pytest.mark.parametrize("code", ["txINSUFFICIENT_BALANCE", "txINSUFFICIENT_FEE", "txMALFORMED"])
async def test_an_envelope_the_network_does_not_take_leaves_the_payment_free(
    stage: Stage, code: str
) -> None:
    draft = await stage.draft()
    stage.node().on(SEND, _refusing(code))
    outcome = await stage.settle(draft.request())
    assert (outcome["success"], outcome["errorReason"]) == (False, Reason.SUBMISSION_FAILED)
    assert outcome["transaction"] == "", "nothing was broadcast"
    assert await stage.rows() == 0
    stage.node().reset()
    await stage.settled(draft.request())


async def test_what_can_be_shown_neither_way_is_said_to_be_unproven(hasty: Stage) -> None:
    """The node forgot the window, and the relayer's sequence number was used by something."""
    draft = await hasty.draft()
    node.lose_sight(hasty.node())
    hasty.node().on(GET, node.result(_forgotten))
    outcome = await _until_final(hasty, draft)
    assert outcome["success"] is False
    assert outcome["errorReason"] == Reason.OUTCOME_UNPROVEN
    hasty.node().reset()
    assert await hasty.settle(draft.request()) == outcome
    assert hasty.node().counts()[SEND] == 0


def _forgotten(result: Json) -> None:
    """Once it has landed and a few ledgers have closed, the node knows nothing before them."""
    landed = int(result.get("ledger", 0))
    node.unknown(result)
    if not landed or result["latestLedger"] < landed + 3:
        return
    result["oldestLedger"] = result["latestLedger"]
    result["latestLedgerCloseTime"] = str(int(result["latestLedgerCloseTime"]) + 600)
    result["oldestLedgerCloseTime"] = result["latestLedgerCloseTime"]


def _refusing(code: str) -> node.Step:
    """The queue refuses it for this reason, in the network's own words."""

    async def step(call: node.Call, forward: node.Forward) -> Json:
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


async def _busy(call: node.Call, forward: node.Forward) -> Json:
    """The node has no room for it; it never reaches the queue."""
    del forward
    sent = TransactionEnvelope.from_xdr(call.params["transaction"], Network.TESTNET.passphrase)
    answer = {"status": "TRY_AGAIN_LATER", "hash": sent.hash_hex(), "latestLedger": 5}
    return {"jsonrpc": "2.0", "result": answer | {"latestLedgerCloseTime": "0"}}


async def test_each_network_has_its_own_journal_rows(stage: Stage) -> None:
    for network in Network:
        await stage.settled((await stage.draft(network)).request())
    rows = await stage.query("SELECT network, state FROM settlements ORDER BY network")
    assert [(row["network"], row["state"]) for row in rows] == [
        ("stellar:pubnet", "confirmed"),
        ("stellar:testnet", "confirmed"),
    ]


async def _until_confirmed(stage: Stage) -> str:
    """The hash of the only row, once nobody but the service itself has confirmed it."""
    for _ in range(_LOOKS):
        (row,) = await stage.query("SELECT state, tx_hash FROM settlements")
        if row["state"] == "confirmed":
            return str(row["tx_hash"].hex())
        await asyncio.sleep(0.05)
    raise TimeoutError("the payment stays unresolved")


async def _until_final(stage: Stage, draft: Draft) -> Json:
    outcome = await stage.settle(draft.request())
    for _ in range(_LOOKS):
        if outcome.get("errorReason") != Reason.SETTLEMENT_PENDING:
            return outcome
        await asyncio.sleep(0.05)
        outcome = await stage.settle(draft.request())
    raise TimeoutError("the payment stays pending")
