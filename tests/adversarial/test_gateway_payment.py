"""Cases 3.5 and 3.6: payment at the gateway, and the way of a credential."""

import asyncio
import base64
import json
from typing import Any

import pytest
from stellar_sdk import Keypair

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node_proxy
from support.asgi import Answer, AsgiClient
from support.paid_gateway import ORIGIN, WRAPPERS, PaidGateway, gateway_path
from support.payment_headers import receipt, required
from support.payments import Json
from support.promises import case, promise
from support.stage import service
from support.upstream import answers, drops
from testing.waiting import until


@pytest.fixture
async def shop(shared_shop: PaidGateway) -> PaidGateway:
    """The service that these tests share."""
    return shared_shop


@case("GW-055")
@promise("gateway:unpaid-is-402", "wrapper:base-unit-price", "wrapper:what-a-seller-supplies")
async def test_offer_has_the_exact_terms_and_this_resource(shop: PaidGateway) -> None:
    pubnet = shop.stage.networks[Network.PUBNET].scene
    testnet = shop.stage.networks[Network.TESTNET].scene
    accepts = [
        {
            "network": network.value,
            "asset": scene.asset,
            "amount": amount,
            "payTo": scene.payees[0].address,
        }
        for network, scene, amount in (
            (Network.TESTNET, testnet, "10000"),
            (Network.PUBNET, pubnet, "20000"),
        )
    ]
    wrapper = await serve_with(shop, accepts)
    answer = await shop.client.get(gateway_path(wrapper, "/city"))
    assert (answer.status, answer.headers["cache-control"]) == (402, "private, no-store")
    assert len(answer.headers["payment-required"]) < 8 * 1024
    offer = required(answer)
    assert offer == answer.json()
    assert offer["resource"]["url"] == f"{ORIGIN}{gateway_path(wrapper, '/city')}"
    shown = [{name: each[name] for name in accepts[0]} for each in offer["accepts"]]
    assert shown == accepts
    assert {each["scheme"] for each in offer["accepts"]} == {"exact"}


async def serve_with(shop: PaidGateway, accepts: list[dict[str, str]]) -> Json:
    """Create and enable a wrapper with several terms."""
    body = {
        "name": "City weather",
        "upstreamUrl": "https://seller.example.com/",
        "accepts": accepts,
    }
    answer = await shop.send("POST", WRAPPERS, body)
    assert answer.status == 201, answer.body
    return await shop.enable(answer.json())


def packed(value: object) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


@case("GW-056")
async def test_header_without_a_payment_settles_nothing(shop: PaidGateway) -> None:
    wrapper = await shop.serve()
    for value, status in (
        ("not base64!", 400),
        (base64.b64encode(b"not json").decode(), 400),
        (packed([1, 2]), 400),
        (packed("x"), 400),
        (packed({}), 400),
        ("", 400),
        ("A" * 20_000, 400),
        (packed({"x402Version": 2}) + "," + packed({"x402Version": 2}), 400),
        (packed({"x402Version": 2, "accepted": {}, "payload": {}}), 402),
    ):
        answer = await shop.buy(wrapper, payment=value)
        assert answer.status == status, value[:40]
    assert shop.upstream.requests == []
    assert await shop.stage.rows() == 0


@case("GW-056")
async def test_header_of_version_one_counts_as_no_payment(shop: PaidGateway) -> None:
    wrapper = await shop.serve()
    payment = await shop.sign((await shop.offer(wrapper))["accepts"][0])
    answer = await shop.client.request("GET", gateway_path(wrapper), headers={"x-payment": payment})
    assert (answer.status, answer.json()["error"]) == (402, "Payment required")
    assert shop.upstream.requests == []


