"""Cases 3.5 and 3.6: what a wrapper may be, and the way of its credential."""

import gzip

import pytest
from stellar_sdk import Keypair

from farebox.kernel.addresses import contract_address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.callers import sign_in_wallet
from support.paid_gateway import WRAPPERS, PaidGateway, gateway_path
from support.payment_headers import receipt
from support.promises import case, promise
from support.upstream import answers, says


@pytest.fixture
async def shop(shared_shop: PaidGateway) -> PaidGateway:
    """The service that these tests share."""
    return shared_shop


@case("GW-068")
async def test_price_that_is_none_is_refused(shop: PaidGateway) -> None:
    path = f"{WRAPPERS}/{(await shop.create())['id']}"
    for amount in ("0", "-1", "1.5", "1e3", "", " 1", "00", str(2**127), "9" * 400, 1, None, "０"):
        answer = await shop.send("POST", WRAPPERS, shop.body(amount=amount))
        assert answer.status == 400, (amount, answer.body)
        changed = await shop.send("PATCH", path, {"amount": amount})
        assert changed.status == 400, amount


@case("GW-069")
async def test_recipient_that_cannot_receive_is_refused(shop: PaidGateway) -> None:
    unfunded = "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI"
    without_trustline = (await shop.stage.ledger().account()).public_key
    for pay_to in (unfunded, without_trustline, relayer(shop)):
        answer = await shop.send("POST", WRAPPERS, shop.body(payTo=pay_to))
        assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid_wrapper")
        assert "payTo" in answer.json()["error"]["message"], answer.body


def relayer(shop: PaidGateway) -> str:
    """The operator's account on testnet."""
    secret = shop.stage.environment["FAREBOX_RELAYER_SECRET_TESTNET"]
    return Keypair.from_secret(secret).public_key


@case("GW-070")
async def test_asset_that_is_no_token_is_refused(shop: PaidGateway) -> None:
    scene = shop.stage.networks[Network.TESTNET].scene
    absent = contract_address(bytes([9]) * 32)
    for asset in (absent, scene.payees[0].address, "C" * 56, "USDC", ""):
        answer = await shop.send("POST", WRAPPERS, shop.body(asset=asset))
        assert answer.status == 400, asset


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
        "UPDATE vault_secrets SET sealed = set_byte(sealed, 0, 255 - get_byte(sealed, 0))"
        " WHERE id = $1",
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
        b"sunny",
        headers=("X-Echo: Bearer s3cret-value", "X-S3cret-Value: 1", "X-Host: seller.example.com"),
    )
    wrapper = await shop.serve(name="Quixotic tides", authType="bearer", secretId=secret["id"])
    bought = await shop.buy(wrapper)
    shop.upstream.answer = answers(status="500 Oops", headers=("X-Echo: Bearer s3cret-value",))
    failed = await shop.buy(wrapper)
    shop.upstream.answer = answers(b'{"authorization": "Bearer s3cret-value"}')
    echoed = await shop.buy(wrapper)
    assert echoed.status == 502
    assert "upstream_response_shows_credential" in echoed.json()["error"]["message"]
    shown = gzip.compress(b'{"authorization": "Bearer s3cret-value"}')
    shop.upstream.answer = answers(shown, headers=("Content-Encoding: gzip",))
    packed = await shop.buy(wrapper)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
    shop.upstream.answer = says(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(shown), shown))
    sent_packed = await shop.buy(wrapper)
    for each in (packed, sent_packed):
        assert (each.status, shown in each.body) == (502, False)
    public = [
        bought,
        failed,
        echoed,
        packed,
        sent_packed,
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
    await shop.analytics(wrapper, requests=2)
    await shop.send("DELETE", f"{WRAPPERS}/{wrapper['id']}")
    url = Secret(shop.stage.environment["FAREBOX_DATABASE_URL"])
    async with Database(url, connections=1) as database:
        other = await sign_in_wallet(database)
    payee = shop.stage.networks[Network.TESTNET].scene.payees[1]
    body = shop.body(name="Tide tables", payTo=payee.address)
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
