"""What callers have used, in PostgreSQL: counted answers, and the journal's own rows."""

from collections.abc import Sequence
from datetime import date, datetime
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
    db: Connection, owner: OwnerId, *, since: datetime, before: datetime
) -> dict[DayKey, Settled]:
    """What became of the settlements this caller asked for, by the UTC day it asked."""
    rows = await db.fetch(
        """
        SELECT (claimed_at AT TIME ZONE 'UTC')::date AS claimed_on, network,
               count(*) FILTER (WHERE state = 'confirmed') AS confirmed,
               count(*) FILTER (WHERE state IN ('failed', 'dead', 'unproven')) AS failed,
               count(*) FILTER (WHERE state IN ('claimed', 'sending', 'submitted')) AS pending,
               coalesce(sum(fee_charged), 0)::bigint AS fees
        FROM settlements
        WHERE caller = $1 AND claimed_at >= $2 AND claimed_at < $3
        GROUP BY claimed_on, network
        """,
        owner,
        since,
        before,
    )
    return {
        (row["claimed_on"], Network(row["network"])): Settled(
            row["confirmed"], row["failed"], row["pending"], row["fees"]
        )
        for row in rows
    }


async def delete_old(db: Connection, *, today: date, kept_days: int, limit: int) -> None:
    """Forget at most `limit` totals of days longer ago than `kept_days`."""
    await db.execute(
        """
        DELETE FROM usage_counts
        WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM usage_counts WHERE used_on < $1::date - $2::integer
            LIMIT $3 FOR UPDATE SKIP LOCKED))
        """,
        today,
        kept_days,
        limit,
    )
