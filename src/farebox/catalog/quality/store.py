"""Listings' payers, recounts and counts in PostgreSQL.

`db` is a connection.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.catalog.listing_store import read_document
from farebox.catalog.quality.payer_clusters import PayerCount
from farebox.catalog.search_document import SearchDocument
from farebox.storage.pool import Connection

MAX_PAYERS: Final = 200_000  # of one listing; further ones do not count
MAX_FUNDED: Final = 512  # of these, accounts funded through this service, whose funding is traced


@dataclass(frozen=True, slots=True)
class Recount:
    """A listing to be recounted, and its change counter when the recount was read."""

    listing_id: int
    changes: int | None  # None: no change, but the count is old


@dataclass(frozen=True, slots=True)
class ListingPayers:
    """A listing's payers: the counts of those funded elsewhere, and those funded through us."""

    network: str
    pay_to: str
    read: int  # payers in all
    independent: PayerCount  # of payers that are not funded through this service
    funded: Mapping[str, int]  # settlements of each payer that is


async def find_due(db: Connection, *, now: datetime, limit: int) -> list[Recount]:
    """Find listings whose payers changed, longest waiting first.

    After a count a listing waits one millisecond for each of its payers, so that counting takes a
    bounded share of the time however busy the listing is.
    """
    rows = await db.fetch(
        """
        SELECT listing_id, changes
        FROM listing_recounts LEFT JOIN listing_quality USING (listing_id)
        WHERE (counted_at IS NULL OR counted_at + weighed * interval '1 millisecond' <= $1)
          AND waits_until <= $1
        ORDER BY due_at, listing_id
        LIMIT $2
        """,
        now,
        limit,
    )
    return [Recount(row["listing_id"], row["changes"]) for row in rows]


async def find_oldest(db: Connection, *, counted_before: datetime, limit: int) -> list[Recount]:
    """Find the listings with the oldest counts: the funding graph has grown since.

    Those with a pending recount are left to `find_due`.
    """
    rows = await db.fetch(
        """
        SELECT listing_id FROM listing_quality
        WHERE counted_at < $1
          AND NOT EXISTS (SELECT FROM listing_recounts
                          WHERE listing_recounts.listing_id = listing_quality.listing_id)
        ORDER BY counted_at LIMIT $2
        """,
        counted_before,
        limit,
    )
    return [Recount(row["listing_id"], None) for row in rows]


async def postpone(db: Connection, listing_id: int, *, until: datetime) -> None:
    """Postpone the listing's recount to `until`; insert one if there is none."""
    await db.execute(
        """
        INSERT INTO listing_recounts (listing_id, changes, waits_until) VALUES ($1, 1, $2)
        ON CONFLICT (listing_id) DO UPDATE SET waits_until = excluded.waits_until
        """,
        listing_id,
        until,
    )


async def find_payers(db: Connection, listing_id: int) -> ListingPayers | None:
    """Read a listing's payers without its recipient; None when the listing is gone."""
    row = await db.fetchrow(
        """
        WITH listing AS (SELECT id, network, pay_to FROM listings WHERE id = $1),
        paying AS (
            SELECT payer, settlements FROM listing_payers, listing
            WHERE listing_id = listing.id AND payer <> listing.pay_to
            LIMIT $2
        ), classified AS (
            SELECT payer, settlements, EXISTS (
                SELECT FROM payment_flows, listing
                WHERE payment_flows.network = listing.network AND account = payer AND is_funding
            ) AS is_funded
            FROM paying
        )
        SELECT network, pay_to,
               (SELECT count(*) FROM classified) AS read,
               (SELECT count(*) FROM classified WHERE NOT is_funded) AS payers,
               (SELECT coalesce(sum(settlements), 0)::bigint
                FROM classified WHERE NOT is_funded) AS settlements,
               ARRAY(SELECT ROW (payer, settlements) FROM classified WHERE is_funded
                     ORDER BY payer LIMIT $3) AS funded
        FROM listing
        """,
        listing_id,
        MAX_PAYERS,
        MAX_FUNDED,
    )
    if row is None:
        return None
    return ListingPayers(
        network=row["network"],
        pay_to=row["pay_to"],
        read=row["read"],
        independent=PayerCount(row["payers"], row["settlements"]),
        funded=dict(row["funded"]),
    )


async def count_settlements(
    db: Connection, listing_id: int, payers: Collection[str]
) -> dict[str, int]:
    """Count the settlements of those of the accounts that have paid for the listing."""
    rows = await db.fetch(
        """
        SELECT payer, settlements FROM listing_payers
        WHERE listing_id = $1 AND payer = ANY ($2::text[])
        """,
        listing_id,
        sorted(payers),
    )
    return {row["payer"]: row["settlements"] for row in rows}


async def lock_listing(db: Connection, listing_id: int) -> SearchDocument | None:
    """Lock a listing; return its search document with the stored payer count."""
    row = await db.fetchrow(
        """
        SELECT id, network, type, url, tool_name, service_name, tags, description, parameters,
               updated_at,
               coalesce((SELECT payers FROM listing_quality WHERE listing_id = id), 0) AS payers
        FROM listings WHERE id = $1 AND removed_at IS NULL
        FOR UPDATE
        """,
        listing_id,
    )
    return None if row is None else read_document(row)


async def upsert_quality(
    db: Connection, listing_id: int, count: PayerCount, *, payers_read: int, at: datetime
) -> None:
    """Store the counts, unless the listing is gone."""
    await db.execute(
        """
        INSERT INTO listing_quality (listing_id, payers, settlements, weighed, counted_at)
        SELECT id, $2, $3, $4, $5 FROM listings WHERE id = $1
        ON CONFLICT (listing_id) DO UPDATE
        SET payers = excluded.payers, settlements = excluded.settlements,
            weighed = excluded.weighed, counted_at = excluded.counted_at
        """,
        listing_id,
        count.payers,
        count.settlements,
        payers_read,
        at,
    )


async def delete_recount(db: Connection, recount: Recount) -> None:
    """Delete the recount, unless the payers have changed since it was read."""
    await db.execute(
        "DELETE FROM listing_recounts WHERE listing_id = $1 AND changes = $2",
        recount.listing_id,
        recount.changes,
    )
