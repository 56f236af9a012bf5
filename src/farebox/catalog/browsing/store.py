"""Reads of listings in PostgreSQL: a page of ids, and listings by id.

`db` is a connection. No query counts all listings: totals and the position of an offset come from
`listing_counts`, and the number of one recipient's listings is capped.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import LiteralString

from farebox.catalog.listing import (
    ListedTerms,
    Listing,
    ListingFilters,
    ListingType,
    Metadata,
    Ownership,
    Quality,
    Resource,
)
from farebox.catalog.origin.probe_store import read_probe
from farebox.catalog.tokens.store import read_token
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Row
from farebox.x402.wire import SCHEME


@dataclass(frozen=True, slots=True)
class IdPage:
    """The ids of one page, and how many listings match the filters in all."""

    ids: tuple[int, ...]
    total: int


_EMPTY = IdPage((), 0)

# adding up the counts finds the stretches of ids that hold the page; only these are read
_ALL: LiteralString = """
    WITH counted AS (
        SELECT stretch, sum(shown)::bigint AS shown
        FROM listing_counts
        WHERE ($1::text IS NULL OR network = $1)
          AND ($2::text IS NULL OR type = $2)
          AND ($3::text IS NULL OR $3 = ANY (extension_keys))
        GROUP BY stretch HAVING sum(shown) > 0
    ), positioned AS (
        SELECT stretch, sum(shown) OVER (ORDER BY stretch) - shown AS before, shown FROM counted
    ), near AS (
        SELECT stretch, before FROM positioned
        WHERE before + shown > $4::bigint AND before::numeric < $4::numeric + $5::bigint
    )
    SELECT
        (SELECT coalesce(sum(shown), 0)::bigint FROM counted) AS total,
        ARRAY(
            SELECT listings.id
            FROM near, LATERAL (
                SELECT id FROM listings
                WHERE id >= near.stretch << 10 AND id < (near.stretch + 1) << 10
                  AND removed_at IS NULL
                  AND ($1::text IS NULL OR network = $1)
                  AND ($2::text IS NULL OR type = $2)
                  AND ($3::text IS NULL OR $3 = ANY (extension_keys))
            ) AS listings
            ORDER BY listings.id
            OFFSET $4::bigint - coalesce((SELECT min(before) FROM near), $4::bigint)
            LIMIT $5
        ) AS ids
"""

_ALL_OF_RECIPIENT: LiteralString = """
    WITH matching AS (
        SELECT id FROM listings
        WHERE pay_to = $6
          AND removed_at IS NULL
          AND ($1::text IS NULL OR network = $1)
          AND ($2::text IS NULL OR type = $2)
          AND ($3::text IS NULL OR $3 = ANY (extension_keys))
    )
    SELECT
        (SELECT count(*) FROM matching) AS total,
        ARRAY(SELECT id FROM matching ORDER BY id OFFSET $4::bigint LIMIT $5) AS ids
"""


async def find_page(db: Connection, filters: ListingFilters, *, limit: int, offset: int) -> IdPage:
    """Find the ids from `offset` on and the total, in one statement."""
    if filters.scheme not in (None, SCHEME):
        return _EMPTY  # a constraint allows no other scheme
    arguments = (filters.network, filters.type, filters.extension, offset, limit)
    if filters.pay_to is None:
        row = await db.fetchrow(_ALL, *arguments)
    else:
        row = await db.fetchrow(_ALL_OF_RECIPIENT, *arguments, filters.pay_to)
    return IdPage(tuple(row["ids"]), row["total"]) if row is not None else _EMPTY


async def get_listings(db: Connection, ids: Sequence[int]) -> list[Listing]:
    """Read listings in the order of `ids`, without those taken down; newest terms first."""
    rows = await db.fetch(
        """
        SELECT listings.id, listings.network, resource_key, type, url, tool_name, method,
               listings.pay_to, description, mime_type, service_name, tags, icon_url, extensions,
               extension_keys, parameters, listed_at, updated_at, ownership,
               coalesce(payers, 0) AS payers, coalesce(settlements, 0) AS settlements,
               scheme, listing_terms.asset, amount, listing_terms.pay_to AS terms_pay_to,
               max_timeout_s, kind, code, issuer, wasm_hash, owner,
               state, listing_probes.checked_at, changed_at
        FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (id, position)
        JOIN listings ON listings.id = wanted.id AND removed_at IS NULL
        LEFT JOIN listing_quality ON listing_quality.listing_id = listings.id
        LEFT JOIN listing_probes ON listing_probes.listing_id = listings.id
            AND listing_probes.pay_to = listings.pay_to
        LEFT JOIN listing_terms ON listing_terms.listing_id = listings.id
        LEFT JOIN tokens ON tokens.asset = listing_terms.asset
            AND tokens.network = listings.network
        ORDER BY position, listing_terms.settled_in_ledger DESC, scheme, listing_terms.asset
        """,
        list(ids),
    )
    return [_read_listing(list(group)) for _, group in groupby(rows, key=lambda row: row["id"])]


def _read_listing(rows: list[Row]) -> Listing:
    row = rows[0]
    return Listing(
        id=row["id"],
        network=Network(row["network"]),
        resource=_read_resource(row),
        pay_to=Address(row["pay_to"]),
        accepts=tuple(_read_terms(rows)),
        updated_at=row["updated_at"],
        quality=Quality(
            payers=row["payers"],
            settlements=row["settlements"],
            listed_at=row["listed_at"],
            last_settled_at=row["updated_at"],
        ),
        ownership=Ownership(row["ownership"]),
        probe=read_probe(row),
    )


def _read_resource(row: Row) -> Resource:
    return Resource(
        type=ListingType(row["type"]),
        key=row["resource_key"],
        url=row["url"],
        metadata=Metadata(
            description=row["description"],
            mime_type=row["mime_type"],
            service_name=row["service_name"],
            tags=tuple(row["tags"]),
            icon_url=row["icon_url"],
        ),
        extensions=row["extensions"],
        extension_keys=tuple(row["extension_keys"]),
        parameters=row["parameters"],
        tool_name=row["tool_name"],
        method=row["method"],
    )


def _read_terms(rows: Iterable[Row]) -> Iterable[ListedTerms]:
    for row in rows:
        if row["scheme"] is not None:
            yield ListedTerms(
                scheme=row["scheme"],
                asset=Address(row["asset"]),
                amount=BaseUnits(int(row["amount"])),
                pay_to=Address(row["terms_pay_to"]),
                max_timeout_s=row["max_timeout_s"],
                token=read_token(row),
            )
