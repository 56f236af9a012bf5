"""The usage of callers in PostgreSQL: counted requests, and settlements counted as they end."""

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from farebox.ingress.usage_day import DayKey, Period, RequestCounts, SettlementCounts
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

Total = tuple[OwnerId, date, str, str, int]


async def write_totals(db: Connection, totals: Sequence[Total], *, counted_by: UUID) -> None:
    """Write the totals of one process; a larger one that was written already stays."""
    await db.execute(
        """
        INSERT INTO usage_counts AS own (owner, used_on, network, metered, counted_by, amount)
        SELECT owner, used_on, network, metered, $6, amount
        FROM unnest($1::text[], $2::date[], $3::text[], $4::text[], $5::bigint[])
            AS item (owner, used_on, network, metered, amount)
        ON CONFLICT (owner, used_on, network, metered, counted_by)
        DO UPDATE SET amount = greatest(own.amount, excluded.amount)
        """,
        *map(list, zip(*totals, strict=True)),
        counted_by,
    )


async def get_request_counts(
    db: Connection, owner: OwnerId, period: Period
) -> dict[DayKey, RequestCounts]:
    """Return the caller's requests by result for each day of the period."""
    rows = await db.fetch(
        """
        SELECT used_on, network,
               coalesce(sum(amount) FILTER (WHERE metered = 'verify_accepted'), 0)::bigint
                   AS verify_accepted,
               coalesce(sum(amount) FILTER (WHERE metered = 'verify_refused'), 0)::bigint
                   AS verify_refused,
               coalesce(sum(amount) FILTER (WHERE metered = 'settle_refused'), 0)::bigint
                   AS settle_refused
        FROM usage_counts
        WHERE owner = $1 AND used_on BETWEEN $2 AND $3
        GROUP BY used_on, network
        """,
        owner,
        period.first,
        period.last,
    )
    return {
        (row["used_on"], Network(row["network"])): RequestCounts(
            row["verify_accepted"], row["verify_refused"], row["settle_refused"]
        )
        for row in rows
    }


async def get_settlement_counts(
    db: Connection, owner: OwnerId, period: Period
) -> dict[DayKey, SettlementCounts]:
    """Return the caller's settlements by status, by the UTC day of the request.

    To be called in a snapshot: settlements that have ended are counted by day already, and the
    few pending ones are read.
    """
    rows = await db.fetch(
        """
        SELECT used_on, network, sum(confirmed)::bigint AS confirmed, sum(failed)::bigint AS failed,
               sum(pending)::bigint AS pending, sum(fees)::bigint AS fees
        FROM (SELECT used_on, network, confirmed, failed, 0 AS pending, fees
              FROM settlement_usage WHERE owner = $1 AND used_on BETWEEN $2 AND $3
              UNION ALL
              SELECT (claimed_at AT TIME ZONE 'UTC')::date, network, 0, 0, 1, 0
              FROM settlements
              WHERE state IN ('claimed', 'sending', 'submitted') AND caller = $1
                AND (claimed_at AT TIME ZONE 'UTC')::date BETWEEN $2 AND $3) AS both_kinds
        GROUP BY used_on, network
        """,
        owner,
        period.first,
        period.last,
    )
    return {
        (row["used_on"], Network(row["network"])): SettlementCounts(
            row["confirmed"], row["failed"], row["pending"], row["fees"]
        )
        for row in rows
    }


async def delete_request_counts(db: Connection, *, before: date, limit: int) -> int:
    """Delete at most `limit` request totals of days before `before`; return how many."""
    rows = await db.fetch(
        """
        DELETE FROM usage_counts
        WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM usage_counts WHERE used_on < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING true
        """,
        before,
        limit,
    )
    return len(rows)


async def delete_settlement_counts(db: Connection, *, before: date, limit: int) -> int:
    """Delete at most `limit` settlement totals of days before `before`; return how many."""
    rows = await db.fetch(
        """
        DELETE FROM settlement_usage
        WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM settlement_usage WHERE used_on < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING true
        """,
        before,
        limit,
    )
    return len(rows)
