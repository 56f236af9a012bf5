"""Cases 3.5 and 3.6: payment at the gateway, and the way of a credential."""

import asyncio
import base64
import json
from typing import Any

import pytest
from stellar_sdk import Keypair

from farebox.kernel.addresses import contract_address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import Answer, AsgiClient
from support.callers import sign_in_wallet
from support.paid_gateway import (
    ORIGIN,
    WRAPPERS,
    PaidGateway,
    gateway_path,
    receipt,
    required,
)
from support.payments import Json
from support.promises import case, promise
from support.stage import service
from support.upstream import answers, drops
from support.waiting import until


async def analytics(shop: PaidGateway, wrapper: Json, requests: int) -> Json:
    """The analytics of a wrapper, once so many requests are recorded."""
    path = f"{WRAPPERS}/{wrapper['id']}/analytics"

    async def is_recorded() -> bool:
        return len((await shop.send("GET", path)).json()["requests"]) == requests

    await until(is_recorded)
    return (await shop.send("GET", path)).json()


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
@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("not base64!", 400),
        (base64.b64encode(b"not json").decode(), 400),
        (packed([1, 2]), 400),
        (packed("x"), 400),
        (packed({}), 400),
        ("", 400),
        ("A" * 20_000, 400),
        (packed({"x402Version": 2}) + "," + packed({"x402Version": 2}), 400),
        (packed({"x402Version": 2, "accepted": {}, "payload": {}}), 402),
    ],
)
async def test_header_without_a_payment_settles_nothing(
    shop: PaidGateway, value: str, status: int
) -> None:
    wrapper = await shop.serve()
    answer = await shop.buy(wrapper, payment=value)
    assert answer.status == status
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
    (row,) = await shop.stage.query("SELECT month, month_count FROM wrapper_counters")
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


@case("GW-068")
@pytest.mark.parametrize(
    "amount", ["0", "-1", "1.5", "1e3", "", " 1", "00", str(2**127), "9" * 400, 1, None, "０"]
)
async def test_price_that_is_none_is_refused(shop: PaidGateway, amount: object) -> None:
    scene = shop.stage.networks[Network.TESTNET].scene
    body = {
        "name": "City weather",
        "upstreamUrl": "https://seller.example.com/",
        "network": "stellar:testnet",
        "asset": scene.asset,
        "amount": amount,
        "payTo": scene.payees[0].address,
    }
    answer = await shop.send("POST", WRAPPERS, body)
    assert answer.status == 400, answer.body
    wrapper = await shop.create()
    changed = await shop.send("PATCH", f"{WRAPPERS}/{wrapper['id']}", {"amount": amount})
    assert changed.status == 400


@case("GW-069")
async def test_recipient_that_cannot_receive_is_refused(shop: PaidGateway) -> None:
    scene = shop.stage.networks[Network.TESTNET].scene
    unfunded = "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI"
    without_trustline = (await shop.stage.ledger().account()).public_key
    for pay_to in (unfunded, without_trustline, *relayers(shop)):
        body = {
            "name": "City weather",
            "upstreamUrl": "https://seller.example.com/",
            "network": "stellar:testnet",
            "asset": scene.asset,
            "amount": "1",
            "payTo": pay_to,
        }
        answer = await shop.send("POST", WRAPPERS, body)
        assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid_wrapper")
        assert "payTo" in answer.json()["error"]["message"], answer.body


def relayers(shop: PaidGateway) -> list[str]:
    """The operator's account on testnet."""
    return [
        Keypair.from_secret(shop.stage.environment["FAREBOX_RELAYER_SECRET_TESTNET"]).public_key
    ]


@case("GW-070")
async def test_asset_that_is_no_token_is_refused(shop: PaidGateway) -> None:
    scene = shop.stage.networks[Network.TESTNET].scene
    absent = contract_address(bytes([9]) * 32)
    for asset in (absent, scene.payees[0].address, "C" * 56, "USDC", ""):
        body: dict[str, Any] = {
            "name": "City weather",
            "upstreamUrl": "https://seller.example.com/",
            "network": "stellar:testnet",
            "asset": asset,
            "amount": "1",
            "payTo": scene.payees[0].address,
        }
        assert (await shop.send("POST", WRAPPERS, body)).status == 400, asset


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
    body = await analytics(shop, wrapper, requests=8)
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


@case("GW-074")
@promise("wrapper:update")
async def test_another_host_of_the_upstream_removes_the_credential(shop: PaidGateway) -> None:
    secret = await shop.secret(purpose="bearer")
    wrapper = await shop.serve(authType="bearer", secretId=secret["id"])
    path = f"{WRAPPERS}/{wrapper['id']}"
    moved = await shop.send("PATCH", path, {"upstreamUrl": "https://other.example.com/"})
    assert moved.status == 200, moved.body
    assert (moved.json()["secretId"], moved.json()["authType"]) == (None, "none")
    back = await shop.send(
        "PATCH",
        path,
        {
            "upstreamUrl": "https://seller.example.com/",
            "authType": "bearer",
            "secretId": secret["id"],
        },
    )
    assert back.json()["secretId"] == secret["id"]


