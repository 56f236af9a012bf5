"""What a paid call to a wrapper of this service delivers, and what stays to be delivered."""

import asyncio
from typing import Any

import pytest

from farebox.mcp.call_response import MAX_RESPONSE_BYTES
from support.agent import Agent
from support.asgi import ClientDisconnected
from support.paid_gateway import PaidGateway
from support.upstream import GatedUpstream, answers, says
from testing.waiting import until

Json = dict[str, Any]
LARGE = b"x" * (MAX_RESPONSE_BYTES + 1)
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


@pytest.fixture
async def shop(shared_shop: PaidGateway) -> PaidGateway:
    """The service that these tests share."""
    return shared_shop


async def sign(shop: PaidGateway, wrapper: Json, method: str = "GET") -> str:
    """Sign a payment for the wrapper's offer."""
    return await shop.sign((await shop.offer(wrapper, method=method))["accepts"][0])


async def payment_of(shop: PaidGateway) -> tuple[str, int, bool]:
    """The state of the one payment, its attempts, and whether one is in progress."""
    row = await shop.stage.query(
        "SELECT state, attempts, attempt_until IS NOT NULL AS is_open FROM gateway_payments"
    )
    return row[0]["state"], row[0]["attempts"], row[0]["is_open"]


async def leave_while_called(
    shop: PaidGateway, agent: Agent, upstream: GatedUpstream, arguments: Json
) -> None:
    """Make a call, and leave once the upstream has it."""
    shop.upstream.answer = upstream.answer
    params = {"name": "paid_call", "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    leave = asyncio.Event()
    calling = asyncio.create_task(agent.send(message, leave=leave))
    await until(lambda: shop.upstream.requests)
    leave.set()
    with pytest.raises(ClientDisconnected):
        await calling


@pytest.mark.parametrize("announced", [True, False])
async def test_response_that_no_result_can_hold_is_not_delivered_and_stays_to_be_had_over_http(
    shop: PaidGateway, agent: Agent, announced: bool
) -> None:
    wrapper = await shop.serve(maxResponseBytes=2 * MAX_RESPONSE_BYTES)
    payment = await sign(shop, wrapper)
    shop.upstream.answer = answers(LARGE) if announced else says(b"HTTP/1.1 200 OK\r\n\r\n" + LARGE)
    cause = "response_above_limit_of_paid_call"
    if announced:
        content = await agent.paid_call(wrapper["endpoint"], paymentSignature=payment)
        assert (content["isPaid"], content["outcome"]) == (True, "settled_not_delivered")
        assert cause in content["body"]["error"]["message"]
        assert "over HTTP" in content["body"]["error"]["message"]
    else:
        error = await agent.refused_call(wrapper["endpoint"], paymentSignature=payment)
        assert (error["data"]["cause"], error["data"]["outcome"]) == (
            cause, "settled_not_delivered",
        )  # fmt: skip
    assert await payment_of(shop) == ("paid", 1, False)
    over_http = await shop.buy(wrapper, payment=payment)
    assert (over_http.status, over_http.body == LARGE) == (200, True)
    assert await payment_of(shop) == ("delivered", 2, False)
    assert await shop.stage.rows() == 1


async def test_largest_response_that_a_result_can_hold_is_delivered(
    shop: PaidGateway, agent: Agent
) -> None:
    wrapper = await shop.serve(maxResponseBytes=2 * MAX_RESPONSE_BYTES)
    shop.upstream.answer = answers(LARGE[1:])
    response = await agent.ask(
        "tools/call",
        {
            "name": "paid_call",
            "arguments": {
                "url": wrapper["endpoint"], "paymentSignature": await sign(shop, wrapper),
            },
        },
    )  # fmt: skip
    content = response["result"]["structuredContent"]
    assert (content["status"], len(content["body"])) == (200, MAX_RESPONSE_BYTES)
    assert (await payment_of(shop))[0] == "delivered"


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_response_whose_agent_left_waits_for_the_same_call(
    shop: PaidGateway, agent: Agent, method: str
) -> None:
    wrapper = await shop.serve()
    payment = await sign(shop, wrapper, method)
    arguments = {"url": wrapper["endpoint"], "method": method, "paymentSignature": payment}
    upstream = GatedUpstream(b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsunny")
    await leave_while_called(shop, agent, upstream, arguments)
    upstream.gate.set()

    async def has_ended() -> bool:
        return await payment_of(shop) == ("paid", 1, False)

    await until(has_ended)
    content = await agent.paid_call(wrapper["endpoint"], method=method, paymentSignature=payment)
    assert (content["body"], content["isPaid"]) == ("sunny", True)
    assert len(shop.upstream.requests) == 1
    assert (await payment_of(shop))[0] == "delivered"


async def test_stream_that_its_agent_leaves_is_ended_and_not_delivered(
    shop: PaidGateway, agent: Agent
) -> None:
    wrapper = await shop.serve()
    payment = await sign(shop, wrapper)
    arguments = {"url": wrapper["endpoint"], "paymentSignature": payment}
    upstream = GatedUpstream(STREAM + b"data: 1\n\n", b"data: 2\n\n")
    await leave_while_called(shop, agent, upstream, arguments)
    await asyncio.wait_for(upstream.hung_up.wait(), 20)

    async def has_ended() -> bool:
        return await payment_of(shop) == ("paid", 1, False)

    await until(has_ended)
    upstream.gate.set()
    content = await agent.paid_call(wrapper["endpoint"], paymentSignature=payment)
    assert (content["body"], content["nextAction"]) == ("data: 1\n\ndata: 2\n\n", "COMPLETE")
    assert (await payment_of(shop))[0] == "delivered"


async def test_402_of_the_upstream_is_no_delivery_and_invites_no_second_signature(
    shop: PaidGateway, agent: Agent
) -> None:
    wrapper = await shop.serve()
    payment = await sign(shop, wrapper)
    shop.upstream.answer = answers(b"pay me", status="402 Payment Required")
    over_http = await shop.buy(wrapper, payment=payment)
    assert over_http.status == 502
    assert "payment-response" in over_http.headers
    content = await agent.paid_call(wrapper["endpoint"], paymentSignature=payment)
    assert (content["status"], content["outcome"], content["nextAction"]) == (
        502, "settled_not_delivered", "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT",
    )  # fmt: skip
    assert await payment_of(shop) == ("paid", 2, False)
