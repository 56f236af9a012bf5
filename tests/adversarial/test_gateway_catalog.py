"""Cases of the catalog that need wrappers: CT-061 and CT-062."""

import secrets
import time

from farebox.gateway.origin.documents import MAX_BYTES
from farebox.gateway.origin.serve_documents import MAX_WRAPPERS
from farebox.kernel.addresses import contract_address
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import usdc_contract
from support.paid_gateway import WRAPPERS, PaidGateway
from support.promises import case, promise
from support.stage import service
from testing.waiting import until

DOCUMENTS = ("/openapi.json", "/.well-known/x402")


@case("CT-061")
async def test_wrapper_that_is_switched_off_is_gone_everywhere(shop: PaidGateway) -> None:
    wrapper = await shop.serve(name="Quixotic tides", slug="quixotic-tides")
    await shop.stage.query(
        "UPDATE wrappers SET settings = jsonb_set(settings, '{terms,0,asset}', to_jsonb($1::text))",
        usdc_contract(Network.TESTNET),
    )
    places = (
        "/discovery/resources?limit=100",
        "/discovery/search?query=quixotic%20tides",
        *DOCUMENTS,
    )
    async with service(shop.stage.environment) as replica:
        clients = (shop.client, replica)
        for client in clients:
            for place in places:
                assert b"/gateway/quixotic-tides" in (await client.get(place)).body, place
        await shop.send("POST", f"{WRAPPERS}/{wrapper['id']}/disable")
        for client in clients:
            for place in places[:2]:
                assert b"/gateway/quixotic-tides" not in (await client.get(place)).body, place

        async def is_gone() -> bool:
            bodies = [(await client.get(each)).body for client in clients for each in DOCUMENTS]
            return not any(b"/gateway/quixotic-tides" in each for each in bodies)

        await until(is_gone, within_s=3)


@case("CT-062")
@promise("origin:openapi", "origin:well-known")
async def test_documents_of_ten_thousand_wrappers_are_bounded(shop: PaidGateway) -> None:
    wrapper = await shop.serve(slug="the-first")
    prefix = secrets.token_hex(4)
    await shop.stage.query(
        "INSERT INTO wrapper_slugs (slug, owner)"
        " SELECT $1 || '-' || i, 'user_x' FROM generate_series(1, 10000) i",
        prefix,
    )
    await shop.stage.query(
        """
        INSERT INTO wrappers (id, owner, slug, settings, is_established, is_enabled)
        SELECT 'wrp_' || $1 || i, 'user_x', $1 || '-' || i,
               jsonb_set(w.settings, '{terms,0,asset}', to_jsonb(
                   CASE WHEN i % 2 = 0 THEN $2 ELSE $4 END)),
               true, i % 4 < 2
        FROM wrappers w, generate_series(1, 10000) i WHERE w.id = $3
        """,
        prefix,
        usdc_contract(Network.TESTNET),
        wrapper["id"],
        contract_address(bytes([9]) * 32),
    )

    async def is_named() -> bool:
        return prefix.encode() in (await shop.client.get("/.well-known/x402")).body

    await until(is_named)
    resources = (await shop.client.get("/.well-known/x402")).json()["resources"]
    assert 0 < len(resources) <= MAX_WRAPPERS
    first = [each for each in resources if each.endswith("/the-first")]
    assert len(first) == 1  # of another owner, and older
    odd = [each for each in resources if each not in first and int(each.rpartition("-")[2]) % 4]
    assert odd == []
    began = time.monotonic()
    for path in DOCUMENTS:
        answer = await shop.client.get(path)
        assert len(answer.body) <= MAX_BYTES
        assert b"seller.example.com" not in answer.body
    assert time.monotonic() - began < 2