@case("GW-059")
@promise("gateway:pays-before-upstream", "wrapper:counters-across-replicas")
async def test_one_payment_fifty_times_on_two_replicas_settles_and_calls_once(
    shop: PaidGateway,
) -> None:
    wrapper = await shop.serve()
    payment = await shop.sign((await shop.offer(wrapper))["accepts"][0])

    async def buy(client: AsgiClient) -> Answer:
        return await client.request(
            "GET", gateway_path(wrapper), headers={"payment-signature": payment}
        )

    async with service(shop.stage.environment) as replica:
        clients = [shop.client, replica] * 25
        answered = await asyncio.gather(*map(buy, clients))
    assert {(each.status, each.body) for each in answered} == {(200, b"sunny")}
    assert len({receipt(each)["transaction"] for each in answered}) == 1
    assert len(shop.upstream.requests) == 1
    assert await shop.stage.rows() == 1


@case("GW-064")
async def test_payment_that_names_another_resource_buys_the_requested_one(
    shop: PaidGateway,
) -> None:
    wrapper = await shop.serve()
    offer = await shop.offer(wrapper)
    payment = json.loads(base64.b64decode(await shop.sign(offer["accepts"][0])))
    payment["resource"] = {"url": "https://evil.example/gateway/other", "description": "Mine."}
    payment["extensions"] = {"bazaar": {"info": {}, "schema": {}}}
    answer = await shop.buy(wrapper, payment=packed(payment))
    assert answer.status == 200
    (row,) = await shop.stage.query("SELECT discovery FROM settlements")
    assert b"evil.example" not in row["discovery"]
    assert offer["resource"]["url"].encode() in row["discovery"]


@case("GW-066")
@promise("wrapper:quota", "wrapper:rate-limit")
async def test_quota_holds_exactly_and_starts_again_with_the_month(shop: PaidGateway) -> None:
    wrapper = await shop.serve(monthlyRequestQuota=1)
    assert (await shop.offer(wrapper))["accepts"], "an unpaid request consumes nothing"
    assert (await shop.buy(wrapper)).status == 200
    refused = await shop.buy(wrapper)
    assert (refused.status, refused.json()["error"]["code"]) == (429, "monthly_quota_used")
    assert "retry-after" in refused.headers
    assert await shop.stage.rows() == 1
    await shop.stage.query(
        "UPDATE wrapper_counters SET month = month - interval '1 month' WHERE wrapper_id = $1",
        wrapper["id"],
    )
    assert (await shop.buy(wrapper)).status == 200
    (row,) = await shop.stage.query(
        "SELECT month, month_count FROM wrapper_counters WHERE wrapper_id = $1", wrapper["id"]
    )
    assert row["month_count"] == 1
    assert row["month"].day == 1


@case("GW-066")
async def test_refused_payment_consumes_no_quota(shop: PaidGateway) -> None:
    wrapper = await shop.serve(monthlyRequestQuota=1)
    terms = (await shop.offer(wrapper))["accepts"][0]
    poor = await shop.stage.ledger().account()
    payment = await shop.sign(terms, payer=poor.public_key, signers=(poor,))
    assert (await shop.buy(wrapper, payment=payment)).status == 402
    assert (await shop.buy(wrapper)).status == 200


@case("GW-066")
async def test_payments_that_are_being_judged_take_no_place_from_others(shop: PaidGateway) -> None:
    """Unfunded payers cost nothing; control: counted before, they leave no place to the buyer."""
    wrapper = await shop.serve(maxConcurrentRequests=1, monthlyRequestQuota=1)
    terms = (await shop.offer(wrapper))["accepts"][0]
    unfunded = [Keypair.random() for _ in range(3)]
    forged = [await shop.sign(terms, payer=each.public_key, signers=(each,)) for each in unfunded]
    signed, held, is_over = await shop.sign(terms), [0], asyncio.Event()

    async def hold(call: object, forward: node_proxy.Forward) -> Json:
        if held[0] < len(forged):
            held[0] += 1
            await is_over.wait()
        return await forward()

    shop.stage.node().on("simulateTransaction", hold)
    refused = [asyncio.create_task(shop.buy(wrapper, payment=each)) for each in forged]
    await until(lambda: held[0] == len(forged))
    bought = await shop.buy(wrapper, payment=signed)
    is_over.set()
    answers_ = await asyncio.gather(*refused)
    assert bought.status == 200, bought.body
    assert [required(each)["error"] for each in answers_] == [Reason.ENTRY_MISSING] * 3


