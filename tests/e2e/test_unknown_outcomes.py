"""Sends that a node has not taken, and what waits for or shares the one relayer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from farebox.x402.reasons import Reason
from support import node_proxy
from support.promises import promise
from support.stage import Stage, service

IMPATIENT = {"FAREBOX_SETTLE_DEADLINE_S": "2"}


@asynccontextmanager
async def replica(stage: Stage, **settings: str) -> AsyncIterator[Stage]:
    """Another process of the service, on the same database and nodes."""
    async with service(stage.environment | settings) as client:
        yield Stage(client, stage.networks, stage.environment)


@promise("error:never-a-double-charge")
@pytest.mark.parametrize(
    "loss", [node_proxy.http(500), node_proxy.refused("busy")], ids=["no answer", "refused"]
)
async def test_send_that_the_node_has_not_taken_is_repeated_with_the_same_envelope(
    stage: Stage, loss: node_proxy.Step
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
    assert len(sent) >= 2
    assert all(params == sent[0] for params in sent)
    assert await stage.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


async def test_payment_waits_until_last_relayer_envelope_is_resolved(stage: Stage) -> None:
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
