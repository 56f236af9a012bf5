"""Cases 2.1 of the flow: what becomes a listing, and that no listing ever hurts a payment."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import uuid4

import asyncpg
import msgspec
import pytest

from support import node
from support.asgi import HungUp
from support.listed import (
    about,
    fresh_url,
    listings_of,
    settle_and_hear,
    settle_and_know,
    told_of,
    until_listed,
)
from support.promises import case, promise
from support.settled import http_bazaar, tool_bazaar
from support.stage import Stage

LISTED: Final = {"success": True, "status": "success"}


@case("CT-001")
@promise("catalog:never-from-verify", "catalog:only-settled-or-enabled")
async def test_a_hundred_verifications_write_nothing(stage: Stage) -> None:
    url = fresh_url()
    body = about((await stage.draft()).request(), url)
    for _ in range(10):
        answers = await asyncio.gather(*(stage.client.post("/verify", body) for _ in range(10)))
        assert all(answer.json()["isValid"] for answer in answers)
        assert {told_of(answer) for answer in answers} == {None}
    assert await stage.rows() == 0
    assert await listings_of(stage, url) == []


@promise("catalog:listed-after-settle", "settle:extension-responses", "entry:precision-kept")
async def test_a_settled_payment_lists_its_resource_and_says_so(stage: Stage) -> None:
    url = fresh_url()
    draft = await stage.draft(amount=10_001)
    outcome, told = await settle_and_know(stage, about(draft.request(), url))
    assert outcome["success"] is True, outcome
    assert told == LISTED
    (listed,) = await listings_of(stage, url)
    assert (listed["network"], listed["pay_to"]) == ("stellar:testnet", draft.pay_to)
    (terms,) = await stage.query("SELECT * FROM listing_terms WHERE listing_id = $1", listed["id"])
    assert (terms["asset"], int(terms["amount"]), terms["max_timeout_s"]) == (
        draft.asset,
        10_001,
        900,
    )


@promise("settle:extension-responses")
async def test_nothing_is_said_where_nothing_is_asked(stage: Stage) -> None:
    outcome, told = await settle_and_hear(stage, (await stage.draft()).request())
    assert (outcome["success"], told) == (True, None)


@promise("ingest:settled-terms", "entry:terms-as-settled")
async def test_terms_that_the_client_writes_into_its_metadata_are_not_shown(stage: Stage) -> None:
    url = fresh_url()
    draft = await stage.draft()
    lies: dict[str, Any] = {"amount": "1", "payTo": draft.payer, "accepts": [{"amount": "1"}]}
    body = about(draft.request(), url, http_bazaar(**lies), **lies)
    body["paymentPayload"]["accepted"]["extra"]["amount"] = "1"
    body["paymentRequirements"]["extra"]["amount"] = "1"
    outcome, told = await settle_and_know(stage, body)
    assert (outcome["success"], told) == (True, LISTED)
    (terms,) = await stage.query(
        "SELECT t.* FROM listing_terms t JOIN listings l ON l.id = t.listing_id WHERE l.url = $1",
        url,
    )
    assert (int(terms["amount"]), terms["pay_to"]) == (draft.amount, draft.pay_to)


@case("CT-002")
async def test_a_refused_settle_lists_nothing(stage: Stage) -> None:
    url = fresh_url()
    draft = await stage.draft()
    body = about(draft.request(amount="1"), url)
    outcome, told = await settle_and_hear(stage, body)
    assert (outcome["success"], told) == (False, None)
    assert await listings_of(stage, url) == []


@case("CT-002")
@promise("catalog:listed-after-settle")
async def test_a_pending_settle_lists_nothing_until_it_is_final_and_then_once(
    hasty: Stage,
) -> None:
    url = fresh_url()
    body, key = about((await hasty.draft()).request(), url), uuid4().hex
    node.lose_sight(hasty.node())
    outcome, told = await settle_and_know(hasty, body, key)
    assert (outcome["errorReason"], told) == ("settlement_pending", None)
    assert await listings_of(hasty, url) == []
    hasty.node().reset()
    while not outcome["success"]:
        outcome, told = await settle_and_know(hasty, body, key)
    assert told == LISTED
    duplicate, told = await settle_and_hear(hasty, body)
    assert (duplicate["errorReason"], told) == ("duplicate_settlement", None)
    (payers,) = await hasty.query(
        "SELECT sum(settlements) AS n FROM listing_payers p JOIN listings l ON l.id = p.listing_id"
        " WHERE l.url = $1",
        url,
    )
    assert payers["n"] == 1


@case("CT-002")
async def test_a_payment_that_nobody_waits_for_is_listed_once_it_is_final(hasty: Stage) -> None:
    url = fresh_url()
    node.lose_sight(hasty.node())
    outcome, _ = await settle_and_hear(hasty, about((await hasty.draft()).request(), url))
    assert outcome["errorReason"] == "settlement_pending"
    await hand_over(hasty)
    hasty.node().reset()
    assert (await until_listed(hasty, url))["removed_at"] is None


async def hand_over(stage: Stage) -> None:
    """What is pending is left to reconciliation at once."""
    await stage.query(
        "UPDATE settlements SET attended_until = now() - interval '1 day', "
        "claimed_at = now() - interval '1 day' WHERE state IN ('sending', 'submitted')"
    )


async def test_a_settlement_whose_record_was_lost_is_listed_when_it_is_found_on_the_ledger(
    stage: Stage,
) -> None:
    url = fresh_url()
    body = about((await stage.draft()).request(), url)
    outcome, _ = await settle_and_hear(stage, body)
    assert outcome["success"] is True
    await stage.query("DELETE FROM settlements")  # as a failover to an older copy leaves it
    await stage.query("DELETE FROM listings")
    again, told = await settle_and_hear(stage, body)
    assert (again["errorReason"], told) == ("duplicate_settlement", None)
    await until_listed(stage, url)


@promise("catalog:bad-metadata-stays-out", "settle:extension-responses")
async def test_bad_metadata_costs_the_listing_and_never_the_payment(stage: Stage) -> None:
    draft = await stage.draft()
    body = about(draft.request(), "https://user:secret@api.example.com/")
    outcome, told = await settle_and_know(stage, body)
    assert outcome["success"] is True
    assert told == {
        "success": False,
        "status": "rejected",
        "reason": "resource_url_has_userinfo",
        "rejectedReason": "resource_url_has_userinfo",
    }


async def test_metadata_of_any_size_costs_the_listing_and_never_the_payment(stage: Stage) -> None:
    body = about((await stage.draft()).request(), fresh_url(), description="x" * 70_000)
    outcome, told = await settle_and_know(stage, body)
    assert outcome["success"] is True
    assert told is not None
    assert (told["status"], told["reason"]) == ("rejected", "discovery_too_large")


async def test_a_key_asked_again_hears_of_the_listing_again(stage: Stage) -> None:
    body = about((await stage.draft()).request(), fresh_url())
    key = uuid4().hex
    first, again = [await settle_and_know(stage, body, key) for _ in range(2)]
    assert first == again
    assert again[1] == LISTED


async def test_another_request_for_the_payment_adds_no_text_of_its_own(hasty: Stage) -> None:
    draft, url = await hasty.draft(), fresh_url()
    node.lose_sight(hasty.node())
    await settle_and_know(hasty, draft.request())
    hasty.node().reset()
    key, body = uuid4().hex, about(draft.request(), url)
    outcome, told = await settle_and_know(hasty, body, key)
    while not outcome["success"]:
        outcome, told = await settle_and_know(hasty, body, key)
    assert told is not None
    assert (told["status"], told["reason"]) == ("rejected", "discovery_not_kept")
    assert await listings_of(hasty, url) == []


@case("CT-030")
async def test_a_tool_and_a_resource_at_one_url_are_two_listings(stage: Stage) -> None:
    url = fresh_url()
    for bazaar in (http_bazaar(), tool_bazaar("one"), tool_bazaar("two")):
        body = about((await stage.draft()).request(), url, bazaar)
        assert (await settle_and_know(stage, body))[1] == LISTED
    found = await listings_of(stage, url)
    assert {(row["type"], row["tool_name"]) for row in found} == {
        ("http", None),
        ("mcp", "one"),
        ("mcp", "two"),
    }


@case("CT-040", "CT-041")
async def test_a_second_recipient_waits_for_the_resource_and_not_with_the_payment(
    stage: Stage,
) -> None:
    url = fresh_url()
    first = await stage.draft()
    await settle_and_know(stage, about(first.request(), url))
    second = await stage.draft(pay_to=stage.networks[first.network].scene.payees[1].address)
    began = time.monotonic()
    outcome, told = await settle_and_know(stage, about(second.request(), url))
    assert outcome["success"] is True
    assert time.monotonic() - began < 10
    assert told is not None
    assert (told["success"], told["status"]) == (False, "processing")
    assert told["reason"] == "ownership_check_pending"
    (listed,) = await listings_of(stage, url)
    assert (listed["pay_to"], listed["ownership"]) == (first.pay_to, "unverified")


@asynccontextmanager
async def locked(stage: Stage, table: str) -> AsyncIterator[None]:
    """Every statement on the table hangs."""
    db = await asyncpg.connect(stage.environment["FAREBOX_DATABASE_URL"])
    try:
        async with db.transaction():
            await db.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            yield
    finally:
        await db.close()


@pytest.mark.parametrize("table", ["listings", "listing_payers", "listing_decisions"])
async def test_a_catalog_that_hangs_costs_a_settle_a_moment_and_is_made_up_for(
    stage: Stage, table: str
) -> None:
    url = fresh_url()
    body = about((await stage.draft()).request(), url)
    async with locked(stage, table):
        outcome, told = await settle_and_hear(stage, body)
        assert outcome["success"] is True
        assert told == {"success": False, "status": "processing", "reason": "catalog_busy"}
        repeated, _ = await asyncio.wait_for(settle_and_hear(stage, body), 30)
        assert repeated["errorReason"] == "duplicate_settlement"
    await until_listed(stage, url)


@case("PV-158")
async def test_a_caller_that_leaves_while_the_catalog_hangs_has_lost_no_success(
    stage: Stage,
) -> None:
    leave = asyncio.Event()
    body = about((await stage.draft()).request(), fresh_url())

    async def leave_once_settled() -> None:
        for _ in range(1_000):
            if await stage.query("SELECT FROM settlements WHERE state = 'confirmed'"):
                break
            await asyncio.sleep(0.01)
        leave.set()

    async with locked(stage, "listings"):
        leaving = asyncio.create_task(leave_once_settled())
        with pytest.raises(HungUp):
            encoded = msgspec.json.encode(body)
            await stage.client.request("POST", "/settle", body=encoded, leave=leave)
        await leaving
    outcome, _ = await settle_and_hear(stage, body)
    assert outcome["success"] is True