@case("GW-071")
@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
async def test_request_is_never_repeated_inside_the_gateway(shop: PaidGateway, method: str) -> None:
    shop.upstream.answer = drops()
    answer = await shop.buy(await shop.serve(), method=method, body=b"{}")
    assert answer.status == 502
    assert len(shop.upstream.requests) == 1
    left = answer.json()["error"]["details"]["attemptsLeft"]
    assert left == (0 if method in ("POST", "PATCH") else 4)


@case("GW-072")
@promise("wrapper:analytics")
async def test_analytics_name_each_outcome_and_no_credential(shop: PaidGateway) -> None:
    secret = await shop.secret(purpose="bearer")
    wrapper = await shop.serve(
        authType="bearer", secretId=secret["id"], requestsPerMinute=3, maxRequestBytes=10
    )
    await shop.offer(wrapper)
    bought = await shop.buy(wrapper, "/paid?token=quixotic", payment=await sign(shop, wrapper))
    await shop.buy(wrapper, payment="not base64!")
    shop.upstream.answer = answers(status="500 Oops")
    failed = await shop.buy(wrapper, payment=await sign(shop, wrapper))
    poor = await shop.stage.ledger().account()
    await shop.buy(
        wrapper, payment=await sign(shop, wrapper, payer=poor.public_key, signers=(poor,))
    )
    body = await shop.analytics(wrapper, requests=8)
    rows = {(each["outcome"], each["status"], each["transaction"]) for each in body["requests"]}
    assert rows == {
        ("CHALLENGED", 402, None),
        ("UPSTREAM_SUCCESS", 200, receipt(bought)["transaction"]),
        ("REFUSED", 400, None),
        ("UPSTREAM_ERROR", 502, receipt(failed)["transaction"]),
        ("VERIFY_FAILED", 402, None),
    }
    assert body["summary"]["outcomes"]["CHALLENGED"] == 4
    assert body["summary"]["errors"]["upstream_failed"] == 1
    (success,) = [each for each in body["requests"] if each["outcome"] == "UPSTREAM_SUCCESS"]
    assert (success["path"], success["responseBytes"]) == ("/paid", len(b"sunny"))
    assert success["durationMs"] > 0
    landed = [(each["transaction"], each["state"], each["amount"]) for each in body["payments"]]
    assert landed == [
        (receipt(failed)["transaction"], "paid", "10000"),
        (receipt(bought)["transaction"], "delivered", "10000"),
    ]
    assert "quixotic" not in str(body)
    rows_text = str(await shop.stage.query("SELECT * FROM gateway_requests"))
    assert "bearer" not in rows_text.lower()


async def sign(shop: PaidGateway, wrapper: Json, **changes: Any) -> str:
    return await shop.sign((await shop.offer(wrapper))["accepts"][0], **changes)


@promise("gateway:verify-failure-never-delivers", "gateway:receipt")
@promise("payload:header-is-the-same-object")
async def test_payment_that_fails_verification_never_reaches_the_upstream(
    shop: PaidGateway,
) -> None:
    wrapper = await shop.serve()
    poor = await shop.stage.ledger().account()
    refused = await shop.buy(
        wrapper, payment=await sign(shop, wrapper, payer=poor.public_key, signers=(poor,))
    )
    assert refused.status == 402
    assert required(refused)["error"] != "Payment required"
    assert shop.upstream.requests == []
    bought = await shop.buy(wrapper)
    assert receipt(bought)["success"] is True
    assert len(shop.upstream.requests) == 1
