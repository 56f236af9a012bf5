"""Listings in PostgreSQL: one row for each resource and network, bound to one recipient.

Every function is one statement. `db` is a connection, inside a transaction where a row is locked
or written.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from farebox.catalog.listing import ListingType, Ownership, Resource
from farebox.catalog.search_document import SearchDocument
from farebox.catalog.settled_payment import SettledPayment, SettledResource
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Row

_PLACES: Final = 0x6C697374  # first key of the advisory locks of places
# as `listing.host_of`; the index `listings_host` has this expression
_HOST: Final[LiteralString] = "split_part(split_part(url, '/', 3), ':', 1)"
_PARAMETER: Final = "{}"  # of a route template in a key


@dataclass(frozen=True, slots=True)
class Binding:
    """The recipient that a key is bound to; the row is locked until the transaction ends."""

    listing_id: int
    pay_to: Address


@dataclass(frozen=True, slots=True)
class BoundOrigin:
    """The recipient that a key is bound to, and the URL whose payment bound it."""

    pay_to: Address
    paid_url: str  # empty where it was not stored
    method: str | None


async def find_bound_origins(
    db: Connection, network: Network, resource: Resource, pay_to: Address, *, limit: int
) -> list[BoundOrigin]:
    """Find a key's binding, and those of other recipients that its template covers, unlocked.

    The key's own binding is the first, then come verified ones.
    """
    rows = await db.fetch(
        f"""
        SELECT pay_to, coalesce(asked_url, '') AS paid_url, method FROM listings
        WHERE network = $1 AND (resource_key = $2 OR
                                (type = 'http' AND {_HOST} = $3 AND pay_to <> $4
                                 AND resource_key ~ $5))
        ORDER BY resource_key = $2 DESC, ownership = 'verified' DESC, id LIMIT $6
        """,
        network.value,
        resource.key,
        resource.host,
        pay_to,
        _pattern_of(resource.key),
        limit,
    )
    return [BoundOrigin(Address(row["pay_to"]), *row[1:]) for row in rows]


def _pattern_of(key: str) -> str:
    """Return the regular expression of the keys that a key covers: a parameter is any segment."""
    escaped = (re.sub(r"([^A-Za-z0-9])", r"\\\1", part) for part in key.split(_PARAMETER))
    return f"^{'[^/]+'.join(escaped)}$"


async def find_binding(db: Connection, network: Network, key: str) -> Binding | None:
    """Find and lock a key's binding."""
    row = await db.fetchrow(
        """
        SELECT id, pay_to FROM listings
        WHERE network = $1 AND resource_key = $2
        FOR UPDATE
        """,
        network.value,
        key,
    )
    return None if row is None else Binding(row["id"], Address(row["pay_to"]))


async def lock_places(db: Connection, network: Network, *holder: str) -> None:
    """Lock the insertion of keys of a holder of places until the transaction ends.

    Taken before any listing is locked, never after, so that there is no deadlock.
    """
    await db.execute(
        "SELECT pg_advisory_xact_lock($1, hashtext($2))",
        _PLACES,
        " ".join((network.value, *holder)),
    )


async def has_other_recipient(db: Connection, network: Network, host: str, pay_to: Address) -> bool:
    """Whether a key under the host is bound to another recipient."""
    found: bool = await db.fetchval(
        f"""
        SELECT EXISTS (SELECT FROM listings WHERE network = $1 AND {_HOST} = $2 AND pay_to <> $3)
        """,
        network.value,
        host,
        pay_to,
    )
    return found


async def count_keys(
    db: Connection, network: Network, host: str, pay_to: Address, ownership: Ownership
) -> int:
    """Count a recipient's keys under a host."""
    return int(
        await db.fetchval(
            f"""
            SELECT count(*) FROM listings
            WHERE network = $1 AND {_HOST} = $2 AND pay_to = $3 AND ownership = $4
            """,
            network.value,
            host,
            pay_to,
            ownership.value,
        )
    )


async def insert_listing(db: Connection, new: SettledResource, ownership: Ownership) -> int | None:
    """Insert a listing bound to the paid recipient; None when the key exists."""
    listing_id: int | None = await db.fetchval(
        """
        INSERT INTO listings (network, resource_key, type, url, tool_name, method, description,
                              mime_type, service_name, tags, icon_url, extensions, extension_keys,
                              parameters, asked_url, pay_to, bound_at, listed_at, updated_at,
                              settled_in_ledger, settled_at, ownership, verified_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $17,
                $17, $18, $17, $19, CASE WHEN $19::text = 'verified' THEN $17::timestamptz END)
        ON CONFLICT (network, resource_key) DO NOTHING
        RETURNING id
        """,
        new.settled.identity.network.value,
        new.resource.key,
        *resource_columns(new.resource),
        new.settled.terms.pay_to,
        new.settled.at,
        new.settled.ledger,
        ownership.value,
    )
    return listing_id


_SET_RESOURCE: Final[LiteralString] = """
    type = $2, url = $3, tool_name = $4, method = $5, description = $6, mime_type = $7,
    service_name = $8, tags = $9, icon_url = $10,
    -- the same bytes are not written again: they may be long
    extensions = CASE WHEN extensions = $11 THEN extensions ELSE $11 END,
    extension_keys = $12, parameters = $13, asked_url = $14, settled_in_ledger = $15,
    settled_at = $16
"""


