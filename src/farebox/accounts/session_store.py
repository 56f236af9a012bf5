"""The rows of users and their sessions; every moment is the database's."""

from datetime import datetime, timedelta

from farebox.accounts.session import User
from farebox.kernel.caller import OwnerId
from farebox.storage.pool import Connection


async def put_user(db: Connection, user: User) -> None:
    """The user is known; nothing changes if it was already."""
    await db.execute(
        "INSERT INTO users (id, network, address) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        user.id,
        user.network.value,
        user.address,
    )


async def put_session(
    db: Connection, session_id: str, *, digest: bytes, user: OwnerId, life: timedelta
) -> datetime:
    """The user has a session whose token has this digest, from now on; when it ends."""
    ends_at: datetime = await db.fetchval(
        """
        INSERT INTO sessions (id, digest, user_id, expires_at)
        VALUES ($1, $2, $3, now() + $4::interval)
        RETURNING expires_at
        """,
        session_id,
        digest,
        user,
        life,
    )
    return ends_at


async def find_end(db: Connection, session_id: str) -> datetime | None:
    """When the session ends if nobody ends it before; None for one that has ended."""
    ends_at: datetime | None = await db.fetchval(
        """
        SELECT expires_at FROM sessions
        WHERE id = $1 AND revoked_at IS NULL AND expires_at > clock_timestamp()
        """,
        session_id,
    )
    return ends_at


async def revoke_session(db: Connection, session_id: str) -> list[str]:
    """The session is over; its id, if it was not before."""
    rows = await db.fetch(
        """
        UPDATE sessions SET revoked_at = clock_timestamp()
        WHERE id = $1 AND revoked_at IS NULL
        RETURNING id
        """,
        session_id,
    )
    return [row["id"] for row in rows]


async def revoke_sessions(db: Connection, user: OwnerId) -> list[str]:
    """Every session of the user is over; the ids of those that were not before."""
    rows = await db.fetch(
        """
        UPDATE sessions SET revoked_at = clock_timestamp()
        WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > clock_timestamp()
        RETURNING id
        """,
        user,
    )
    return [row["id"] for row in rows]


async def end_oldest(db: Connection, user: OwnerId, *, besides: str, most: int) -> list[str]:
    """Besides this one the user has so many sessions at most, the newest; the ids of the others."""
    rows = await db.fetch(
        """
        WITH surplus AS (
            SELECT id FROM sessions WHERE id IN (
                SELECT id FROM sessions
                WHERE user_id = $1 AND id <> $2
                  AND revoked_at IS NULL AND expires_at > clock_timestamp()
                ORDER BY created_at DESC, id DESC OFFSET $3)
            FOR UPDATE SKIP LOCKED
        )
        UPDATE sessions SET revoked_at = clock_timestamp()
        FROM surplus WHERE sessions.id = surplus.id
        RETURNING sessions.id
        """,
        user,
        besides,
        most,
    )
    return [row["id"] for row in rows]


async def sweep_sessions(db: Connection, *, kept: timedelta, limit: int) -> int:
    """Sessions whose time has been over for so long are forgotten; how many."""
    gone = await db.fetch(
        """
        DELETE FROM sessions WHERE id IN (
            SELECT id FROM sessions WHERE expires_at < now() - $1::interval
            LIMIT $2 FOR UPDATE SKIP LOCKED)
        RETURNING id
        """,
        kept,
        limit,
    )
    return len(gone)
