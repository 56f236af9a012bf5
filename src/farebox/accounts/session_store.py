"""The rows of users and their sessions; every moment is the database's."""

from datetime import datetime, timedelta

from farebox.accounts.session import User
from farebox.kernel.caller import OwnerId
from farebox.storage.pool import Connection


async def put_user(db: Connection, user: User) -> None:
    """The user is known, and signs in now: it is not forgotten before its session is written."""
    await db.execute(
        """
        INSERT INTO users (id, network, address) VALUES ($1, $2, $3)
        ON CONFLICT (id) DO UPDATE SET signed_in_at = excluded.signed_in_at
        """,
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


async def forget_users(db: Connection, *, kept: timedelta, limit: int) -> int:
    """Forget at most `limit` users who signed in so long ago and have nothing here; how many.

    Its id is made of network and address, so one that comes back is the same. A sign-in holds the
    row, and has moved `signed_in_at` once it lets go: such a row is passed over or fails the test.
    """
    gone = await db.fetch(
        """
        DELETE FROM users WHERE id IN (
            SELECT id FROM users
            WHERE signed_in_at < now() - $1::interval
              AND NOT EXISTS (SELECT FROM sessions WHERE sessions.user_id = users.id)
              AND NOT EXISTS (SELECT FROM api_keys WHERE api_keys.owner = users.id)
              AND NOT EXISTS (SELECT FROM vault_secrets WHERE vault_secrets.owner = users.id)
            ORDER BY signed_in_at
            LIMIT $2 FOR UPDATE SKIP LOCKED)
        RETURNING id
        """,
        kept,
        limit,
    )
    return len(gone)


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
