"""What callers have used, in PostgreSQL: counted answers, and settlements counted as they end."""

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from farebox.ingress.usage_day import Answered, DayKey, Settled
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

Total = tuple[OwnerId, date, str, str, int]


async def write_totals(db: Connection, totals: Sequence[Total], *, counted_by: UUID) -> None:
    """The totals of one process are what is said here, or what was written already if more."""
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


async def answered(
    db: Connection, owner: OwnerId, *, first: date, last: date
) -> dict[DayKey, Answered]:
    """How the caller's requests were answered on each of these days, both included."""
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
        first,
        last,
    )
    return {
        (row["used_on"], Network(row["network"])): Answered(
            row["verify_accepted"], row["verify_refused"], row["settle_refused"]
        )
        for row in rows
    }


async def settled(
    db: Connection, owner: OwnerId, *, first: date, last: date
) -> dict[DayKey, Settled]:
    """What became of the settlements this caller asked for, by the UTC day it asked.

    In a snapshot: those that ended are counted by day, those that did not are few and read.
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
        first,
        last,
    )
    return {
        (row["used_on"], Network(row["network"])): Settled(
            row["confirmed"], row["failed"], row["pending"], row["fees"]
        )
        for row in rows
    }


async def delete_answered(db: Connection, *, before: date, limit: int) -> int:
    """Forget at most `limit` totals of answers of days before `before`; how many it were."""
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


async def delete_settled(db: Connection, *, before: date, limit: int) -> int:
    """Forget at most `limit` totals of settlements of days before `before`; how many it were."""
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
