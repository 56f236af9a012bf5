"""The listings of wrappers in the catalog."""

import asyncio
from typing import Any, Final

import pytest

from farebox.catalog import wrapper_listing_store
from farebox.catalog.browsing.browse import Browse
from farebox.catalog.discovery.reader import DirectReader
from farebox.catalog.ingestion import ingest
from farebox.catalog.ingestion.listing_outcome import Listed
from farebox.catalog.listing import Listing, ListingFilters, Ownership
from farebox.gateway.offers.offer import GatewayUrl
from farebox.gateway.wrapper import Wrapper
from farebox.gateway.wrappers.listings import CatalogListings, TooManyListings
from farebox.gateway.wrappers.manage_wrappers import Wrappers
from farebox.gateway.wrappers.wrapper_fields import InvalidWrapper
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Caller
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database
from support.catalog_index import RecordingIndex
from support.journal_rows import SELLER, Paid, insert_settlement
from support.listings import no_gateway
from support.vault import new_owner
from support.wrappers import (
    OTHER_ASSET,
    OTHER_PAY_TO,
    PAY_TO,
    change_fields,
    wrapper_fields,
    wrappers_of,
)

GATEWAY: Final = GatewayUrl("https://pay.example.com")
ROUTES: Final = [
    {"method": "GET", "path": "/city/:name", "amount": "5", "description": "Of one city."},
    {"method": "POST", "path": "/report", "input": {"properties": {"year": {"type": "integer"}}}},
]


class Catalog:
    """The wrappers of one owner, with the catalog behind them."""

    def __init__(self, database: Database, *, places: int = 1000) -> None:
        self.database, self.index = database, RecordingIndex()
        listings = CatalogListings(
            self.index,
            DirectReader(),
            SystemClock(),
            GATEWAY,
            places=places,
        )
        self.caller: Caller = new_owner()
        self.wrappers: Wrappers = wrappers_of(database, listings=listings)

    async def enabled(self, **members: Any) -> Wrapper:
        """An enabled wrapper."""
        created = await self.wrappers.create(self.caller, "r", wrapper_fields(**members))
        return await self.wrappers.enable(self.caller, "r", created.id)

    async def shown(self) -> dict[str, Listing]:
        """The listings by path below the gateway and network; each is found by search as well."""
        page = await Browse(self.database).read_page(ListingFilters(), limit=100, offset=0)
        assert {each.id for each in page.listings} == self.index.documents.keys()
        assert page.total == len(page.listings)
        prefix = GATEWAY.endpoint("")
        return {
            f"{each.resource.url.removeprefix(prefix)} {each.network.name}": each
            for each in page.listings
        }


@pytest.fixture
def catalog(database: Database) -> Catalog:
    return Catalog(database)


async def test_enabled_wrapper_is_listed_with_its_own_terms_and_verified(catalog: Catalog) -> None:
    wrapper = await catalog.enabled(description="Of cities.", tags=["weather"])
    shown = await catalog.shown()
    (listing,) = shown.values()
    assert list(shown) == [f"{wrapper.slug} TESTNET"]
    assert (listing.pay_to, listing.ownership) == (PAY_TO, Ownership.VERIFIED)
    assert [(each.amount, each.pay_to) for each in listing.accepts] == [(10_000, PAY_TO)]
    metadata = listing.resource.metadata
    assert (metadata.service_name, metadata.description, metadata.tags) == (
        "City weather", "Of cities.", ("weather",),
    )  # fmt: skip
    assert b'"method":"GET"' in listing.resource.extensions
    assert b"api.example.com" not in repr(listing).encode()


