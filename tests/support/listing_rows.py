"""Listings inserted into their tables."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

LISTED: Final = datetime(2026, 11, 1, 12, tzinfo=UTC)
SELLER: Final = account_address(bytes([200]) * 32)
OTHER_SELLER: Final = account_address(bytes([201]) * 32)
ASSET: Final = contract_address(bytes([7]) * 32)


@dataclass(frozen=True, slots=True)
class ListingRow:
    """One listing to write, with ordinary defaults."""

    name: str
    network: Network = Network.TESTNET
    type: str = "http"
    pay_to: str = SELLER
    amount: int = 10_000
    extensions: bytes = b'{"bazaar":{"info":{"input":{"type":"http","method":"GET"}},"schema":{}}}'
    extension_keys: tuple[str, ...] = ("bazaar",)
    description: str | None = None
    tags: tuple[str, ...] = field(default=())
    is_removed: bool = False

    @property
    def url(self) -> str:
        """The URL of the resource."""
        return f"https://{self.name}.example/data"


async def insert_listings(db: Connection, *listings: ListingRow) -> list[int]:
    """Insert the listings in this order; return their ids."""
    return [await _write(db, each) for each in listings]


async def _write(db: Connection, shown: ListingRow) -> int:
    tool_name = shown.name if shown.type == "mcp" else None
    listing_id = int(
        await db.fetchval(
            """
            INSERT INTO listings (network, resource_key, type, url, tool_name, method, pay_to,
                bound_at, description, service_name, tags, extensions, extension_keys, listed_at,
                updated_at, settled_in_ledger, removed_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $8, $14, 9, $15)
            RETURNING id
            """,
            shown.network.value,
            shown.url,
            shown.type,
            shown.url,
            tool_name,
            "GET" if tool_name is None else None,
            shown.pay_to,
            LISTED,
            shown.description,
            shown.name,
            list(shown.tags),
            shown.extensions,
            list(shown.extension_keys),
            LISTED + timedelta(hours=1),
            LISTED if shown.is_removed else None,
        )
    )
    await db.execute(
        """
        INSERT INTO listing_terms
            (listing_id, scheme, asset, amount, pay_to, max_timeout_s, settled_in_ledger,
             settled_at)
        VALUES ($1, 'exact', $2, $3, $4, 60, 9, $5)
        """,
        listing_id,
        ASSET,
        shown.amount,
        shown.pay_to,
        LISTED,
    )
    return listing_id
