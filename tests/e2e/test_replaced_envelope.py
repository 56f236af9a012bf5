"""Two replicas settle one payment, and one replaces the envelope that the other watches."""

import asyncio
from typing import Any

from stellar_sdk import TransactionEnvelope

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node_proxy
from support.node_proxy import NodeProxy
from support.payments import Json
from support.promises import promise
from support.stage import Stage, own_relayer, service
from testing.waiting import until

SEND = "sendTransaction"
BRIEF = {"FAREBOX_TRANSACTION_LIFE_S": "12", "FAREBOX_SETTLE_DEADLINE_S": "40"}
_HELD_S = 4.0  # until the second envelope reaches the queue
_PAYMENT_LIFE_LEDGERS = 600  # two minutes: a busy machine may need a third envelope
_OPEN = {Reason.SETTLEMENT_PENDING, Reason.DUPLICATE_SETTLEMENT}


class LosingQueue:
    """Drops the first envelope in silence, and takes every later one some seconds late."""

    def __init__(self) -> None:
        self.envelopes: list[str] = []

    async def __call__(self, call: node_proxy.Call, forward: node_proxy.Forward) -> Any:
        text = call.params["transaction"]
        tx_hash = TransactionEnvelope.from_xdr(text, Network.TESTNET.passphrase).hash_hex()
        if tx_hash not in self.envelopes:
            self.envelopes.append(tx_hash)
        if tx_hash != self.envelopes[0]:
            await asyncio.sleep(_HELD_S)
            return await forward()
        result = {"status": "PENDING", "hash": tx_hash, "latestLedger": 1}
        return {"jsonrpc": "2.0", "result": result}


@promise("error:never-a-double-charge", "settle:timeout-is-indeterminate")
async def test_replaced_envelope_is_not_answered_as_failed_by_any_replica(stage: Stage) -> None:
    """Controls: an `end` that is not written is answered with the fate of the first envelope; a
    replica that watches ends the payment before its envelope is replaced.
    """
    queue = LosingQueue()
    devnet = stage.networks[Network.TESTNET].devnet
    async with NodeProxy(devnet.rpc_url) as other:
        first = stage.environment | await own_relayer(stage) | BRIEF
        second = first | {"FAREBOX_RPC_URL_TESTNET": other.url}
        async with service(first) as one, service(second) as two:
            replicas = [Stage(one, stage.networks, first), Stage(two, stage.networks, second)]
            expires_at_ledger = await stage.ledger().latest() + _PAYMENT_LIFE_LEDGERS
            body = (await replicas[0].draft(expires_at_ledger=expires_at_ledger)).request()
            stage.node().on(SEND, queue)
            other.on(SEND, queue)
            tasks = [asyncio.create_task(replicas[0].settle(body))]
            await _until_submitted(stage)
            tasks.append(asyncio.create_task(replicas[1].settle(body)))
            outcomes = list(await asyncio.gather(*tasks))
            while not any(_is_final(each) for each in outcomes):
                outcomes.append(await replicas[1].settle(body))
    failures = {each["errorReason"] for each in outcomes if not each["success"]}
    assert failures <= _OPEN, (outcomes, queue.envelopes)
    assert [each["success"] for each in outcomes].count(True) == 1
    landed = [each for each in queue.envelopes if await _is_on_ledger(stage, each)]
    assert len(landed) == 1


def _is_final(outcome: Json) -> bool:
    return outcome["success"] or outcome["errorReason"] not in _OPEN


async def _until_submitted(stage: Stage) -> None:
    await until(lambda: stage.query("SELECT FROM settlements WHERE state = 'submitted'"))


async def _is_on_ledger(stage: Stage, tx_hash: str) -> bool:
    return (await stage.ledger().found(tx_hash)).get("status") == "SUCCESS"
