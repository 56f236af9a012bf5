"""Ownership claims from the operator's settings to the moved key."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from farebox.app.catalog_services import build_outbound
from farebox.app.configuration import read_settings
from farebox.app.settings import OutboundSettings
from farebox.catalog.discovery.reader import DirectReader
from farebox.catalog.ingestion.ingest import Ingestion
from farebox.catalog.ingestion.listing_outcome import OwnershipCheckPending
from farebox.catalog.ingestion.outbox import Outbox
from farebox.catalog.origin.http_origin_client import HttpOriginClient
from farebox.catalog.origin.ownership_verifier import OriginOwnershipVerifier
from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.local.certificates import Authority
from farebox.outbound.client import OutboundClient
from farebox.outbound.faults import CallNotSent, CallRefused, NotSentReason
from farebox.outbound.request import OutboundRequest
from farebox.search.index_store import StoredIndex
from farebox.storage.pool import Database
from support.journal_rows import (
    ASSET,
    OTHER_SELLER,
    PAYER,
    SELLER,
    Paid,
    discovery,
    insert_settlement,
)
from support.listings import no_gateway
from support.manual_clock import ManualClock
from support.promises import case
from support.upstream import Answer, answers, drips, upstream

HOST = "api.weather.example"
URL = f"https://{HOST}/forecast"


def _settings(**given: str) -> OutboundSettings:
    environment = {f"FAREBOX_OUTBOUND_{name}": value for name, value in given.items()}
    return read_settings(environment, needs_network=False).outbound


def _offers(pay_to: Address) -> Answer:
    entry = {
        "scheme": "exact",
        "network": "stellar:testnet",
        "asset": ASSET,
        "amount": "10000",
        "payTo": pay_to,
    }
    document = json.dumps({"x402Version": 2, "accepts": [entry]}).encode()
    header = f"PAYMENT-REQUIRED: {base64.b64encode(document).decode()}"
    return answers(b"{}", status="402 Payment Required", headers=(header,))


async def _call(client: OutboundClient, url: str) -> int:
    async with client.call(OutboundRequest(url)) as answer:
        return answer.status


async def test_outbound_test_settings_reach_only_named_servers_on_loopback(
    tmp_path: Path,
) -> None:
    authority = Authority(tmp_path)
    async with upstream(authority.server(HOST), answers()) as served:
        names = f"{HOST}=127.0.0.1:{served.port},private.example=127.0.0.1"
        settings = _settings(TEST_AUTHORITY=str(authority.file), TEST_RESOLVER=names)
        async with build_outbound(settings) as client:
            assert await _call(client, URL) == 200
            with pytest.raises(CallRefused):
                await _call(client, "https://private.example/")
            with pytest.raises(CallNotSent) as unsent:
                await _call(client, "https://example.com/")
            assert unsent.value.reason is NotSentReason.NAME
        without = _settings(TEST_RESOLVER=names)
        async with build_outbound(without) as client:
            with pytest.raises(CallNotSent) as unsent:
                await _call(client, URL)
            assert unsent.value.reason is NotSentReason.CERTIFICATE


async def _claim(
    database: Database, clock: ManualClock, folder: Path, answer: Answer
) -> tuple[PaymentIdentity, dict[str, Any], int]:
    """Settle for another recipient of a bound key and check the claim; return claim and listing."""
    ingestion = Ingestion(database, StoredIndex(), DirectReader(), no_gateway())
    await ingestion.list(await insert_settlement(database, Paid(text=discovery(URL), ledger=100)))
    later = Paid(text=discovery(URL, description="Mine"), pay_to=OTHER_SELLER, ledger=101, amount=7)
    claim = await insert_settlement(database, later)
    assert await ingestion.list(claim) == OwnershipCheckPending()
    authority = Authority(folder)
    async with upstream(authority.server(HOST), answer) as served:
        settings = _settings(
            TEST_AUTHORITY=str(authority.file), TEST_RESOLVER=f"{HOST}=127.0.0.1:{served.port}"
        )
        async with build_outbound(settings) as client:
            takeover = OriginOwnershipVerifier(HttpOriginClient(client, deadline_s=0.3), database)
            outbox = Outbox(database, ingestion, clock, verifier=takeover)
            await outbox.list_batch()
            for _ in range(6):
                await outbox.check_batch()
                clock.turn(15_000)
    async with database.connection() as db:
        listing = await db.fetchrow("SELECT * FROM listings")
        payers = await db.fetchval("SELECT count(*) FROM listing_payers")
    assert listing is not None
    return claim, dict(listing), payers


async def _outcome(database: Database, identity: PaymentIdentity) -> str | None:
    async with database.connection() as db:
        found: str | None = await db.fetchval(
            "SELECT listing_outcome FROM settlements WHERE payer = $1 AND nonce = $2",
            PAYER,
            identity.nonce,
        )
    return found


@case("CT-040")
async def test_key_moves_to_the_recipient_that_the_resource_names(
    database: Database, clock: ManualClock, tmp_path: Path
) -> None:
    claim, listing, payers = await _claim(database, clock, tmp_path, _offers(OTHER_SELLER))
    assert await _outcome(database, claim) == "listed"
    assert (listing["pay_to"], listing["ownership"]) == (OTHER_SELLER, "verified")
    assert (listing["description"], payers) == ("Mine", 1)


@case("CT-041")
@pytest.mark.parametrize(
    "answer",
    [_offers(SELLER), answers(status="404 Not Found"), drips(b"HTTP/1.1 402 ", every_s=0.1)],
    ids=["names the other", "is not there", "drips"],
)
async def test_key_stays_when_the_resource_does_not_name_the_claimant(
    database: Database, clock: ManualClock, tmp_path: Path, answer: Answer
) -> None:
    claim, listing, _ = await _claim(database, clock, tmp_path, answer)
    assert await _outcome(database, claim) == "bound_to_another_recipient"
    assert (listing["pay_to"], listing["ownership"]) == (SELLER, "unverified")
