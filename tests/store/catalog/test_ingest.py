"""A confirmed settlement becomes a listing: its owner, its terms, and its count."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from farebox.catalog.ingestion.ingest import PLACES, Ingestion
from farebox.catalog.ingestion.listing_outcome import (
    Listed,
    ListingRejected,
    OwnershipCheckPending,
    RejectionReason,
)
from farebox.catalog.listing import host_of
from farebox.catalog.settled_payment import SettledResource
from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.catalog_index import RecordingIndex
from support.journal_rows import (
    OTHER_SELLER,
    SELLER,
    WEATHER,
    Paid,
    discovery,
    http_bazaar,
    insert_settlement,
    party,
    tool_bazaar,
)
from support.listings import GATEWAY
from support.promises import case, promise


async def rows(database: Database, sql: str, *args: object) -> list[dict[str, Any]]:
    async with database.connection() as db:
        return [dict(row) for row in await db.fetch(sql, *args)]


async def listings(database: Database) -> list[dict[str, Any]]:
    return await rows(database, "SELECT * FROM listings ORDER BY id")


async def outcome(database: Database, identity: PaymentIdentity) -> str | None:
    found = await rows(
        database,
        "SELECT listing_outcome FROM settlements WHERE payer = $1 AND nonce = $2",
        identity.payer,
        identity.nonce,
    )
    text: str | None = found[0]["listing_outcome"]
    return text


@promise("ingest:settled-terms", "entry:terms-as-settled", "catalog:listed-after-settle")
async def test_list_stores_the_resource_with_the_settled_terms(
    database: Database, ingestion: Ingestion, index: RecordingIndex
) -> None:
    identity = await insert_settlement(database, Paid(amount=10**38 + 1))
    assert await ingestion.list(identity) == Listed()
    (listed,) = await listings(database)
    assert (listed["url"], listed["pay_to"], listed["service_name"]) == (WEATHER, SELLER, "Skies")
    assert listed["ownership"] == "unverified"
    (terms,) = await rows(database, "SELECT * FROM listing_terms")
    assert (int(terms["amount"]), terms["pay_to"], terms["max_timeout_s"], terms["scheme"]) == (
        10**38 + 1,
        SELLER,
        60,
        "exact",
    )
    assert await outcome(database, identity) == "listed"
    (document,) = index.documents.values()
    assert (document.service_name, document.payers) == ("Skies", 0)  # no payer is counted yet
    assert await rows(database, "SELECT * FROM listing_attempts") == []
    assert await rows(database, "SELECT * FROM listing_decisions") == []


async def test_list_counts_a_settlement_once_when_repeated(
    database: Database, ingestion: Ingestion
) -> None:
    identity = await insert_settlement(database, Paid())
    outcomes = await asyncio.gather(*(ingestion.list(identity) for _ in range(8)))
    assert [*outcomes, await ingestion.list(identity)] == [Listed()] * 9
    (payer,) = await rows(database, "SELECT settlements FROM listing_payers")
    assert payer["settlements"] == 1


async def test_list_marks_a_decided_settlement_without_counting_it_again(
    database: Database, ingestion: Ingestion
) -> None:
    identity = await insert_settlement(database, Paid())
    await ingestion.list(identity)
    async with database.connection() as db:  # as a crash between the two leaves it
        text = discovery()
        await db.execute("UPDATE settlements SET listing_outcome = NULL, discovery = $1", text)
        await db.execute(
            "INSERT INTO listing_decisions SELECT network, payer, nonce, 'listed' FROM settlements"
        )
    assert await ingestion.list(identity) == Listed()
    assert await outcome(database, identity) == "listed"
    (payer,) = await rows(database, "SELECT settlements FROM listing_payers")
    assert payer["settlements"] == 1


async def test_list_deletes_the_discovery_text_and_keeps_the_outcome(
    database: Database, ingestion: Ingestion
) -> None:
    good = await insert_settlement(database, Paid())
    bad = await insert_settlement(database, Paid(text=b"no json"))
    outcomes = [await ingestion.list(identity) for identity in (good, bad)]
    kept = await rows(database, "SELECT nonce FROM settlements WHERE discovery IS NOT NULL")
    assert kept == []
    assert [await ingestion.list(identity) for identity in (good, bad)] == outcomes
    assert [await outcome(database, each) for each in (good, bad)] == ["listed", outcomes[1].reason]  # type: ignore[union-attr]  # it is rejected
    (payer,) = await rows(database, "SELECT settlements FROM listing_payers")
    assert payer["settlements"] == 1, "listed again, counted once"


@promise("catalog:bad-metadata-stays-out")
async def test_list_records_the_reason_of_a_rejected_resource(
    database: Database, ingestion: Ingestion
) -> None:
    text = discovery("http://10.0.0.1/private")
    identity = await insert_settlement(database, Paid(text=text))
    rejected = await ingestion.list(identity)
    assert isinstance(rejected, ListingRejected)
    assert await outcome(database, identity) == rejected.reason
    assert await listings(database) == []
    assert await ingestion.list(identity) == rejected


@case("CT-002")
async def test_list_rejects_a_settlement_that_is_not_confirmed_or_has_no_discovery_text(
    database: Database, ingestion: Ingestion
) -> None:
    for state in ("sending", "submitted", "failed", "dead", "unproven"):
        identity = await insert_settlement(database, Paid(state=state))
        assert await ingestion.list(identity) == ListingRejected(RejectionReason.NOT_KEPT)
    without_text = await insert_settlement(database, Paid(text=None))
    assert await ingestion.list(without_text) == ListingRejected(RejectionReason.NOT_KEPT)
    assert await outcome(database, without_text) is None
    assert await listings(database) == []


@case("CT-045")
async def test_list_keeps_the_terms_of_the_later_ledger(
    database: Database, ingestion: Ingestion, index: RecordingIndex
) -> None:
    late = Paid(discovery(description="new words"), ledger=101, amount=7, payer=party(2))
    early = Paid(discovery(description="old words"), ledger=100, amount=5, at=late.at)
    for each in (late, early):  # finished, and so listed, the wrong way round
        assert await ingestion.list(await insert_settlement(database, each)) == Listed()
    (listed,) = await listings(database)
    assert listed["description"] == "new words"
    (terms,) = await rows(database, "SELECT amount FROM listing_terms")
    assert int(terms["amount"]) == 7
    (document,) = index.documents.values()
    assert (document.description, document.payers) == ("new words", 0)


@case("CT-045")
async def test_list_keeps_the_later_confirmation_within_one_ledger(
    database: Database, ingestion: Ingestion
) -> None:
    first = Paid(discovery(description="first"))
    second = replace(first, text=discovery(description="second"), at=first.at + timedelta(1))
    for each in (second, first):
        await ingestion.list(await insert_settlement(database, each))
    (listed,) = await listings(database)
    assert (listed["description"], listed["updated_at"]) == ("second", second.at)


async def test_list_keeps_the_last_terms_of_each_asset(
    database: Database, ingestion: Ingestion
) -> None:
    other = party(77)
    for paid in (Paid(amount=1), Paid(amount=2, asset=other), Paid(amount=3, ledger=200)):
        await ingestion.list(await insert_settlement(database, paid))
    terms = await rows(database, "SELECT asset, amount FROM listing_terms")
    assert {row["asset"]: int(row["amount"]) for row in terms} == {Paid().asset: 3, other: 2}


@case("CT-030")
@promise("catalog:http-and-mcp", "entry:mcp-key", "entry:http-key")
async def test_list_keeps_tools_and_http_resources_of_one_url_apart(
    database: Database, ingestion: Ingestion
) -> None:
    url, elsewhere = "https://tools.example/mcp", "https://tools.example/other"
    for text in (
        discovery(url),
        discovery(url, tool_bazaar("one")),
        discovery(url, tool_bazaar("two")),
        discovery(elsewhere, tool_bazaar("one")),
    ):
        assert await ingestion.list(await insert_settlement(database, Paid(text))) == Listed()
    changed = discovery(url, tool_bazaar("two"), description="changed")
    assert (
        await ingestion.list(await insert_settlement(database, Paid(changed, ledger=200)))
        == Listed()
    )
    found = {
        (row["type"], row["url"], row["tool_name"]): row["description"]
        for row in await listings(database)
    }
    assert len(found) == 4
    assert [key for key, text in found.items() if text == "changed"] == [("mcp", url, "two")]


async def test_list_keeps_networks_apart(database: Database, ingestion: Ingestion) -> None:
    for network in Network:
        paid = Paid(network=network, pay_to=SELLER if network is Network.TESTNET else OTHER_SELLER)
        assert await ingestion.list(await insert_settlement(database, paid)) == Listed()
    assert {row["network"]: row["pay_to"] for row in await listings(database)} == {
        "stellar:testnet": SELLER,
        "stellar:pubnet": OTHER_SELLER,
    }


@case("CT-040")
async def test_list_leaves_a_bound_key_with_its_first_recipient(
    database: Database, ingestion: Ingestion
) -> None:
    await ingestion.list(await insert_settlement(database, Paid()))
    intruder = Paid(discovery(description="mine"), pay_to=OTHER_SELLER, ledger=900)
    identity = await insert_settlement(database, intruder)
    assert await ingestion.list(identity) == OwnershipCheckPending()
    assert await outcome(database, identity) is None
    (listed,) = await listings(database)
    assert (listed["pay_to"], listed["description"]) == (SELLER, "Tomorrow's weather")
    assert len(await rows(database, "SELECT * FROM listing_terms")) == 1
    assert await rows(database, "SELECT * FROM listing_decisions") == []


@case("CT-040")
async def test_verified_owner_takes_the_key_without_its_history(
    database: Database, ingestion: Ingestion, index: RecordingIndex
) -> None:
    for payer in (1, 2, 3):
        await ingestion.list(
            await insert_settlement(database, Paid(payer=party(payer), amount=payer))
        )
    identity = await insert_settlement(
        database, Paid(discovery(description="the owner"), pay_to=OTHER_SELLER, payer=party(4))
    )
    assert await place_proven(ingestion, identity) == Listed()
    (listed,) = await listings(database)
    assert (listed["pay_to"], listed["ownership"]) == (OTHER_SELLER, "verified")
    assert (listed["description"], listed["listed_at"]) == ("the owner", Paid().at)
    assert [row["payer"] for row in await rows(database, "SELECT * FROM listing_payers")] == [
        party(4)
    ]
    (terms,) = await rows(database, "SELECT * FROM listing_terms")
    assert (terms["pay_to"], int(terms["amount"])) == (OTHER_SELLER, 10_000)
    assert [each.payers for each in index.documents.values()] == [0]


async def place_proven(ingestion: Ingestion, identity: PaymentIdentity) -> object:
    text = await ingestion.find_discovery(identity)
    assert text is not None
    found = await ingestion.parse(text)
    assert not isinstance(found, ListingRejected)
    return await ingestion.store(SettledResource(text.settled, found), is_verified=True)


async def many_keys(
    database: Database,
    count: int,
    *,
    host: str = "many.example",
    ownership: str = "unverified",
) -> None:
    async with database.connection() as db:
        await db.execute(
            """
            INSERT INTO listings (network, resource_key, type, url, pay_to, bound_at, extensions,
                                  extension_keys, listed_at, updated_at, ownership)
            SELECT 'stellar:testnet', 'https://' || $3 || '/' || i, 'http',
                   'https://' || $3 || '/' || i, $1, now(), '{}', '{bazaar}', now(), now(), $4
            FROM generate_series(1, $2) AS i
            """,
            SELLER,
            count,
            host,
            ownership,
        )


@case("CT-043")
async def test_list_stops_at_a_thousand_keys_of_a_recipient_and_host_under_concurrency(
    database: Database, ingestion: Ingestion
) -> None:
    await many_keys(database, PLACES - 3)
    identities = [
        await insert_settlement(database, Paid(discovery(f"https://many.example/x{number}")))
        for number in range(8)
    ]
    outcomes = await asyncio.gather(*(ingestion.list(each) for each in identities))
    assert outcomes.count(Listed()) == 3
    full = OwnershipCheckPending(otherwise=RejectionReason.TOO_MANY)
    assert outcomes.count(full) == 5
    assert len(await listings(database)) == PLACES
    known = Paid(discovery("https://many.example/7", description="still mine"))
    assert await ingestion.list(await insert_settlement(database, known)) == Listed()
    others = Paid(pay_to=OTHER_SELLER)
    assert await ingestion.list(await insert_settlement(database, others)) == Listed()
    assert (
        await ingestion.list(await insert_settlement(database, Paid(network=Network.PUBNET)))
        == Listed()
    )


@case("CT-043")
async def test_takeover_is_rejected_at_the_recipients_limit_of_keys(
    database: Database, ingestion: Ingestion
) -> None:
    await ingestion.list(await insert_settlement(database, Paid(pay_to=OTHER_SELLER)))
    await many_keys(database, PLACES, host=host_of(WEATHER), ownership="verified")
    identity = await insert_settlement(database, Paid())
    assert await place_proven(ingestion, identity) == ListingRejected(RejectionReason.TOO_MANY)
    bound = await rows(database, "SELECT pay_to FROM listings WHERE url = $1", WEATHER)
    assert bound == [{"pay_to": OTHER_SELLER}]


@case("CT-043")
async def test_places_that_strangers_fill_leave_those_of_verified_resources_and_of_other_hosts(
    database: Database, ingestion: Ingestion
) -> None:
    """Anybody may pay a recipient and name any URL: such keys fill their own places alone."""
    await many_keys(database, PLACES)
    elsewhere = await insert_settlement(database, Paid(discovery("https://api.example/new")))
    assert await ingestion.list(elsewhere) == Listed()
    own = await insert_settlement(database, Paid(discovery("https://many.example/new")))
    assert await ingestion.list(own) == OwnershipCheckPending(otherwise=RejectionReason.TOO_MANY)
    assert await place_proven(ingestion, own) == Listed()
    (listed,) = await rows(
        database, "SELECT * FROM listings WHERE url = 'https://many.example/new'"
    )
    assert (listed["ownership"], listed["verified_at"]) == ("verified", listed["bound_at"])


UNDER_ONE_HOST = [
    (WEATHER, f"{WEATHER}/", None),
    (WEATHER, WEATHER.replace("example/", "example//"), None),
    (WEATHER, f"{WEATHER}%2Fa", None),
    (WEATHER, f"{WEATHER}/a", None),
    (WEATHER, WEATHER.replace(".example", ".example:8443"), None),
    (WEATHER, WEATHER, "/:path"),
]


@case("CT-040")
async def test_another_recipient_under_a_host_is_listed_once_the_resource_names_it(
    database: Database, ingestion: Ingestion
) -> None:
    for number, (first, second, template) in enumerate(UNDER_ONE_HOST):
        bazaar = http_bazaar() if template is None else http_bazaar(routeTemplate=template)
        own = discovery(first.replace(".example", f"{number}.example"))
        assert await ingestion.list(await insert_settlement(database, Paid(own))) == Listed()
        before = await listings(database)
        text = discovery(second.replace(".example", f"{number}.example"), bazaar)
        stranger = await insert_settlement(database, Paid(text, pay_to=OTHER_SELLER))
        assert await ingestion.list(stranger) == OwnershipCheckPending(), second
        assert {each["pay_to"] for each in before} == {SELLER}
        assert await listings(database) == before
        same = await insert_settlement(database, Paid(text))
        assert await ingestion.list(same) == Listed()
    other = discovery("https://other.example/")
    moved = await insert_settlement(database, Paid(other, pay_to=OTHER_SELLER))
    assert await ingestion.list(moved) == Listed()


@case("CT-040")
async def test_no_url_of_this_service_is_listed_for_a_payment_outside_its_gateway(
    database: Database, ingestion: Ingestion
) -> None:
    plain = ("/gateway/weather", "//gateway/weather", "/Gateway/weather", "/gateway%2Fweather")
    rows = [(path, http_bazaar()) for path in (*plain, "/", "/x")]
    rows += [("/a/b", http_bazaar(routeTemplate="/:a/:b"))]
    rows += [("/gateway/weather/a", http_bazaar(routeTemplate="/:path"))]
    for (path, bazaar), port in product(rows, ("", ":8443")):
        text = discovery(GATEWAY.origin + port + path, bazaar)
        stranger = await insert_settlement(database, Paid(text))
        assert await ingestion.list(stranger) == ListingRejected(RejectionReason.GATEWAY_URL), path
    assert await listings(database) == []


@case("CT-040")
async def test_of_two_recipients_at_once_under_a_new_host_one_is_listed_unverified(
    database: Database, ingestion: Ingestion
) -> None:
    identities = [
        await insert_settlement(
            database, Paid(discovery(f"https://new.example/{number}"), pay_to=party(9_000 + number))
        )
        for number in range(6)
    ]
    outcomes = await asyncio.gather(*(ingestion.list(each) for each in identities))
    assert outcomes.count(Listed()) == 1
    assert outcomes.count(OwnershipCheckPending()) == 5


async def test_tools_without_a_url_have_no_host(database: Database, ingestion: Ingestion) -> None:
    for seller in (SELLER, OTHER_SELLER):
        text = discovery("mcp://tool/weather", tool_bazaar("weather"))
        tool = await insert_settlement(database, Paid(text, pay_to=seller))
        assert await ingestion.list(tool) == Listed()


async def test_concurrent_recipients_leave_one_bound(
    database: Database, ingestion: Ingestion
) -> None:
    sellers = [party(8_000 + number) for number in range(6)]
    identities = [await insert_settlement(database, Paid(pay_to=seller)) for seller in sellers]
    outcomes = await asyncio.gather(*(ingestion.list(each) for each in identities))
    assert outcomes.count(Listed()) == 1
    assert outcomes.count(OwnershipCheckPending()) == 5
    (listed,) = await listings(database)
    assert listed["pay_to"] == sellers[outcomes.index(Listed())]


@case("CT-042")
async def test_list_does_not_count_the_recipient_as_payer(
    database: Database, ingestion: Ingestion, index: RecordingIndex
) -> None:
    await ingestion.list(await insert_settlement(database, Paid(payer=SELLER)))
    (document,) = index.documents.values()
    assert document.payers == 0


async def test_list_stores_nothing_when_the_index_fails(
    database: Database, ingestion: Ingestion, index: RecordingIndex
) -> None:
    index.breaks_on = "weather"
    identity = await insert_settlement(database, Paid())
    with pytest.raises(ValueError, match="broken"):
        await ingestion.list(identity)
    assert await listings(database) == []
    index.breaks_on = None
    assert await ingestion.list(identity) == Listed()


async def test_list_does_not_index_a_removed_listing(
    database: Database, ingestion: Ingestion, index: RecordingIndex
) -> None:
    await ingestion.list(await insert_settlement(database, Paid()))
    index.documents.clear()
    async with database.connection() as db:
        await db.execute("UPDATE listings SET removed_at = now()")
    await ingestion.list(
        await insert_settlement(database, Paid(text=discovery(bazaar=http_bazaar("POST"))))
    )
    assert index.documents == {}
