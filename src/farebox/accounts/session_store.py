"""The tables of users and their sessions; all times are the database's."""

from datetime import datetime, timedelta

from farebox.accounts.session import User
from farebox.kernel.caller import OwnerId
from farebox.storage.pool import Connection


async def put_user(db: Connection, user: User, *, is_on_ledger: bool) -> None:
    """Insert or update a user who signs in; its row is locked until the session is written.

    An account that was on the ledger at one sign-in stays established.
    """
    await db.execute(
        """
        INSERT INTO users (id, network, address, was_on_ledger) VALUES ($1, $2, $3, $4)
        ON CONFLICT (id) DO UPDATE
        SET signed_in_at = excluded.signed_in_at,
            was_on_ledger = users.was_on_ledger OR excluded.was_on_ledger
        """,
        user.id,
        user.network.value,
        user.address,
        is_on_ledger,
    )


async def put_session(
    db: Connection, session_id: str, *, digest: bytes, user: OwnerId, life: timedelta
) -> datetime:
    """Insert a session whose token has this digest; returns its expiry."""
    expires_at: datetime = await db.fetchval(
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
    return expires_at


async def find_expiry(db: Connection, session_id: str) -> datetime | None:
    """Return the session's expiry; None when it has expired or was revoked."""
    expires_at: datetime | None = await db.fetchval(
        """
        SELECT expires_at FROM sessions
        WHERE id = $1 AND revoked_at IS NULL AND expires_at > clock_timestamp()
        """,
        session_id,
    )
    return expires_at


async def revoke_session(db: Connection, session_id: str) -> list[str]:
    """Revoke the session; returns its id, or nothing when it was revoked before."""
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
    """Revoke every session of the user; returns the ids of those that were valid."""
    rows = await db.fetch(
        """
        UPDATE sessions SET revoked_at = clock_timestamp()
        WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > clock_timestamp()
        RETURNING id
        """,
        user,
    )
    return [row["id"] for row in rows]


async def revoke_oldest(db: Connection, user: OwnerId, *, besides: str, most: int) -> list[str]:
    """Revoke all but the newest `most` sessions of the user and `besides`; returns the ids."""
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


async def delete_users(db: Connection, *, kept: timedelta, limit: int) -> int:
    """Delete at most `limit` users without records who signed in `kept` ago; returns how many.

    The id is derived from network and address, so a user who returns gets the same one. A sign-in
    locks the row and has moved `signed_in_at` when it commits: the row is skipped or not due.
    """
    rows = await db.fetch(
        """
        DELETE FROM users WHERE id = ANY (ARRAY(
            SELECT id FROM users
            WHERE signed_in_at < now() - $1::interval
              AND NOT EXISTS (SELECT FROM sessions WHERE sessions.user_id = users.id)
              AND NOT EXISTS (SELECT FROM api_keys WHERE api_keys.owner = users.id)
              AND NOT EXISTS (SELECT FROM vault_secrets WHERE vault_secrets.owner = users.id)
            ORDER BY signed_in_at
            LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING id
        """,
        kept,
        limit,
    )
    return len(rows)


async def delete_expired_sessions(db: Connection, *, kept: timedelta, limit: int) -> int:
    """Delete at most `limit` sessions that expired `kept` ago; returns how many."""
    rows = await db.fetch(
        """
        DELETE FROM sessions WHERE id = ANY (ARRAY(
            SELECT id FROM sessions WHERE expires_at < now() - $1::interval
            LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING id
        """,
        kept,
        limit,
    )
    return len(rows)
