"""Pages, totals and listings on a real database."""

from datetime import timedelta
from random import Random
from typing import Final

import pytest

from farebox.catalog.browsing.browse import Browse
from farebox.catalog.browsing.store import IdPage, find_page, get_listings
from farebox.catalog.listing import ListedTerms, ListingFilters, ListingType
from farebox.kernel.amounts import MAX_BASE_UNITS, BaseUnits
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database
from support.listing_rows import ASSET, LISTED, OTHER_SELLER, SELLER, ListingRow, insert_listings

ALL: Final = ListingFilters()
NOTHING: Final = IdPage((), 0)
STRETCH: Final = 1024


async def page(
    db: Connection, filters: ListingFilters = ALL, *, limit: int = 100, offset: int = 0
) -> IdPage:
    return await find_page(db, filters, limit=limit, offset=offset)


async def test_find_page_orders_by_id_and_counts_what_matches(
    database: Database,
) -> None:
    async with database.connection() as db:
        ids = await insert_listings(
            db,
            ListingRow("a"),
            ListingRow("b", network=Network.PUBNET),
            ListingRow("c", type="mcp", pay_to=OTHER_SELLER),
            ListingRow("gone", is_removed=True),
            ListingRow("d", extension_keys=("bazaar", "odd")),
        )
        a, b, c, _, d = ids
        assert await page(db) == IdPage((a, b, c, d), 4)
        assert await page(db, limit=2, offset=1) == IdPage((b, c), 4)
        assert await page(db, ListingFilters(network="stellar:pubnet")) == IdPage((b,), 1)
        assert await page(db, ListingFilters(type="mcp")) == IdPage((c,), 1)
        assert await page(db, ListingFilters(extension="odd")) == IdPage((d,), 1)
        assert await page(db, ListingFilters(scheme="exact"), limit=1) == IdPage((a,), 4)
        both = ListingFilters(pay_to=SELLER, network="stellar:testnet")
        assert await page(db, both, limit=1, offset=1) == IdPage((d,), 2)


async def test_find_page_is_empty_when_no_listing_matches_and_past_the_end(
    database: Database,
) -> None:
    async with database.connection() as db:
        await insert_listings(db, ListingRow("a"))
        for filters in (
            ListingFilters(type="ftp"),
            ListingFilters(network="eip155:8453"),
            ListingFilters(pay_to="0x0000000000000000000000000000000000000000"),
            ListingFilters(scheme="upto"),
            ListingFilters(extension="nobody-has-it"),
            ListingFilters(extension="bazaar%"),
            ListingFilters(pay_to="G' OR '1'='1"),
        ):
            assert await page(db, filters) == NOTHING, filters
        for filters in (ALL, ListingFilters(pay_to=SELLER)):
            for offset in (1, 10**12, 2**63 - 1):  # with the true total
                assert await page(db, filters, offset=offset) == IdPage((), 1)


async def test_find_page_agrees_with_a_full_count_at_every_offset(database: Database) -> None:
    """Ids lie scattered over stretches, and each stretch holds others too."""
    random = Random(5)
    async with database.connection() as db:
        ids = await insert_listings(
            db, *(ListingRow(f"s{n}", type=random.choice(KINDS)) for n in range(40))
        )
        first = max(ids)
        scattered = sorted(random.sample(range(first + 1, first + 6 * STRETCH), len(ids)))
        for old, new in zip(ids, scattered, strict=True):
            await _move(db, old, new)
        for kind in (None, *KINDS):
            expected = await _ids_of(db, kind)
            for offset in range(len(expected) + 2):
                found = await page(db, ListingFilters(type=kind), limit=7, offset=offset)
                assert found == IdPage(tuple(expected[offset : offset + 7]), len(expected))


KINDS: Final = ("http", "mcp")


async def _move(db: Connection, old: int, new: int) -> None:
    """The same listing under another id, which only an insert may name."""
    columns = """network, resource_key, type, url, tool_name, method, pay_to, bound_at, extensions,
        extension_keys, listed_at, updated_at"""
    await db.execute(
        f"""
        WITH gone AS (DELETE FROM listings WHERE id = $1 RETURNING *)
        INSERT INTO listings (id, {columns}) OVERRIDING SYSTEM VALUE
        SELECT $2, network, resource_key || '#moved', {columns.split("resource_key,")[1]} FROM gone
        """,
        old,
        new,
    )


