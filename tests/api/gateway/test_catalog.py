"""Wrappers in the catalog: listed at once, taken down at once, and by nobody else."""

from typing import Any
from urllib.parse import quote

import pytest

from support.asgi import AsgiClient
from support.paid_gateway import ORIGIN, PaidGateway, gateway_path
from support.payments import Json
from support.stage import service
from testing.waiting import until


@pytest.fixture
async def shop(shared_shop: PaidGateway) -> PaidGateway:
    """The service that these tests share, with its first search behind it."""
    await until_searchable(shared_shop.client)
    return shared_shop


async def until_searchable(client: AsgiClient) -> None:
    """Return once a search for a word that no listing has is answered.

    The first one reads lists of words while a transaction is open; a machine that takes seconds for
    them ends it, which is a 503. Readiness does not cover them.
    """

    async def is_answered() -> bool:
        answer = await client.get("/discovery/search?query=unlistedword")
        assert answer.status in (200, 503), answer.body
        return answer.status == 200

    await until(is_answered)


async def found(client: AsgiClient, words: str) -> list[Json]:
    answer = await client.get(f"/discovery/search?query={quote(words)}")
    assert answer.status == 200, answer.body
    return list(answer.json()["resources"])


async def payers(shop: PaidGateway) -> list[tuple[str, int]]:
    rows = await shop.stage.query("SELECT payer, settlements FROM listing_payers ORDER BY payer")
    return [(row["payer"], row["settlements"]) for row in rows]


async def test_enabled_wrapper_is_found_with_its_terms_and_a_disabled_one_is_not(
    shop: PaidGateway,
) -> None:
    wrapper = await shop.create(name="Quixotic tide tables", tags=["tides"])
    assert await found(shop.client, "quixotic tide tables") == []
    await shop.enable(wrapper)
    (listed,) = await found(shop.client, "quixotic tide tables")
    assert listed["resource"] == f"{ORIGIN}{gateway_path(wrapper)}"
    assert [(each["amount"], each["payTo"]) for each in listed["accepts"]] == [
        ("10000", wrapper["accepts"][0]["payTo"])
    ]
    async with service(shop.stage.environment) as replica:
        await until_searchable(replica)
        assert len(await found(replica, "quixotic tide tables")) == 1
        await shop.send("POST", f"/v1/wrappers/{wrapper['id']}/disable")
        assert await found(shop.client, "quixotic tide tables") == []
        assert await found(replica, "quixotic tide tables") == []


async def test_changed_wrapper_is_listed_with_its_new_terms(shop: PaidGateway) -> None:
    wrapper = await shop.serve(name="Quixotic tide tables")
    answer = await shop.send("PATCH", f"/v1/wrappers/{wrapper['id']}", {"amount": "70000"})
    assert answer.status == 200, answer.body
    (listed,) = await found(shop.client, "quixotic tide tables")
    assert [each["amount"] for each in listed["accepts"]] == ["70000"]


async def test_sale_counts_for_the_listing_and_changes_nothing_of_it(shop: PaidGateway) -> None:
    wrapper = await shop.serve(name="Quixotic tide tables", description="Tides of each harbour.")
    before = await shop.stage.query("SELECT extensions, source, ownership FROM listings")
    terms = (await shop.offer(wrapper, "/harbour"))["accepts"][0]
    for path in ("", "/harbour"):
        assert (await shop.buy(wrapper, path, payment=await shop.sign(terms))).status == 200

    async def is_counted() -> bool:
        return [count for _, count in await payers(shop)] == [2]

    await until(is_counted, within_s=20)
    assert await shop.stage.query("SELECT extensions, source, ownership FROM listings") == before
    (listed,) = await found(shop.client, "quixotic tide tables")
    assert [each["amount"] for each in listed["accepts"]] == ["10000"]


async def test_settlement_outside_the_gateway_lists_no_url_of_it(shop: PaidGateway) -> None:
    wrapper = await shop.serve(name="Quixotic tide tables")
    offer = await shop.offer(wrapper)
    for suffix in ("", "/tides", "?a=1"):
        body: dict[str, Any] = (await shop.stage.draft()).request()
        body["paymentPayload"]["resource"] = offer["resource"] | {
            "url": offer["resource"]["url"] + suffix,
            "description": "Bought elsewhere.",
        }
        body["paymentPayload"]["extensions"] = offer["extensions"]
        assert (await shop.stage.settle(body))["success"] is True, suffix

    async def outcomes() -> list[str | None]:
        rows = await shop.stage.query("SELECT listing_outcome FROM settlements")
        return [row["listing_outcome"] for row in rows]

    async def is_decided() -> bool:
        return None not in await outcomes()

    await until(is_decided, within_s=20)
    assert await outcomes() == ["gateway_url_reserved"] * 3
    assert await payers(shop) == []
    (listed,) = await found(shop.client, "quixotic tide tables")
    assert "Bought elsewhere" not in str(listed)


async def test_routes_are_listed_each_with_its_price(shop: PaidGateway) -> None:
    routes = [
        {"method": "GET", "path": "/tides/:harbour", "amount": "500"},
        {"method": "POST", "path": "/forecast", "amount": "900"},
    ]
    wrapper = await shop.serve(name="Quixotic tide tables", routes=routes, otherPaths="refused")
    listed = await found(shop.client, "quixotic tide tables")
    assert sorted(each["accepts"][0]["amount"] for each in listed) == ["500", "900"]
    assert (await shop.client.get(gateway_path(wrapper, "/other"))).status == 404
    assert (await shop.offer(wrapper, "/tides/brest"))["accepts"][0]["amount"] == "500"
