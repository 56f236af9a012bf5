"""Lost responses, and restarts in the middle of a settlement."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from stellar_sdk import TransactionEnvelope

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node_proxy
from support.asgi import AsgiClient
from support.promises import promise
from support.stage import Stage, service
from support.waiting import until

IMPATIENT = {"FAREBOX_SETTLE_DEADLINE_S": "2"}


def try_later(stage: Stage) -> node_proxy.Step:
    """A node that never takes anything."""

    async def step(call: node_proxy.Call, forward: node_proxy.Forward) -> Any:
        del forward
        passphrase = Network.TESTNET.passphrase
        envelope = TransactionEnvelope.from_xdr(call.params["transaction"], passphrase)
        result = {
            "status": "TRY_AGAIN_LATER",
            "hash": envelope.hash_hex(),
            "latestLedger": await stage.ledger().latest(),
            "latestLedgerCloseTime": "1",
        }
        return {"jsonrpc": "2.0", "result": result}

    return step


@asynccontextmanager
async def replica(stage: Stage, **settings: str) -> AsyncIterator[Stage]:
    """Another process of the service, on the same database and nodes."""
    async with service(stage.environment | settings) as client:
        yield Stage(client, stage.networks, stage.environment)


async def landed(stage: Stage, tx_hash: str) -> None:
    """Return once the network itself has the transaction on its ledger."""

    async def has_landed() -> bool:
        return bool((await stage.ledger().found(tx_hash))["status"] == "SUCCESS")

    await until(has_landed)


async def confirmed_without_a_caller(stage: Stage) -> None:
    """Return once reconciliation has ended the one row there is."""
    await until(lambda: stage.query("SELECT FROM settlements WHERE state = 'confirmed'"))


@promise("error:never-a-double-charge")
@pytest.mark.parametrize(
    ("loss", "at_least"),
    [(node_proxy.lost_answer(), 1), (node_proxy.http(500), 2), (node_proxy.refused("busy"), 2)],
    ids=["after it was taken", "before", "refused"],
)
async def test_lost_send_response_resends_same_envelope(
    stage: Stage, loss: node_proxy.Step, at_least: int
) -> None:
    draft = await stage.draft(timeout_s=900)
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    times = 0

    async def lose_once(call: node_proxy.Call, forward: node_proxy.Forward) -> Any:
        nonlocal times
        times += 1
        return await (loss(call, forward) if times == 1 else forward())

    stage.node().on("sendTransaction", lose_once)
    await stage.assert_settles(draft.request())
    sent = [call.params for call in stage.node().calls if call.method == "sendTransaction"]
    assert len(sent) >= at_least, "what landed already need not be sent again"
    assert all(params == sent[0] for params in sent)
    assert await stage.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


@promise("settle:timeout-is-indeterminate")
async def test_missed_confirmation_is_pending_and_repeat_returns_result(
    stage: Stage,
) -> None:
    draft = await stage.draft(timeout_s=900)
    async with replica(stage, **IMPATIENT) as impatient:
        node_proxy.hide_transactions(stage.node())
        pending = await impatient.settle(draft.request())
        assert (pending["success"], pending["errorReason"]) == (False, Reason.SETTLEMENT_PENDING)
        assert (pending["network"], pending["payer"]) == (draft.network, draft.payer)
        await landed(stage, pending["transaction"])
        stage.node().reset()
        final = await impatient.settle(draft.request())
    assert (final["success"], final["transaction"]) == (True, pending["transaction"])
    assert stage.node().counts()["sendTransaction"] == 0, "nothing is sent for a repeat"
    duplicate = await stage.settle(draft.request())
    assert duplicate["errorReason"] == Reason.DUPLICATE_SETTLEMENT


@promise("settle:timeout-is-indeterminate")
async def test_restart_between_sending_and_confirmation_loses_or_doubles_nothing(
    stage: Stage,
) -> None:
    draft = await stage.draft(timeout_s=900)
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    async with replica(stage, **IMPATIENT) as first:
        node_proxy.hide_transactions(stage.node())
        tx_hash = (await first.settle(draft.request()))["transaction"]
    await landed(stage, tx_hash)
    stage.node().reset()
    async with replica(stage, **IMPATIENT) as second:
        await confirmed_without_a_caller(stage)
        outcome = await second.settle(draft.request())
    assert (outcome["success"], outcome["transaction"]) == (True, tx_hash)
    assert await stage.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


async def test_payment_waits_until_last_relayer_envelope_is_resolved(
    stage: Stage,
) -> None:
    first, second = await stage.draft(timeout_s=900), await stage.draft(timeout_s=900)
    async with replica(stage, **IMPATIENT, FAREBOX_CHANNEL_WAIT_S="0.5") as service_:
        node_proxy.hide_transactions(stage.node())
        assert (await service_.settle(first.request()))["errorReason"] == Reason.SETTLEMENT_PENDING
        answer = await service_.client.post("/settle", second.request())
        assert (answer.status, answer.json()["errorReason"]) == (503, Reason.SERVICE_UNAVAILABLE)
        assert answer.json()["transaction"] == ""
        assert int(answer.headers["retry-after"]) > 0
        stage.node().reset()
        assert (await service_.settle(first.request()))["success"] is True
        assert (await service_.settle(second.request()))["success"] is True, (
            "nothing was kept of it"
        )


async def test_payment_that_no_node_accepts_is_sent_again_by_another_replica(stage: Stage) -> None:
    draft = await stage.draft(timeout_s=900)
    stage.node().on("sendTransaction", try_later(stage))
    async with replica(stage, **IMPATIENT) as service_:
        pending = await service_.settle(draft.request())
    assert pending["errorReason"] == Reason.SETTLEMENT_PENDING, "a node may have kept it"
    stage.node().reset()
    outcome = await stage.settle(draft.request())
    assert (outcome["success"], outcome["transaction"]) == (True, pending["transaction"])


async def test_two_replicas_settle_one_payment_once(stage: Stage) -> None:
    draft = await stage.draft(timeout_s=900)
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    async with replica(stage) as other:
        both = [stage, other] * 10
        outcomes = await asyncio.gather(*(each.settle(draft.request()) for each in both))
    assert sum(outcome["success"] for outcome in outcomes) == 1
    assert len({outcome["transaction"] for outcome in outcomes}) == 1
    assert await stage.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


async def test_two_replicas_share_one_relayer_without_lost_payment(stage: Stage) -> None:
    drafts = [await stage.draft(timeout_s=900) for _ in range(6)]
    async with replica(stage) as other:
        both = [stage, other] * 3
        outcomes = await asyncio.gather(
            *(each.settle(draft.request()) for each, draft in zip(both, drafts, strict=True))
        )
    assert [outcome["success"] for outcome in outcomes] == [True] * 6, outcomes
    assert len({outcome["transaction"] for outcome in outcomes}) == 6


async def network_ready(client: AsgiClient) -> None:
    """Return once the testnet can be used, whatever else is away."""

    async def is_ready() -> bool:
        parts = (await client.get("/health/ready")).json()["parts"]
        return bool(parts["stellar:testnet"]["status"] == "ok")

    await until(is_ready)


async def test_service_without_database_verifies_and_settles_nothing(stage: Stage) -> None:
    draft = await stage.draft(timeout_s=900)
    away = {"FAREBOX_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    async with service(stage.environment | away, is_ready=False) as client:
        await network_ready(client)
        adrift = Stage(client, stage.networks, stage.environment)
        assert (await adrift.verify(draft.request()))["isValid"] is True
        answer = await client.post("/settle", draft.request())
        assert (answer.status, answer.json()["errorReason"]) == (503, Reason.SERVICE_UNAVAILABLE)
        assert (await client.get("/health/ready")).status == 503
    assert stage.node().counts()["sendTransaction"] == 0
    await stage.assert_settles(draft.request())
