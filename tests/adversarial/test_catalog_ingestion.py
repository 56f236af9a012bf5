"""Cases 2.1 of the flow: ingestion of listings, which never affects a payment."""

import asyncio
import time
from typing import Any, Final
from uuid import uuid4

import msgspec
import pytest

from farebox.facilitator.listing_report import ListingReports
from support import node_proxy
from support.asgi import ClientDisconnected
from support.journal_rows import http_bazaar, tool_bazaar
from support.listing_requests import (
    listing_status,
    listings_of,
    new_url,
    settle_until_listing_is_known,
    settle_with_listing_status,
    until_listed,
    with_resource,
)
from support.promises import case, promise
from support.stage import Stage, own_relayer, service
from testing.waiting import until

LISTED: Final = {"success": True, "status": "success"}


@case("CT-001")
@promise("catalog:never-from-verify", "catalog:only-settled-or-enabled")
async def test_hundred_verifications_write_no_listing(stage: Stage) -> None:
    url = new_url()
    body = with_resource((await stage.draft()).request(), url)
    for _ in range(10):
        answers = await asyncio.gather(*(stage.client.post("/verify", body) for _ in range(10)))
        assert all(answer.json()["isValid"] for answer in answers)
        assert {listing_status(answer) for answer in answers} == {None}
    assert await stage.rows() == 0
    assert await listings_of(stage, url) == []


@promise("catalog:listed-after-settle", "settle:extension-responses", "entry:precision-kept")
async def test_settle_lists_resource_and_reports_it(stage: Stage) -> None:
    url = new_url()
    draft = await stage.draft(amount=10_001)
    outcome, listing = await settle_until_listing_is_known(
        stage, with_resource(draft.request(), url)
    )
    assert outcome["success"] is True, outcome
    assert listing == LISTED
    (listed,) = await listings_of(stage, url)
    assert (listed["network"], listed["pay_to"]) == ("stellar:testnet", draft.pay_to)
    (terms,) = await stage.query("SELECT * FROM listing_terms WHERE listing_id = $1", listed["id"])
    assert (terms["asset"], int(terms["amount"]), terms["max_timeout_s"]) == (
        draft.asset,
        10_001,
        900,
    )


@promise("settle:extension-responses")
async def test_settle_without_extension_reports_no_listing(stage: Stage) -> None:
    outcome, listing = await settle_with_listing_status(stage, (await stage.draft()).request())
    assert (outcome["success"], listing) == (True, None)


@promise("ingest:settled-terms", "entry:terms-as-settled")
async def test_listing_ignores_terms_in_client_metadata(stage: Stage) -> None:
    url = new_url()
    draft = await stage.draft()
    lies: dict[str, Any] = {"amount": "1", "payTo": draft.payer, "accepts": [{"amount": "1"}]}
    body = with_resource(draft.request(), url, http_bazaar(**lies), **lies)
    body["paymentPayload"]["accepted"]["extra"]["amount"] = "1"
    body["paymentRequirements"]["extra"]["amount"] = "1"
    outcome, listing = await settle_until_listing_is_known(stage, body)
    assert (outcome["success"], listing) == (True, LISTED)
    (terms,) = await stage.query(
        "SELECT t.* FROM listing_terms t JOIN listings l ON l.id = t.listing_id WHERE l.url = $1",
        url,
    )
    assert (int(terms["amount"]), terms["pay_to"]) == (draft.amount, draft.pay_to)


@case("CT-002")
async def test_refused_settle_writes_no_listing(stage: Stage) -> None:
    url = new_url()
    draft = await stage.draft()
    body = with_resource(draft.request(amount="1"), url)
    outcome, listing = await settle_with_listing_status(stage, body)
    assert (outcome["success"], listing) == (False, None)
    assert await listings_of(stage, url) == []


@case("CT-002")
@promise("catalog:listed-after-settle")
async def test_pending_settle_is_listed_once_when_final(
    hasty: Stage,
) -> None:
    url = new_url()
    body, key = with_resource((await hasty.draft()).request(), url), uuid4().hex
    node_proxy.hide_transactions(hasty.node())
    outcome, listing = await settle_until_listing_is_known(hasty, body, key)
    assert (outcome["errorReason"], listing) == ("settlement_pending", None)
    assert await listings_of(hasty, url) == []
    hasty.node().reset()
    while not outcome["success"]:
        outcome, listing = await settle_until_listing_is_known(hasty, body, key)
    assert listing == LISTED
    duplicate, listing = await settle_with_listing_status(hasty, body)
    assert (duplicate["errorReason"], listing) == ("duplicate_settlement", None)
    (payers,) = await hasty.query(
        "SELECT sum(settlements) AS n FROM listing_payers p JOIN listings l ON l.id = p.listing_id"
        " WHERE l.url = $1",
        url,
    )
    assert payers["n"] == 1


@case("CT-002")
async def test_payment_confirmed_by_reconciliation_is_listed(hasty: Stage) -> None:
    url = new_url()
    node_proxy.hide_transactions(hasty.node())
    outcome, _ = await settle_with_listing_status(
        hasty, with_resource((await hasty.draft()).request(), url)
    )
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