async def update_resource(db: Connection, listing_id: int, new: SettledResource) -> bool:
    """Store the settlement's resource data; False when the listing has that of a later one."""
    is_replaced = await db.fetchval(
        "UPDATE listings SET "
        + _SET_RESOURCE
        + """
        WHERE id = $1 AND (settled_in_ledger IS NULL
                           OR (settled_in_ledger, settled_at) <= ($15, $16))
        RETURNING true
        """,
        listing_id,
        *resource_columns(new.resource),
        new.settled.ledger,
        new.settled.at,
    )
    return is_replaced is True


async def move_binding(db: Connection, listing_id: int, new: SettledResource) -> None:
    """Bind the key to the new recipient, verified; delete the old one's terms and counts."""
    await db.execute(
        """
        WITH terms AS (DELETE FROM listing_terms WHERE listing_id = $1),
             payers AS (DELETE FROM listing_payers WHERE listing_id = $1),
             quality AS (DELETE FROM listing_quality WHERE listing_id = $1)
        UPDATE listings SET """
        + _SET_RESOURCE
        + """,
            pay_to = $17, bound_at = $16, listed_at = $16, updated_at = $16,
            ownership = 'verified', verified_at = $16
        WHERE id = $1
        """,
        listing_id,
        *resource_columns(new.resource),
        new.settled.ledger,
        new.settled.at,
        new.settled.terms.pay_to,
    )


async def upsert_terms(db: Connection, listing_id: int, settled: SettledPayment) -> bool:
    """Store the terms for their scheme and asset; False when there are later ones."""
    is_stored = await db.fetchval(
        """
        INSERT INTO listing_terms AS stored (listing_id, scheme, asset, amount, pay_to,
                                             max_timeout_s, settled_in_ledger, settled_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (listing_id, scheme, asset) DO UPDATE
        SET amount = excluded.amount, pay_to = excluded.pay_to,
            max_timeout_s = excluded.max_timeout_s,
            settled_in_ledger = excluded.settled_in_ledger, settled_at = excluded.settled_at
        WHERE (stored.settled_in_ledger, stored.settled_at)
           <= (excluded.settled_in_ledger, excluded.settled_at)
        RETURNING true
        """,
        listing_id,
        settled.terms.scheme,
        settled.terms.asset,
        settled.terms.amount,
        settled.terms.pay_to,
        settled.terms.max_timeout_s,
        settled.ledger,
        settled.at,
    )
    return is_stored is True


async def count_payment(db: Connection, listing_id: int, payer: Address, *, at: datetime) -> None:
    """Add one payment to the payer's count."""
    await db.execute(
        """
        INSERT INTO listing_payers AS known (listing_id, payer, settlements, first_at, last_at)
        VALUES ($1, $2, 1, $3, $3)
        ON CONFLICT (listing_id, payer) DO UPDATE
        SET settlements = known.settlements + 1,
            first_at = least(known.first_at, excluded.first_at),
            last_at = greatest(known.last_at, excluded.last_at)
        """,
        listing_id,
        payer,
        at,
    )


async def touch(db: Connection, listing_id: int, *, at: datetime) -> SearchDocument | None:
    """Set the listing's update time; return its search document, None when it was taken down."""
    row = await db.fetchrow(
        """
        UPDATE listings l SET updated_at = greatest(updated_at, $2)
        WHERE id = $1
        RETURNING id, network, type, url, tool_name, service_name, tags, description, parameters,
                  updated_at, removed_at,
                  coalesce((SELECT payers FROM listing_quality q WHERE q.listing_id = l.id), 0)
                      AS payers  -- the last count; a recount follows
        """,
        listing_id,
        at,
    )
    return None if row is None or row["removed_at"] is not None else read_document(row)


async def read_documents(db: Connection, listing_ids: Sequence[int]) -> list[SearchDocument]:
    """Read the listings' search documents in the order of the ids, without those taken down."""
    rows = await db.fetch(
        """
        SELECT id, network, type, url, tool_name, service_name, tags, description, parameters,
               updated_at, 0 AS payers
        FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (id, position) JOIN listings USING (id)
        WHERE removed_at IS NULL
        ORDER BY position
        """,
        list(listing_ids),
    )
    return [read_document(row) for row in rows]


def resource_columns(resource: Resource) -> tuple[object, ...]:
    """Return a resource's columns, from `type` to `asked_url`."""
    metadata = resource.metadata
    return (
        resource.type.value,
        resource.url,
        resource.tool_name,
        resource.method,
        metadata.description,
        metadata.mime_type,
        metadata.service_name,
        list(metadata.tags),
        metadata.icon_url,
        resource.extensions,
        list(resource.extension_keys),
        resource.parameters,
        resource.paid_url,
    )


def read_document(row: Row) -> SearchDocument:
    """Read a search document from the columns of a listing and its payer count."""
    return SearchDocument(
        listing_id=row["id"],
        network=Network(row["network"]),
        type=ListingType(row["type"]),
        service_name=row["service_name"] or "",
        tags=tuple(row["tags"]),
        tool_name=row["tool_name"] or "",
        description=row["description"] or "",
        parameters=row["parameters"],
        url=row["url"],
        updated_at=row["updated_at"],
        payers=row["payers"],
    )
