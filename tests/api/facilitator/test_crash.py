"""The process is killed in the middle of a settlement, started again, and asked again."""

import asyncio
from typing import Final

import aiohttp
import pytest

from support import node
from support.payments import Json
from support.processes import ServeProcess
from support.promises import promise
from support.stage import Stage, own_relayer

SEND: Final = "sendTransaction"
_LOOKS: Final = 160  # eight seconds: only the pass at the start can find a row this young


@promise("error:never-a-double-charge", "settle:reconciles-by-hash")
async def test_killed_before_the_node_had_it_the_same_envelope_is_sent_on_request(
    stage: Stage,
) -> None:
    settings = stage.environment | await own_relayer(stage)
    body = (await stage.draft()).request()
    before = await _paid(stage, body)
    reached, hold = asyncio.Event(), asyncio.Event()
    stage.node().on(SEND, _held(reached, hold))
    await _settle_and_kill(settings, body, reached)
    hold.set()
    first = _envelopes(stage)
    (row,) = await stage.query("SELECT state, tx_hash FROM settlements")
    assert row["state"] == "sending"
    stage.node().reset()
    async with ServeProcess(settings) as again:
        await asyncio.sleep(0)
        assert stage.node().counts()[SEND] == 0, "nothing is sent without a caller"
        outcome = await again.settle(body)
        assert (outcome["success"], outcome["transaction"]) == (True, row["tx_hash"].hex())
        assert _envelopes(stage) == first
        assert (await again.settle(body))["errorReason"] == "duplicate_settlement"
    assert await _paid(stage, body) == before + 1


@promise("error:never-a-double-charge", "settle:reconciles-by-hash")
async def test_killed_after_the_node_had_it_the_payment_is_found_without_a_caller(
    stage: Stage,
) -> None:
    settings = stage.environment | await own_relayer(stage)
    body = (await stage.draft()).request()
    before = await _paid(stage, body)
    reached, hold = asyncio.Event(), asyncio.Event()
    stage.node().on(SEND, _carried_out(reached, hold))
    await _settle_and_kill(settings, body, reached)
    hold.set()
    stage.node().reset()
    async with ServeProcess(settings) as again:
        tx_hash = await _until(stage, "confirmed")
        outcome = await again.settle(body)
        assert (outcome["success"], outcome["transaction"]) == (True, tx_hash)
        assert (await again.settle(body))["success"] is False
    assert stage.node().counts()[SEND] == 0
    assert await _paid(stage, body) == before + 1


@promise("error:never-a-double-charge")
async def test_killed_before_anything_was_signed_nothing_is_ever_sent_by_itself(
    stage: Stage,
) -> None:
    settings = stage.environment | await own_relayer(stage)
    body = (await stage.draft()).request()
    before = await _paid(stage, body)
    reached, hold = asyncio.Event(), asyncio.Event()
    async with ServeProcess(settings) as service:
        stage.node().on("getLedgerEntries", _held(reached, hold))
        asked = asyncio.ensure_future(service.settle(body))
        await _until(stage, "claimed")
        await service.kill()
        with pytest.raises(aiohttp.ClientError):
            await asked
    hold.set()
    stage.node().reset()
    async with ServeProcess(settings):
        sequence = await stage.ledger().latest()
        await stage.ledger().wait_past(sequence + 5)
        assert stage.node().counts()[SEND] == 0
    assert await _paid(stage, body) == before


async def _settle_and_kill(settings: dict[str, str], body: Json, reached: asyncio.Event) -> None:
    async with ServeProcess(settings) as service:
        asked = asyncio.ensure_future(service.settle(body))
        await asyncio.wait_for(reached.wait(), 20)
        await service.kill()
        with pytest.raises(aiohttp.ClientError):
            await asked


def _held(reached: asyncio.Event, hold: asyncio.Event) -> node.Step:
    """The call is swallowed: it says that it came, and never gets any further."""

    async def step(call: node.Call, forward: node.Forward) -> Json:
        del call, forward
        reached.set()
        await hold.wait()
        return {"jsonrpc": "2.0", "error": {"code": -32603, "message": "too late"}}

    return step


def _carried_out(reached: asyncio.Event, hold: asyncio.Event) -> node.Step:
    """The call is carried out, and its answer is held back."""

    async def step(call: node.Call, forward: node.Forward) -> Json:
        del call
        answer = await forward()
        reached.set()
        await hold.wait()
        return answer

    return step


def _envelopes(stage: Stage) -> set[str]:
    return {call.params["transaction"] for call in stage.node().calls if call.method == SEND}


async def _until(stage: Stage, state: str) -> str:
    """The hash of the only row, once it is in this state; empty while nothing is signed."""
    for _ in range(_LOOKS):
        rows = await stage.query("SELECT state, tx_hash FROM settlements")
        if [row["state"] for row in rows] == [state]:
            tx_hash = rows[0]["tx_hash"]
            return str(tx_hash.hex()) if tx_hash else ""
        await asyncio.sleep(0.05)
    raise TimeoutError(f"no row gets {state}")


async def _paid(stage: Stage, body: Json) -> int:
    """How many times the payee was paid the amount of this body."""
    terms = body["paymentRequirements"]
    held = await stage.ledger().balance(terms["asset"], terms["payTo"])
    return held // int(terms["amount"])