async def test_each_route_and_network_is_listed(catalog: Catalog) -> None:
    term = {"network": "stellar:pubnet", "asset": OTHER_ASSET, "amount": "7", "payTo": PAY_TO}
    own = await catalog.enabled(routes=ROUTES)
    short = dict.fromkeys(("network", "asset", "amount", "pay_to"))
    both = await catalog.enabled(
        **short,
        name="Both",
        accepts=[term, term | {"network": "stellar:testnet"}],
        routes=[{"method": "GET", "path": "/a"}],
        other_paths="refused",
    )
    shown = await catalog.shown()
    assert shown.keys() == {
        f"{own.slug} TESTNET",
        f"{own.slug}/city/:name TESTNET",
        f"{own.slug}/report TESTNET",
        f"{both.slug}/a TESTNET",
        f"{both.slug}/a PUBNET",
    }
    city = shown[f"{own.slug}/city/:name TESTNET"]
    assert [each.amount for each in city.accepts] == [5]
    assert city.resource.metadata.description == "Of one city."
    assert "year" in shown[f"{own.slug}/report TESTNET"].resource.parameters


async def test_disabled_or_deleted_wrapper_is_listed_no_more(catalog: Catalog) -> None:
    wrapper = await catalog.enabled(routes=ROUTES)
    before = await catalog.shown()
    await catalog.wrappers.disable(catalog.caller, "r", wrapper.id)
    assert await catalog.shown() == {}
    await catalog.wrappers.enable(catalog.caller, "r", wrapper.id)
    again = await catalog.shown()
    assert {name: each.id for name, each in again.items()} == {
        name: each.id for name, each in before.items()
    }
    await catalog.wrappers.delete(catalog.caller, "r", wrapper.id)
    assert await catalog.shown() == {}


async def test_change_is_listed_at_once(catalog: Catalog) -> None:
    wrapper = await catalog.enabled(routes=ROUTES)
    change = change_fields(amount="9", asset=OTHER_ASSET, routes=ROUTES[:1], description="New.")
    await catalog.wrappers.update(catalog.caller, "r", wrapper.id, change)
    shown = await catalog.shown()
    assert shown.keys() == {f"{wrapper.slug} TESTNET", f"{wrapper.slug}/city/:name TESTNET"}
    base = shown[f"{wrapper.slug} TESTNET"]
    assert [(each.asset, each.amount) for each in base.accepts] == [(OTHER_ASSET, 9)]
    assert base.resource.metadata.description == "New."


async def test_change_of_a_disabled_wrapper_lists_nothing(catalog: Catalog) -> None:
    created = await catalog.wrappers.create(catalog.caller, "r", wrapper_fields())
    await catalog.wrappers.update(catalog.caller, "r", created.id, change_fields(amount="9"))
    assert await catalog.shown() == {}


async def test_another_recipient_keeps_no_counts_of_the_one_before(
    catalog: Catalog, database: Database
) -> None:
    wrapper = await catalog.enabled()
    (before,) = (await catalog.shown()).values()
    async with database.connection() as db:
        await db.execute(
            "INSERT INTO listing_payers (listing_id, payer, settlements, first_at, last_at) "
            "VALUES ($1, 'G', 3, now(), now())",
            before.id,
        )
    await catalog.wrappers.update(catalog.caller, "r", wrapper.id, change_fields(amount="9"))
    async with database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM listing_payers") == 1
    change = change_fields(pay_to=OTHER_PAY_TO)
    await catalog.wrappers.update(catalog.caller, "r", wrapper.id, change)
    (after,) = (await catalog.shown()).values()
    assert (after.id, after.pay_to) == (before.id, OTHER_PAY_TO)
    async with database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM listing_payers") == 0


async def test_recipient_has_a_maximum_number_of_listings(database: Database) -> None:
    catalog = Catalog(database, places=3)
    first = await catalog.enabled(routes=ROUTES)
    with pytest.raises(TooManyListings):
        await catalog.enabled(name="Other")
    assert len(await catalog.shown()) == 3
    await catalog.wrappers.enable(catalog.caller, "r", first.id)  # its own do not count twice
    elsewhere = await catalog.enabled(name="Elsewhere", pay_to=OTHER_PAY_TO)
    assert f"{elsewhere.slug} TESTNET" in await catalog.shown()


