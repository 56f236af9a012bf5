"""Recovery of a settlement whose process was killed."""

import asyncio
from typing import Final

import aiohttp
import pytest

from support import node_proxy
from support.payments import Json
from support.promises import promise
from support.serve_process import ForkedServeProcess
from support.stage import Stage, own_relayer
from testing.waiting import until

SEND: Final = "sendTransaction"
_LIFE_LEDGERS: Final = 700  # more than two minutes
_FOUND_S: Final = 8  # only the pass at the start can find a row this young


@promise("error:never-a-double-charge", "settle:reconciles-by-hash")
async def test_repeat_resends_same_envelope_when_killed_before_sending(
    stage: Stage,
) -> None:
    settings = stage.environment | await own_relayer(stage)
    body = await _lasting_payment(stage)
    before = await _paid(stage, body)
    reached, hold = asyncio.Event(), asyncio.Event()
    stage.node().on(SEND, _held(reached, hold))
    await _settle_and_kill(settings, body, reached)
    hold.set()
    first = _envelopes(stage)
    (row,) = await stage.query("SELECT state, tx_hash FROM settlements")
    assert row["state"] == "sending"
    stage.node().reset()
    async with ForkedServeProcess(settings) as again:
        await asyncio.sleep(0)
        assert stage.node().counts()[SEND] == 0, "nothing is sent without a caller"
        outcome = await again.settle(body)
        assert (outcome["success"], outcome["transaction"]) == (True, row["tx_hash"].hex())
        assert _envelopes(stage) == first
        assert (await again.settle(body))["errorReason"] == "duplicate_settlement"
    assert await _paid(stage, body) == before + 1


@promise("error:never-a-double-charge", "settle:reconciles-by-hash")
async def test_restart_confirms_payment_without_caller_when_killed_after_sending(
    stage: Stage,
) -> None:
    settings = stage.environment | await own_relayer(stage)
    body = await _lasting_payment(stage)
    before = await _paid(stage, body)
    reached, hold = asyncio.Event(), asyncio.Event()
    stage.node().on(SEND, _carried_out(reached, hold))
    await _settle_and_kill(settings, body, reached)
    hold.set()
    stage.node().reset()
    async with ForkedServeProcess(settings) as again:
        tx_hash = await _until(stage, "confirmed")
        outcome = await again.settle(body)
        assert (outcome["success"], outcome["transaction"]) == (True, tx_hash)
        assert (await again.settle(body))["success"] is False
    assert stage.node().counts()[SEND] == 0
    assert await _paid(stage, body) == before + 1


@promise("error:never-a-double-charge")
async def test_restart_sends_nothing_when_killed_before_signing(
    stage: Stage,
) -> None:
    settings = stage.environment | await own_relayer(stage)
    body = await _lasting_payment(stage)
    before = await _paid(stage, body)
    reached, hold = asyncio.Event(), asyncio.Event()
    async with ForkedServeProcess(settings) as service:
        stage.node().on("getLedgerEntries", _held(reached, hold))
        settling = asyncio.ensure_future(service.settle(body))
        await _until(stage, "claimed")
        await service.kill()
        with pytest.raises(aiohttp.ClientError):
            await settling
    hold.set()
    stage.node().reset()
    async with ForkedServeProcess(settings):
        sequence = await stage.ledger().latest()
        await stage.ledger().wait_past(sequence + 5)
        assert stage.node().counts()[SEND] == 0
    assert await _paid(stage, body) == before


async def _lasting_payment(stage: Stage) -> Json:
    """The body of a payment that does not expire while the service is started twice."""
    expires = await stage.ledger().latest() + _LIFE_LEDGERS
    return (await stage.draft(timeout_s=3_600, expires_at_ledger=expires)).request()


async def _settle_and_kill(settings: dict[str, str], body: Json, reached: asyncio.Event) -> None:
    async with ForkedServeProcess(settings) as service:
        settling = asyncio.ensure_future(service.settle(body))
        await asyncio.wait_for(reached.wait(), 20)
        await service.kill()
        with pytest.raises(aiohttp.ClientError):
            await settling


def _held(reached: asyncio.Event, hold: asyncio.Event) -> node_proxy.Step:
    """The call is swallowed: it says that it came, and never gets any further."""

    async def step(call: node_proxy.Call, forward: node_proxy.Forward) -> Json:
        del call, forward
        reached.set()
        await hold.wait()
        return {"jsonrpc": "2.0", "error": {"code": -32603, "message": "too late"}}

    return step


def _carried_out(reached: asyncio.Event, hold: asyncio.Event) -> node_proxy.Step:
    """The call is carried out, and its answer is held back."""

    async def step(call: node_proxy.Call, forward: node_proxy.Forward) -> Json:
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
    in_state = "SELECT tx_hash FROM settlements WHERE state = $1"
    (row,) = await until(lambda: stage.query(in_state, state), _FOUND_S)
    return str(row["tx_hash"].hex()) if row["tx_hash"] else ""


async def _paid(stage: Stage, body: Json) -> int:
    """How many times the payee was paid the amount of this body."""
    terms = body["paymentRequirements"]
    held = await stage.ledger().balance(terms["asset"], terms["payTo"])
    return held // int(terms["amount"])
