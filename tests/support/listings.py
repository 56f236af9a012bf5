"""Listings as they stand after their settlements, without the settlements."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import orjson

from farebox.catalog.listing import ListingType
from farebox.catalog.search_document import SearchDocument, SearchIndex
from farebox.gateway.delivery.sales import OwnSales
from farebox.gateway.offers.offer import GatewayUrl
from farebox.kernel.networks import Network
from farebox.search.index_store import StoredIndex
from farebox.storage.pool import Connection, Database

SELLER: Final = "GDQP2KPQGKIHYJGXNUIYOMHARUARCA7DJT5FO2FFOOKY3B2WSQHG4W37"
TOKEN: Final = "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"
# of a host that no other test names
GATEWAY: Final = GatewayUrl("https://pay.example.org")
UPDATED: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Listed:
    """One listing to be written; its URL is its name among the test's listings."""

    url: str
    name: str = ""
    tags: tuple[str, ...] = ()
    description: str = ""
    parameters: str = ""
    tool_name: str = ""  # makes it an MCP tool
    network: Network = Network.TESTNET
    pay_to: str = SELLER
    asset: str = TOKEN
    amount: int = 10_000
    scheme: str = "exact"
    extensions: tuple[str, ...] = ("bazaar",)
    updated_at: datetime = UPDATED
    payers: int = 0

    @property
    def type(self) -> ListingType:
        """The type of the resource."""
        return ListingType.MCP if self.tool_name else ListingType.HTTP

    def document(self, listing_id: int) -> SearchDocument:
        """Build its search document."""
        return SearchDocument(
            listing_id=listing_id,
            network=self.network,
            type=self.type,
            service_name=self.name,
            tags=self.tags,
            tool_name=self.tool_name,
            description=self.description,
            parameters=self.parameters,
            url=self.url,
            updated_at=self.updated_at,
            payers=self.payers,
        )


async def list_many(
    database: Database, items: Sequence[Listed], *, index: SearchIndex | None = None
) -> list[int]:
    """Insert listings with their search documents; return their ids in order.

    An existing listing is overwritten.
    """
    async with database.transaction() as db:
        ids = [await _list(db, item) for item in items]
        documents = [item.document(own) for item, own in zip(items, ids, strict=True)]
        await (index or StoredIndex()).put(db, documents)
    return ids


async def _list(db: Connection, item: Listed) -> int:
    key = f"{item.url} {item.tool_name}" if item.tool_name else item.url
    listing_id: int = await db.fetchval(
        """
        INSERT INTO listings
            (network, resource_key, type, url, tool_name, method, pay_to, bound_at, description,
             service_name, tags, extensions, extension_keys, parameters, listed_at, updated_at,
             settled_in_ledger, settled_at)
        VALUES ($1, $2, $3, $4, nullif($5, ''), CASE WHEN $5 = '' THEN 'GET' END, $6, $7,
                nullif($8, ''), nullif($9, ''), $10, $11, $12, $13, $7, $7, 1, $7)
        ON CONFLICT (network, resource_key) DO UPDATE
        SET description = excluded.description, service_name = excluded.service_name,
            tags = excluded.tags, parameters = excluded.parameters, pay_to = excluded.pay_to,
            updated_at = excluded.updated_at, removed_at = NULL
        RETURNING id
        """,
        item.network.value,
        key,
        item.type.value,
        item.url,
        item.tool_name,
        item.pay_to,
        item.updated_at,
        item.description,
        item.name,
        list(item.tags),
        orjson.dumps({name: {"info": {}, "schema": {}} for name in item.extensions}),
        list(item.extensions),
        item.parameters,
    )
    await db.execute(
        """
        INSERT INTO listing_terms
            (listing_id, scheme, asset, amount, pay_to, max_timeout_s, settled_in_ledger,
             settled_at)
        VALUES ($1, $2, $3, $4, $5, 60, 1, $6)
        ON CONFLICT (listing_id, scheme, asset) DO UPDATE SET amount = excluded.amount
        """,
        listing_id,
        item.scheme,
        item.asset,
        item.amount,
        item.pay_to,
        item.updated_at,
    )
    await db.execute(
        """
        INSERT INTO listing_payers (listing_id, payer, settlements, first_at, last_at)
        SELECT $1, 'payer ' || n, 1, $3, $3 FROM generate_series(1, $2::int) AS n
        ON CONFLICT DO NOTHING
        """,
        listing_id,
        item.payers,
        item.updated_at,
    )
    return listing_id


def no_gateway() -> OwnSales:
    """A gateway without sales."""
    return OwnSales(GATEWAY)