async def test_places_of_an_owner_and_a_recipient_are_filled_by_nobody_else(
    database: Database,
) -> None:
    """A stranger's wrappers may name any account as their recipient."""
    stranger, seller = Catalog(database, places=3), Catalog(database, places=3)
    await stranger.enabled(routes=ROUTES)
    with pytest.raises(TooManyListings):
        await stranger.enabled(name="One more")
    own = await seller.enabled(name="The seller's own", routes=ROUTES)
    changed = change_fields(amount="9")
    await seller.wrappers.update(seller.caller, "r", own.id, changed)
    with pytest.raises(TooManyListings):
        await seller.enabled(name="One more")


async def test_control_a_stranger_fills_the_places_that_all_owners_share(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def count_of_all(
        db: Connection, network: Network, pay_to: Address, owner: str, wrapper_id: str
    ) -> int:
        count: int = await db.fetchval(
            "SELECT count(*) FROM listings WHERE network = $1 AND pay_to = $2"
            " AND removed_at IS NULL AND wrapper_id <> $3",
            *(network.value, pay_to, wrapper_id),
        )
        return count

    monkeypatch.setattr(wrapper_listing_store, "count_other_keys", count_of_all)
    stranger, seller = Catalog(database, places=3), Catalog(database, places=3)
    await stranger.enabled(routes=ROUTES)
    with pytest.raises(TooManyListings):
        await seller.enabled(name="The seller's own", routes=ROUTES)


async def test_wrappers_that_name_a_recipient_take_no_place_of_its_paid_resources(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "PLACES", 1)
    await Catalog(database).enabled(routes=ROUTES, pay_to=SELLER)
    ingestion = ingest.Ingestion(database, RecordingIndex(), DirectReader(), no_gateway())
    assert await ingestion.list(await insert_settlement(database, Paid())) == Listed()


async def test_owner_enables_two_wrappers_at_once_within_its_places(
    database: Database, other_pool: Database
) -> None:
    one, other = Catalog(database, places=4), Catalog(other_pool, places=4)
    other.caller = one.caller
    results = await asyncio.gather(
        *(each.enabled(name=f"At once {n}") for n, each in enumerate([one, other] * 4)),
        return_exceptions=True,
    )
    assert sum(isinstance(each, TooManyListings) for each in results) == 4


async def test_refused_enabling_leaves_the_wrapper_disabled(database: Database) -> None:
    catalog = Catalog(database, places=0)
    created = await catalog.wrappers.create(catalog.caller, "r", wrapper_fields())
    with pytest.raises(TooManyListings):
        await catalog.wrappers.enable(catalog.caller, "r", created.id)
    assert not (await catalog.wrappers.find(catalog.caller.owner, created.id)).is_enabled


async def test_schema_that_the_catalog_refuses_is_refused_with_the_reason(
    catalog: Catalog,
) -> None:
    routes = [{"method": "GET", "path": "/a", "input": {"$ref": "https://example.org/schema"}}]
    created = await catalog.wrappers.create(catalog.caller, "r", wrapper_fields(routes=routes))
    with pytest.raises(InvalidWrapper, match="schema_reference_refused"):
        await catalog.wrappers.enable(catalog.caller, "r", created.id)


async def test_wrapper_is_listed_again_under_its_own_key_whoever_had_it(
    catalog: Catalog, database: Database
) -> None:
    """A settlement that named the URL before is no obstacle: the URL is the gateway's own."""
    await insert_settlement_listing(database, f"{GATEWAY.endpoint('taken')}")
    created = await catalog.wrappers.create(catalog.caller, "r", wrapper_fields(), slug="taken")
    await catalog.wrappers.enable(catalog.caller, "r", created.id)
    (listing,) = (await catalog.shown()).values()
    assert (listing.pay_to, listing.ownership) == (PAY_TO, Ownership.VERIFIED)


async def insert_settlement_listing(database: Database, url: str) -> None:
    async with database.connection() as db:
        await db.execute(
            """
            INSERT INTO listings (network, resource_key, type, url, method, pay_to, bound_at,
                                  extensions, extension_keys, listed_at, updated_at)
            VALUES ('stellar:testnet', $1, 'http', $1, 'GET', $2, now(), '{}', '{bazaar}', now(),
                    now())
            """,
            url,
            OTHER_PAY_TO,
        )
