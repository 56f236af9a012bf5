"""Turns of client addresses in PostgreSQL."""

from datetime import datetime, timedelta
from typing import Final

from farebox.storage.pool import Connection

_SWEPT_AT_ONCE: Final = 32  # addresses that nobody needs any more, removed in passing


async def take_turn(
    db: Connection, client: str, *, now: datetime, most: int, within: timedelta
) -> datetime | None:
    """None when the client had a turn left and took it; else when its oldest counted turn was.

    One statement, exact for requests that arrive at once.
    """
    row = await db.fetchrow(
        """
        WITH swept AS (
            DELETE FROM validation_turns WHERE client IN (
                SELECT client FROM validation_turns
                WHERE last_at < $2::timestamptz - $4::interval AND client <> $1
                LIMIT $5 FOR UPDATE SKIP LOCKED)
        ), turn AS (
            INSERT INTO validation_turns AS own (client, taken, last_at)
            VALUES ($1, ARRAY[$2::timestamptz], $2)
            ON CONFLICT (client) DO UPDATE
            SET taken = (own.taken || excluded.taken)[
                    greatest(1, cardinality(own.taken) + 2 - $3::int):],
                last_at = excluded.last_at
            WHERE cardinality(own.taken) < $3
               OR own.taken[cardinality(own.taken) + 1 - $3] <= $2::timestamptz - $4::interval
            RETURNING client
        )
        SELECT EXISTS (SELECT FROM turn) AS is_taken,
               (SELECT taken[1] FROM validation_turns WHERE client = $1) AS oldest
        """,
        client,
        now,
        most,
        within,
        _SWEPT_AT_ONCE,
    )
    if row is None or row["is_taken"]:
        return None
    oldest: datetime = row["oldest"] or now
    return oldest
