"""Agents over a real connection who end their sending side: some wait, others have left."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
import pytest

from farebox.web.half_closed import HalfClosableCycle
from support.agent import Agent
from support.paid_gateway import PaidGateway
from support.serving import serving
from support.upstream import GatedUpstream
from testing.waiting import until

INTERIM: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
SUNNY: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsunny"
_WITHIN_S: Final = 20.0
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def shop(shared_shop: PaidGateway) -> PaidGateway:
    """The service that these tests share."""
    return shared_shop


@asynccontextmanager
async def calling(shop: PaidGateway, arguments: dict[str, Any]) -> AsyncIterator[Streams]:
    """Make a call of `paid_call`, and end the sending side."""
    params = {"name": "paid_call", "arguments": arguments}
    body = msgspec.json.encode(
        {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    )
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    async with serving(shop.client) as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(head.encode() + body)
        writer.write_eof()
        try:
            yield reader, writer
        finally:
            writer.transport.abort()


async def paid_arguments(shop: PaidGateway, upstream: GatedUpstream) -> dict[str, Any]:
    """Sign a payment for a wrapper before an upstream that waits."""
    wrapper = await shop.serve()
    shop.upstream.answer = upstream.answer
    offer = await shop.offer(wrapper)
    return {
        "url": wrapper["endpoint"],
        "paymentSignature": await shop.sign(offer["accepts"][0]),
    }


async def state_of(shop: PaidGateway) -> str:
    """Return the state of the one payment, once no attempt is in progress."""

    async def ended() -> str | None:
        rows = await shop.stage.query(
            "SELECT state FROM gateway_payments"
            " WHERE attempt_until IS NULL AND attempts > 0 AND state <> 'reserved'"
        )
        return rows[0]["state"] if rows else None

    state: str | None = await until(ended)
    assert state is not None
    return state


async def close_after_the_sign(
    shop: PaidGateway, arguments: dict[str, Any], upstream: GatedUpstream
) -> str:
    """Give the sign that one is there, and close while the upstream works; return the state."""
    async with calling(shop, arguments) as (reader, writer):
        await asyncio.wait_for(reader.readuntil(INTERIM), _WITHIN_S)
        await until(lambda: shop.upstream.requests)
        writer.close()
        await writer.wait_closed()
        upstream.gate.set()
        return await state_of(shop)


@pytest.mark.parametrize("is_paid", [True, False])
async def test_half_closed_call_is_answered(shop: PaidGateway, is_paid: bool) -> None:
    upstream = GatedUpstream(b"", SUNNY)
    arguments = await paid_arguments(shop, upstream)
    if not is_paid:
        del arguments["paymentSignature"]
    async with calling(shop, arguments) as (reader, _):
        asyncio.get_running_loop().call_later(0.2, upstream.gate.set)
        answer = await asyncio.wait_for(reader.read(), _WITHIN_S)
    body = answer.replace(INTERIM, b"").partition(b"\r\n\r\n")[2]
    result = msgspec.json.decode(body)["result"]["structuredContent"]
    assert result.get("isPaid", False) is is_paid
    if is_paid:
        assert (result["body"], await state_of(shop)) == ("sunny", "delivered")


async def test_response_whose_half_closed_agent_left_waits_for_the_same_call(
    shop: PaidGateway, agent: Agent
) -> None:
    upstream = GatedUpstream(b"", SUNNY)
    arguments = await paid_arguments(shop, upstream)
    assert await close_after_the_sign(shop, arguments, upstream) == "paid"
    url, payment = arguments["url"], arguments["paymentSignature"]
    content = await agent.paid_call(url, paymentSignature=payment)
    assert (content["body"], len(shop.upstream.requests)) == ("sunny", 1)
    assert await state_of(shop) == "delivered"


async def test_control_without_a_further_sign_such_a_response_would_be_delivered(
    shop: PaidGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask_once(cycle: HalfClosableCycle) -> None:
        monkeypatch.setattr(HalfClosableCycle, "_ask_for_sign", lambda _: None)
        cycle.transport.write(INTERIM)

    monkeypatch.setattr(HalfClosableCycle, "_ask_for_sign", ask_once)
    upstream = GatedUpstream(b"", SUNNY)
    arguments = await paid_arguments(shop, upstream)
    assert await close_after_the_sign(shop, arguments, upstream) == "delivered"
