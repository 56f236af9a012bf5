"""The requests of each client in a minute, counted in PostgreSQL for all processes together."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from farebox.storage.pool import Connection

_MAX_COUNT: Final = 1_000_000_000  # far above every limit


async def count_requests(
    db: Connection, costs: Mapping[str, int], *, window_start: datetime
) -> dict[str, int]:
    """Add to the count of each name, and return the new counts.

    One statement: exact for concurrent requests.
    """
    rows = await db.fetch(
        """
        INSERT INTO ingress_counts AS own (name, window_start, asked)
        SELECT name, $3, asked FROM unnest($1::text[], $2::integer[]) AS item (name, asked)
        ORDER BY name  -- the same order of locks in every process
        ON CONFLICT (name, window_start)
        DO UPDATE SET asked = least(own.asked + excluded.asked, $4)
        RETURNING name, asked
        """,
        list(costs),
        list(costs.values()),
        window_start,
        _MAX_COUNT,
    )
    return {row["name"]: row["asked"] for row in rows}


async def delete_windows(db: Connection, *, before: datetime, limit: int) -> int:
    """Delete at most `limit` counts of minutes that began before `before`; return how many."""
    rows = await db.fetch(
        """
        DELETE FROM ingress_counts
        WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM ingress_counts
            WHERE window_start < $1
            LIMIT $2
            FOR UPDATE SKIP LOCKED))
        RETURNING true
        """,
        before,
        limit,
    )
    return len(rows)