async def _ids_of(db: Connection, kind: str | None) -> list[int]:
    rows = await db.fetch(
        "SELECT id FROM listings WHERE $1::text IS NULL OR type = $1 ORDER BY id", kind
    )
    return [row["id"] for row in rows]


async def test_total_follows_a_listing_that_is_removed_and_restored(
    database: Database,
) -> None:
    async with database.connection() as db:
        a, b = await insert_listings(db, ListingRow("a"), ListingRow("b"))
        await db.execute("UPDATE listings SET removed_at = now() WHERE id = $1", a)
        assert await page(db) == IdPage((b,), 1)
        await db.execute("UPDATE listings SET removed_at = now() WHERE id = $1", a)
        assert await page(db) == IdPage((b,), 1)
        await db.execute("UPDATE listings SET removed_at = NULL WHERE id = $1", a)
        assert await page(db) == IdPage((a, b), 2)
        await db.execute("DELETE FROM listing_terms")
        await db.execute("DELETE FROM listings")
        assert await page(db) == NOTHING


async def test_total_ignores_a_rolled_back_listing(database: Database) -> None:
    with pytest.raises(RuntimeError):
        async with database.transaction() as db:
            await insert_listings(db, ListingRow("a"))
            raise RuntimeError
    async with database.connection() as db:
        assert await page(db) == NOTHING


async def test_get_listings_returns_whole_listings_by_id(database: Database) -> None:
    async with database.connection() as db:
        a, b, gone = await insert_listings(
            db,
            ListingRow("a", amount=MAX_BASE_UNITS, description="words", tags=("one", "two")),
            ListingRow("b", type="mcp", extensions=b'{"bazaar": {"n": 1.0000000000000000001}}'),
            ListingRow("gone", is_removed=True),
        )
        await db.execute(
            "INSERT INTO listing_quality VALUES ($1, 3, 12, 4, $2)", a, LISTED + timedelta(1)
        )
        second, first = await get_listings(db, [b, gone, 10**15, a])
    assert (first.id, second.id) == (a, b)
    assert first.network is Network.TESTNET
    assert first.resource.url == "https://a.example/data"
    assert first.resource.metadata.tags == ("one", "two")
    assert first.resource.metadata.description == "words"
    assert first.accepts == (ListedTerms("exact", ASSET, BaseUnits(MAX_BASE_UNITS), SELLER, 60),)
    assert (first.quality.payers, first.quality.settlements) == (3, 12)
    assert first.quality.last_settled_at == first.updated_at == LISTED + timedelta(hours=1)
    assert (second.quality.payers, second.quality.settlements) == (0, 0)
    assert second.resource.type is ListingType.MCP
    assert second.resource.tool_name == "b"
    assert second.resource.extensions == b'{"bazaar": {"n": 1.0000000000000000001}}'


async def test_get_listings_orders_terms_newest_first(database: Database) -> None:
    other = "C" + "A" * 55
    async with database.connection() as db:
        (a,) = await insert_listings(db, ListingRow("a"))
        await db.execute(
            "INSERT INTO listing_terms VALUES ($1, 'exact', $2, 5, $3, 30, 10, now())",
            a,
            other,
            SELLER,
        )
        (listing,) = await get_listings(db, [a])
    assert [terms.asset for terms in listing.accepts] == [other, ASSET]


async def test_paging_by_offset_returns_every_listing_while_others_are_added(
    database: Database,
) -> None:
    browse = Browse(database)
    async with database.connection() as db:
        ids = await insert_listings(db, *(ListingRow(f"s{n}") for n in range(25)))
    met: list[int] = []
    while len(met) < len(ids):
        found = await browse.read_page(ALL, limit=4, offset=len(met))
        met += [listing.id for listing in found.listings]
        async with database.connection() as db:
            await db.execute("UPDATE listings SET updated_at = now() WHERE id = ANY ($1)", met)
            await insert_listings(db, ListingRow(f"new{len(met)}"))
    assert met[: len(ids)] == ids
