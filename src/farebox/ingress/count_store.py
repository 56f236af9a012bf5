"""How often each asker has asked within a minute, in PostgreSQL: for all processes together."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from farebox.storage.pool import Connection

_ENOUGH: Final = 1_000_000_000  # a count that is refused anyway goes no further


async def count_requests(
    db: Connection, asked: Mapping[str, int], *, window_start: datetime
) -> dict[str, int]:
    """So many more requests of each name are counted; how many they are now, all told.

    One statement, exact for whatever arrives at once.
    """
    rows = await db.fetch(
        """
        INSERT INTO ingress_counts AS own (name, window_start, asked)
        SELECT name, $3, asked FROM unnest($1::text[], $2::integer[]) AS item (name, asked)
        ORDER BY name  -- the same way round in every process
        ON CONFLICT (name, window_start)
        DO UPDATE SET asked = least(own.asked + excluded.asked, $4)
        RETURNING name, asked
        """,
        list(asked),
        list(asked.values()),
        window_start,
        _ENOUGH,
    )
    return {row["name"]: row["asked"] for row in rows}


async def delete_windows(db: Connection, *, before: datetime, limit: int) -> int:
    """Forget at most `limit` counts of minutes that began before `before`; how many it were."""
    rows = await db.fetch(
        """
        DELETE FROM ingress_counts
        WHERE (name, window_start) IN (
            SELECT name, window_start FROM ingress_counts
            WHERE window_start < $1
            LIMIT $2
            FOR UPDATE SKIP LOCKED)
        RETURNING true
        """,
        before,
        limit,
    )
    return len(rows)