async def test_settlement_with_lost_record_is_listed_when_found_on_ledger(
    stage: Stage,
) -> None:
    url = new_url()
    body = with_resource((await stage.draft()).request(), url)
    outcome, _ = await settle_with_listing_status(stage, body)
    assert outcome["success"] is True
    await stage.query("DELETE FROM settlements")  # as a failover to an older copy leaves it
    await stage.query("DELETE FROM listings")
    again, listing = await settle_with_listing_status(stage, body)
    assert (again["errorReason"], listing) == ("duplicate_settlement", None)
    await until_listed(stage, url)


@promise("catalog:bad-metadata-stays-out", "settle:extension-responses")
async def test_invalid_metadata_drops_listing_and_settles_payment(stage: Stage) -> None:
    draft = await stage.draft()
    body = with_resource(draft.request(), "https://user:secret@api.example.com/")
    outcome, listing = await settle_until_listing_is_known(stage, body)
    assert outcome["success"] is True
    assert listing == {
        "success": False,
        "status": "rejected",
        "reason": "resource_url_has_userinfo",
        "rejectedReason": "resource_url_has_userinfo",
    }


async def test_oversized_metadata_drops_listing_and_settles_payment(stage: Stage) -> None:
    body = with_resource((await stage.draft()).request(), new_url(), description="x" * 70_000)
    outcome, listing = await settle_until_listing_is_known(stage, body)
    assert outcome["success"] is True
    assert listing is not None
    assert (listing["status"], listing["reason"]) == ("rejected", "discovery_too_large")


async def test_replayed_settle_repeats_listing_status(stage: Stage) -> None:
    body = with_resource((await stage.draft()).request(), new_url())
    key = uuid4().hex
    first, again = [await settle_until_listing_is_known(stage, body, key) for _ in range(2)]
    assert first == again
    assert again[1] == LISTED


async def test_other_request_for_settled_payment_changes_no_listing(hasty: Stage) -> None:
    draft, url = await hasty.draft(), new_url()
    node_proxy.hide_transactions(hasty.node())
    await settle_until_listing_is_known(hasty, draft.request())
    hasty.node().reset()
    key, body = uuid4().hex, with_resource(draft.request(), url)
    outcome, listing = await settle_until_listing_is_known(hasty, body, key)
    while not outcome["success"]:
        outcome, listing = await settle_until_listing_is_known(hasty, body, key)
    assert listing is not None
    assert (listing["status"], listing["reason"]) == ("rejected", "discovery_not_kept")
    assert await listings_of(hasty, url) == []


@case("CT-030")
async def test_tool_and_resource_at_one_url_have_two_listings(stage: Stage) -> None:
    url = new_url()
    for bazaar in (http_bazaar(), tool_bazaar("one"), tool_bazaar("two")):
        body = with_resource((await stage.draft()).request(), url, bazaar)
        assert (await settle_until_listing_is_known(stage, body))[1] == LISTED
    found = await listings_of(stage, url)
    assert {(row["type"], row["tool_name"]) for row in found} == {
        ("http", None),
        ("mcp", "one"),
        ("mcp", "two"),
    }


@case("CT-040", "CT-041")
async def test_second_recipient_settles_and_waits_for_ownership_verification(
    stage: Stage,
) -> None:
    url = new_url()
    first = await stage.draft()
    await settle_until_listing_is_known(stage, with_resource(first.request(), url))
    second = await stage.draft(pay_to=stage.networks[first.network].scene.payees[1].address)
    began = time.monotonic()
    outcome, listing = await settle_until_listing_is_known(
        stage, with_resource(second.request(), url)
    )
    assert outcome["success"] is True
    assert time.monotonic() - began < 10
    assert listing is not None
    assert (listing["success"], listing["status"]) == (False, "processing")
    assert listing["reason"] == "ownership_check_pending"
    (listed,) = await listings_of(stage, url)
    assert (listed["pay_to"], listed["ownership"]) == (first.pay_to, "unverified")


@pytest.mark.parametrize("table", ["listings", "listing_payers", "listing_decisions"])
async def test_hanging_catalog_delays_settle_briefly_and_listing_follows(
    stage: Stage, table: str
) -> None:
    url = new_url()
    body = with_resource((await stage.draft()).request(), url)
    async with stage.locked(table):
        outcome, listing = await settle_with_listing_status(stage, body)
        assert outcome["success"] is True
        assert listing == {"success": False, "status": "processing", "reason": "catalog_busy"}
        repeated, _ = await asyncio.wait_for(settle_with_listing_status(stage, body), 30)
        assert repeated["errorReason"] == "duplicate_settlement"
    await until_listed(stage, url)


@case("PV-158")
async def test_caller_leaving_while_catalog_hangs_keeps_its_success(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer waits for the catalog until the caller has left, however busy the machine is."""
    defaults = ListingReports.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "wait_s", 3.0)
    async with service(stage.environment | await own_relayer(stage)) as client:
        await _leave_while_catalog_hangs(Stage(client, stage.networks, stage.environment))


async def _leave_while_catalog_hangs(stage: Stage) -> None:
    leave = asyncio.Event()
    body = with_resource((await stage.draft()).request(), new_url())

    async def leave_once_settled() -> None:
        await until(lambda: stage.query("SELECT FROM settlements WHERE state = 'confirmed'"))
        leave.set()

    async with stage.locked("listings"):
        leaving = asyncio.create_task(leave_once_settled())
        with pytest.raises(ClientDisconnected):
            encoded = msgspec.json.encode(body)
            await stage.client.request("POST", "/settle", body=encoded, leave=leave)
        await leaving
    outcome, _ = await settle_with_listing_status(stage, body)
    assert outcome["success"] is True
