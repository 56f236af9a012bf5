"""The origin documents of a service with wrappers."""

import asyncio

import pytest

from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import usdc_contract
from support.paid_gateway import ORIGIN, PaidGateway, gateway_path
from support.upstream import answers
from testing.waiting import until

BOTH = ("/openapi.json", "/.well-known/x402")


@pytest.fixture
async def shop(shared_shop: PaidGateway) -> PaidGateway:
    """The service that these tests share."""
    return shared_shop


async def list_in_usdc(shop: PaidGateway) -> dict[str, object]:
    """Enable a wrapper whose price is in USDC; the devnet has no such token, so not by the API."""
    wrapper = await shop.create(description="Weather of each city.")
    await shop.stage.query(
        "UPDATE wrappers SET is_enabled = true, updated_at = clock_timestamp(),"
        " settings = jsonb_set(settings, '{terms,0,asset}', to_jsonb($2::text)) WHERE id = $1",
        wrapper["id"],
        usdc_contract(Network.TESTNET),
    )
    return wrapper


async def test_documents_name_enabled_wrappers_in_usdc_within_a_second(shop: PaidGateway) -> None:
    assert (await shop.client.get("/.well-known/x402")).json()["resources"] == []
    wrapper = await list_in_usdc(shop)
    loop = asyncio.get_running_loop()
    late_at = loop.time() + 3

    async def is_named() -> bool:
        is_late = loop.time() >= late_at  # when it was asked: a machine may stall meanwhile
        answer = await shop.client.get("/.well-known/x402")
        named = answer.json()["resources"]
        assert named or not is_late
        return bool(named == [f"{ORIGIN}{gateway_path(wrapper)}"])

    await until(is_named)
    document = (await shop.client.get("/openapi.json")).json()
    assert list(document["paths"]) == [gateway_path(wrapper)]
    assert b"seller.example.com" not in (await shop.client.get("/openapi.json")).body


@pytest.mark.parametrize("path", BOTH)
async def test_unchanged_document_is_not_sent_again(shop: PaidGateway, path: str) -> None:
    first = await shop.client.get(path)
    assert (first.status, first.headers["cache-control"]) == (200, "public, max-age=30")
    for named in (first.headers["etag"], f'"x", W/{first.headers["etag"]}', "*"):
        again = await shop.client.request("GET", path, headers={"if-none-match": named})
        assert (again.status, again.body) == (304, b"")
    other = await shop.client.request("GET", path, headers={"if-none-match": '"x"'})
    assert other.body == first.body


async def test_check_shows_the_upstream_s_status_and_the_offer(shop: PaidGateway) -> None:
    secret = await shop.secret(purpose="bearer")
    wrapper = await shop.create(authType="bearer", secretId=secret["id"])
    shop.upstream.answer = answers(b"", length=5)  # a HEAD request has the length alone
    answer = await shop.send("POST", f"/v1/wrappers/{wrapper['id']}/check")
    assert answer.status == 200, answer.body
    body = answer.json()
    assert (body["ready"], body["upstream"]["status"]) == (True, 200)
    assert body["offer"]["accepts"][0]["amount"] == "10000"
    assert shop.upstream.requests[0].startswith(b"HEAD /base HTTP/1.1\r\n")
    assert await shop.stage.rows() == 0


async def test_check_names_an_upstream_that_cannot_be_called(shop: PaidGateway) -> None:
    wrapper = await shop.create()
    shop.upstream.answer = answers(b"", status="999999 no")
    body = (await shop.send("POST", f"/v1/wrappers/{wrapper['id']}/check")).json()
    assert body["ready"] is False
    assert body["upstream"]["problem"].startswith("The upstream cannot be called: ")
