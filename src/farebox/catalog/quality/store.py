"""What listings are counted from and what was counted, in PostgreSQL.

`db` is a connection.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.catalog.listing_store import document_of
from farebox.catalog.quality.cluster import Counted
from farebox.catalog.search_document import SearchDocument
from farebox.storage.pool import Connection

MAX_WEIGHED: Final = 200_000  # payers of one listing; further ones do not count
MAX_FUNDED: Final = 512  # of these, accounts that are funded here and have to be followed back


@dataclass(frozen=True, slots=True)
class Recount:
    """A listing to be counted, and the change up to which it will have been."""

    listing_id: int
    changes: int | None  # None: nothing has changed, it has only been long


@dataclass(frozen=True, slots=True)
class Weighed:
    """A listing's payers: how many are nobody's, and who is funded through this service."""

    network: str
    pay_to: str
    weighed: int
    unfunded: Counted
    funded: Mapping[str, int]  # settlements of each


async def find_due(db: Connection, *, now: datetime, limit: int) -> list[Recount]:
    """Listings whose payers changed, longest waiting first.

    One that has just been counted waits a millisecond for each of its payers, so that counting
    takes a bounded share of the time however busy it is.
    """
    rows = await db.fetch(
        """
        SELECT listing_id, changes
        FROM listing_recounts LEFT JOIN listing_quality USING (listing_id)
        WHERE counted_at IS NULL OR counted_at + weighed * interval '1 millisecond' <= $1
        ORDER BY due_at, listing_id
        LIMIT $2
        """,
        now,
        limit,
    )
    return [Recount(row["listing_id"], row["changes"]) for row in rows]


async def find_oldest(db: Connection, *, counted_before: datetime, limit: int) -> list[Recount]:
    """Listings that were counted longest ago: what is known of who funds whom has grown since."""
    rows = await db.fetch(
        """
        SELECT listing_id FROM listing_quality
        WHERE counted_at < $1 ORDER BY counted_at LIMIT $2
        """,
        counted_before,
        limit,
    )
    return [Recount(row["listing_id"], None) for row in rows]


async def find_weighed(db: Connection, listing_id: int) -> Weighed | None:
    """Who has paid for a listing, its recipient left out; None when it is gone."""
    row = await db.fetchrow(
        """
        WITH listing AS (SELECT id, network, pay_to FROM listings WHERE id = $1),
        paying AS (
            SELECT payer, settlements FROM listing_payers, listing
            WHERE listing_id = listing.id AND payer <> listing.pay_to
            LIMIT $2
        ), judged AS (
            SELECT payer, settlements, EXISTS (
                SELECT FROM payment_flows, listing
                WHERE payment_flows.network = listing.network AND account = payer AND is_funding
            ) AS is_funded
            FROM paying
        )
        SELECT network, pay_to,
               (SELECT count(*) FROM judged) AS weighed,
               (SELECT count(*) FROM judged WHERE NOT is_funded) AS payers,
               (SELECT coalesce(sum(settlements), 0)::bigint
                FROM judged WHERE NOT is_funded) AS settlements,
               ARRAY(SELECT ROW (payer, settlements) FROM judged WHERE is_funded
                     ORDER BY payer LIMIT $3) AS funded
        FROM listing
        """,
        listing_id,
        MAX_WEIGHED,
        MAX_FUNDED,
    )
    if row is None:
        return None
    return Weighed(
        network=row["network"],
        pay_to=row["pay_to"],
        weighed=row["weighed"],
        unfunded=Counted(row["payers"], row["settlements"]),
        funded=dict(row["funded"]),
    )


async def find_settlements(
    db: Connection, listing_id: int, payers: Collection[str]
) -> dict[str, int]:
    """Which of these accounts have paid for the listing, and how often."""
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
    """A shown listing as it is searched, with the payers counted before; nobody changes it now."""
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
    return None if row is None else document_of(row)


async def put_quality(
    db: Connection, listing_id: int, counted: Counted, *, weighed: int, at: datetime
) -> None:
    """The counts stand; nothing happens to a listing that is gone."""
    await db.execute(
        """
        INSERT INTO listing_quality (listing_id, payers, settlements, weighed, counted_at)
        SELECT id, $2, $3, $4, $5 FROM listings WHERE id = $1
        ON CONFLICT (listing_id) DO UPDATE
        SET payers = excluded.payers, settlements = excluded.settlements,
            weighed = excluded.weighed, counted_at = excluded.counted_at
        """,
        listing_id,
        counted.payers,
        counted.settlements,
        weighed,
        at,
    )


async def close_recount(db: Connection, recount: Recount) -> None:
    """The listing needs no count, unless its payers have changed meanwhile."""
    await db.execute(
        "DELETE FROM listing_recounts WHERE listing_id = $1 AND changes = $2",
        recount.listing_id,
        recount.changes,
    )