@case("GW-075")
@promise("wrapper:optional-credential", "gateway:credential-injected")
async def test_rotated_secret_is_used_by_the_next_call(shop: PaidGateway) -> None:
    secret = await shop.secret(purpose="header", value="first-value")
    wrapper = await shop.serve(
        authType="header", authHeader="X-Upstream-Key", secretId=secret["id"]
    )
    await shop.buy(wrapper)
    rotated = await shop.send(
        "POST", f"/v1/vault/secrets/{secret['id']}/rotate", {"value": "second-value"}
    )
    assert rotated.status == 200, rotated.body
    await shop.buy(wrapper)
    first, second = shop.upstream.requests
    assert b"\r\nX-Upstream-Key: first-value\r\n" in first
    assert b"\r\nX-Upstream-Key: second-value\r\n" in second
    assert b"first-value" not in second


@case("GW-075")
async def test_secret_in_use_is_not_deleted_and_a_lost_one_stops_every_call(
    shop: PaidGateway,
) -> None:
    secret = await shop.secret(purpose="bearer")
    wrapper = await shop.serve(authType="bearer", secretId=secret["id"])
    deleted = await shop.send("DELETE", f"/v1/vault/secrets/{secret['id']}")
    assert (deleted.status, deleted.json()["error"]["code"]) == (409, "secret_in_use")
    await shop.stage.query(
        "UPDATE vault_secrets SET sealed = decode('00', 'hex') || substr(sealed, 2) WHERE id = $1",
        secret["id"],
    )
    answer = await shop.buy(wrapper)
    assert answer.status == 503
    assert shop.upstream.requests == []
    assert await shop.stage.rows() == 0


@promise("gateway:credential-never-returned", "origin:no-private-configuration")
@promise("entry:upstream-hidden")
@case("CT-044")
async def test_upstream_secret_and_owner_are_shown_to_nobody(shop: PaidGateway) -> None:
    secret = await shop.secret(purpose="bearer", name="my upstream key", value="s3cret-value")
    shop.upstream.answer = answers(
        b"sunny", headers=("X-Echo: Bearer s3cret-value", "X-Host: seller.example.com")
    )
    wrapper = await shop.serve(name="Quixotic tides", authType="bearer", secretId=secret["id"])
    bought = await shop.buy(wrapper)
    shop.upstream.answer = answers(status="500 Oops", headers=("X-Echo: Bearer s3cret-value",))
    failed = await shop.buy(wrapper)
    shop.upstream.answer = answers(b'{"authorization": "Bearer s3cret-value"}')
    echoed = await shop.buy(wrapper)
    assert echoed.status == 502
    assert "upstream_response_shows_credential" in echoed.json()["error"]["message"]
    public = [
        bought,
        failed,
        echoed,
        await shop.client.get(gateway_path(wrapper)),
        await shop.client.get("/discovery/resources?limit=100"),
        await shop.client.get("/discovery/search?query=quixotic%20tides"),
        await shop.client.get("/openapi.json"),
        await shop.client.get("/.well-known/x402"),
        await shop.client.get(f"/v1/payments/{receipt(bought)['transaction']}"),
        await shop.client.get(f"{WRAPPERS}/{wrapper['id']}"),
    ]
    assert any(b"Quixotic tides" in each.body for each in public)
    text = "".join(f"{each.headers}{each.body!r}" for each in public)
    for private in (
        "seller.example.com", "s3cret", "my upstream key", secret["id"], shop.seller.owner,
        wrapper["id"],
    ):  # fmt: skip
        assert private not in text, private


@case("AU-035")
@promise("wrapper:owner-scoped", "wrapper:create", "wrapper:list", "account:scopes-records")
async def test_slug_that_was_given_up_stays_its_owner_s(shop: PaidGateway) -> None:
    wrapper = await shop.serve(slug="tide-tables")
    await shop.buy(wrapper)
    await analytics(shop, wrapper, requests=2)
    await shop.send("DELETE", f"{WRAPPERS}/{wrapper['id']}")
    url = Secret(shop.stage.environment["FAREBOX_DATABASE_URL"])
    async with Database(url, connections=1) as database:
        other = await sign_in_wallet(database)
    scene = shop.stage.networks[Network.TESTNET].scene
    body = {
        "name": "Tide tables",
        "upstreamUrl": "https://seller.example.com/",
        "network": "stellar:testnet",
        "asset": scene.asset,
        "amount": "1",
        "payTo": scene.payees[1].address,
    }
    taken = await shop.send("POST", WRAPPERS, body | {"slug": "tide-tables"}, wallet=other)
    assert (taken.status, taken.json()["error"]["code"]) == (409, "slug_taken")
    for slug in ("TIDE-tables", "tide_tables", "tïde-tables", "../settle", "a", "-ab"):
        refused = await shop.send("POST", WRAPPERS, body | {"slug": slug}, wallet=other)
        assert refused.status == 400, slug
    for slug in ("settle", "verify", "health"):  # names below /gateway/ only
        made = await shop.send("POST", WRAPPERS, body | {"slug": slug}, wallet=other)
        assert made.status == 201
    listed = await shop.send("GET", WRAPPERS, wallet=other)
    ids = {each["id"] for each in listed.json()["items"]}
    assert len(ids) == 3
    for each in ids:
        shown = await shop.send("GET", f"{WRAPPERS}/{each}/analytics", wallet=other)
        assert shown.json()["summary"]["requests"] == 0
        assert (await shop.send("GET", f"{WRAPPERS}/{each}")).status == 404
    again = await shop.create(slug="tide-tables")
    assert again["slug"] == "tide-tables"


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
