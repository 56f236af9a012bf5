"""Listings of wrappers in PostgreSQL: their owner's settings decide them, not settlements."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from farebox.catalog.listing import ListedTerms, Resource
from farebox.catalog.listing_store import find_binding, resource_columns
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

_NO_LEDGER: Final = 0  # of terms that no settlement has
_COLUMNS: Final[LiteralString] = """type, url, tool_name, method, description, mime_type,
    service_name, tags, icon_url, extensions, extension_keys, parameters, asked_url"""


@dataclass(frozen=True, slots=True)
class WrapperListing:
    """One listing of a wrapper: a resource on one network, with its terms there."""

    network: Network
    resource: Resource
    pay_to: Address
    terms: tuple[ListedTerms, ...]


async def put_listing(
    db: Connection, wrapper_id: str, listing: WrapperListing, *, at: datetime
) -> int:
    """Show a listing of a wrapper, verified, with exactly these terms; return its id.

    Another recipient of the same key loses it: the URL is the gateway's own.
    """
    await _unbind_other(db, listing)
    listing_id: int = await db.fetchval(
        f"""
        INSERT INTO listings AS known (network, resource_key, pay_to, wrapper_id, {_COLUMNS},
                                       source, ownership, bound_at, listed_at, updated_at,
                                       verified_at)
        VALUES ($1, $2, $3, $4, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
                'wrapper', 'verified', $5, $5, $5, $5)
        ON CONFLICT (network, resource_key) DO UPDATE
        SET ({_COLUMNS}) = ($6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18),
            wrapper_id = $4, source = 'wrapper', ownership = 'verified', verified_at = $5,
            bound_at = CASE WHEN known.pay_to = $3 THEN known.bound_at ELSE $5 END,
            listed_at = CASE WHEN known.pay_to = $3 THEN known.listed_at ELSE $5 END,
            updated_at = greatest(known.updated_at, $5), pay_to = $3, removed_at = NULL,
            settled_in_ledger = NULL, settled_at = NULL
        RETURNING id
        """,
        listing.network.value,
        listing.resource.key,
        listing.pay_to,
        wrapper_id,
        at,
        *resource_columns(listing.resource),
    )
    await _replace_terms(db, listing_id, listing.terms, at=at)
    return listing_id


async def _unbind_other(db: Connection, listing: WrapperListing) -> None:
    """Delete terms and counts of the key under another recipient."""
    binding = await find_binding(db, listing.network, listing.resource.key)
    if binding is not None and binding.pay_to != listing.pay_to:
        await db.execute(
            """
            WITH terms AS (DELETE FROM listing_terms WHERE listing_id = $1),
                 payers AS (DELETE FROM listing_payers WHERE listing_id = $1)
            DELETE FROM listing_quality WHERE listing_id = $1
            """,
            binding.listing_id,
        )


async def _replace_terms(
    db: Connection, listing_id: int, terms: Sequence[ListedTerms], *, at: datetime
) -> None:
    await db.execute(
        "DELETE FROM listing_terms WHERE listing_id = $1 AND NOT asset = ANY($2)",
        listing_id,
        [each.asset for each in terms],
    )
    for each in terms:
        await db.execute(
            """
            INSERT INTO listing_terms (listing_id, scheme, asset, amount, pay_to, max_timeout_s,
                                       settled_in_ledger, settled_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            ON CONFLICT (listing_id, scheme, asset) DO UPDATE
            SET amount = excluded.amount, pay_to = excluded.pay_to,
                max_timeout_s = excluded.max_timeout_s,
                settled_in_ledger = excluded.settled_in_ledger, settled_at = excluded.settled_at
            """,
            listing_id,
            each.scheme,
            each.asset,
            each.amount,
            each.pay_to,
            each.max_timeout_s,
            _NO_LEDGER,
            at,
        )


async def take_down(
    db: Connection, wrapper_id: str, *, but: Sequence[int] = (), at: datetime
) -> list[int]:
    """Take the listings of a wrapper down, but for some; return the ids of those that were shown.

    Their history stays, for when the wrapper is enabled again.
    """
    rows = await db.fetch(
        """
        UPDATE listings SET removed_at = $3
        WHERE wrapper_id = $1 AND removed_at IS NULL AND NOT id = ANY($2::bigint[])
        RETURNING id
        """,
        wrapper_id,
        list(but),
        at,
    )
    return [row["id"] for row in rows]


async def find_sold(db: Connection, wrapper_id: str, network: Network, key: str) -> int | None:
    """Find and lock the listing that a sale through a wrapper counts for; return its id.

    It is the one of the key; a path without a listing counts for that of the shortest URL.
    """
    listing_id: int | None = await db.fetchval(
        """
        SELECT id FROM listings WHERE wrapper_id = $1 AND network = $2
        ORDER BY resource_key = $3 DESC, length(url), id LIMIT 1
        FOR UPDATE
        """,
        wrapper_id,
        network.value,
        key,
    )
    return listing_id


async def count_other_keys(
    db: Connection, network: Network, pay_to: Address, owner: str, wrapper_id: str
) -> int:
    """Count the shown keys of a recipient that are of the owner's other wrappers."""
    count: int = await db.fetchval(
        """
        SELECT count(*) FROM wrappers w JOIN listings l ON l.wrapper_id = w.id
        WHERE w.owner = $3 AND w.id <> $4
          AND l.network = $1 AND l.pay_to = $2 AND l.removed_at IS NULL
        """,
        network.value,
        pay_to,
        owner,
        wrapper_id,
    )
    return count
