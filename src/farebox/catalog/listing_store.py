"""Listings in PostgreSQL: one row a resource and network, bound to one recipient.

Every function is one statement and says what it found. `db` is a connection inside a transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from farebox.catalog.listing import ListingType, Resource
from farebox.catalog.search_document import SearchDocument
from farebox.catalog.settled import Settled, SettledResource
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Row

_RECIPIENTS: Final = 0x6C697374  # the class of the advisory locks that count a recipient's keys


@dataclass(frozen=True, slots=True)
class Binding:
    """Whose a key is; locked until the transaction ends."""

    listing_id: int
    pay_to: Address


async def find_binding(db: Connection, network: Network, key: str) -> Binding | None:
    """Who a key is bound to, or None; nobody else changes it before the transaction ends."""
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


async def lock_recipient(db: Connection, network: Network, pay_to: Address) -> None:
    """Nobody else adds a key to this recipient before the transaction ends.

    Taken before any listing is locked, never after: so no two wait for each other.
    """
    await db.execute(
        "SELECT pg_advisory_xact_lock($1, hashtext($2))", _RECIPIENTS, f"{network.value} {pay_to}"
    )


async def count_keys(db: Connection, network: Network, pay_to: Address) -> int:
    """How many keys are bound to a recipient."""
    return int(
        await db.fetchval(
            "SELECT count(*) FROM listings WHERE network = $1 AND pay_to = $2",
            network.value,
            pay_to,
        )
    )


async def insert_listing(db: Connection, new: SettledResource) -> int | None:
    """Bind a key to the recipient that was paid; None when somebody has bound it meanwhile."""
    found: int | None = await db.fetchval(
        """
        INSERT INTO listings (network, resource_key, type, url, tool_name, method, description,
                              mime_type, service_name, tags, icon_url, extensions, extension_keys,
                              parameters, asked_url, pay_to, bound_at, listed_at, updated_at,
                              settled_in_ledger, settled_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $17,
                $17, $18, $17)
        ON CONFLICT (network, resource_key) DO NOTHING
        RETURNING id
        """,
        new.settled.identity.network.value,
        new.resource.key,
        *_text(new.resource),
        new.settled.terms.pay_to,
        new.settled.at,
        new.settled.ledger,
    )
    return found


_SET_TEXT: Final[LiteralString] = """
    type = $2, url = $3, tool_name = $4, method = $5, description = $6, mime_type = $7,
    service_name = $8, tags = $9, icon_url = $10,
    -- the same bytes are not written again: they may be long
    extensions = CASE WHEN extensions = $11 THEN extensions ELSE $11 END,
    extension_keys = $12, parameters = $13, asked_url = $14, settled_in_ledger = $15,
    settled_at = $16
"""


async def replace_text(db: Connection, listing_id: int, new: SettledResource) -> bool:
    """The listing says what this settlement says; False when a later one has spoken."""
    replaced = await db.fetchval(
        "UPDATE listings SET "
        + _SET_TEXT
        + """
        WHERE id = $1 AND (settled_in_ledger IS NULL
                           OR (settled_in_ledger, settled_at) <= ($15, $16))
        RETURNING true
        """,
        listing_id,
        *_text(new.resource),
        new.settled.ledger,
        new.settled.at,
    )
    return replaced is True


async def move_binding(db: Connection, listing_id: int, new: SettledResource) -> None:
    """The key is the new recipient's, as the resource itself says; nothing of the old one stays."""
    await db.execute(
        """
        WITH terms AS (DELETE FROM listing_terms WHERE listing_id = $1),
             payers AS (DELETE FROM listing_payers WHERE listing_id = $1),
             quality AS (DELETE FROM listing_quality WHERE listing_id = $1)
        UPDATE listings SET """
        + _SET_TEXT
        + """,
            pay_to = $17, bound_at = $16, listed_at = $16, updated_at = $16,
            ownership = 'verified', verified_at = $16
        WHERE id = $1
        """,
        listing_id,
        *_text(new.resource),
        new.settled.ledger,
        new.settled.at,
        new.settled.terms.pay_to,
    )


async def put_terms(db: Connection, listing_id: int, settled: Settled) -> bool:
    """The terms stand for their scheme and asset; False when later ones do."""
    put = await db.fetchval(
        """
        INSERT INTO listing_terms AS standing (listing_id, scheme, asset, amount, pay_to,
                                               max_timeout_s, settled_in_ledger, settled_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (listing_id, scheme, asset) DO UPDATE
        SET amount = excluded.amount, pay_to = excluded.pay_to,
            max_timeout_s = excluded.max_timeout_s,
            settled_in_ledger = excluded.settled_in_ledger, settled_at = excluded.settled_at
        WHERE (standing.settled_in_ledger, standing.settled_at)
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
    return put is True


async def count_payment(db: Connection, listing_id: int, payer: Address, *, at: datetime) -> None:
    """One more payment by this payer."""
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
    """The listing is as new as this payment; how it is searched, or None when it is not shown."""
    row = await db.fetchrow(
        """
        UPDATE listings l SET updated_at = greatest(updated_at, $2)
        WHERE id = $1
        RETURNING id, network, type, url, tool_name, service_name, tags, description, parameters,
                  updated_at, removed_at,
                  coalesce((SELECT payers FROM listing_quality q WHERE q.listing_id = l.id), 0)
                      AS payers  -- as last counted, which is done again soon
        """,
        listing_id,
        at,
    )
    return None if row is None or row["removed_at"] is not None else document_of(row)


async def read_documents(db: Connection, listing_ids: Sequence[int]) -> list[SearchDocument]:
    """What of these listings is searched, in the order of the ids; one that is gone is left out."""
    rows = await db.fetch(
        """
        SELECT id, network, type, url, tool_name, service_name, tags, description, parameters,
               updated_at, 0 AS payers
        FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (id, place) JOIN listings USING (id)
        WHERE removed_at IS NULL
        ORDER BY place
        """,
        list(listing_ids),
    )
    return [document_of(row) for row in rows]


def _text(resource: Resource) -> tuple[object, ...]:
    said = resource.metadata
    return (
        resource.type.value,
        resource.url,
        resource.tool_name,
        resource.method,
        said.description,
        said.mime_type,
        said.service_name,
        list(said.tags),
        said.icon_url,
        resource.extensions,
        list(resource.extension_keys),
        resource.parameters,
        resource.asked_url,
    )


def document_of(row: Row) -> SearchDocument:
    """What of a listing's row is searched; `payers` are the counted ones."""
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
