"""The table of personal API keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from farebox.accounts.api_key import MAX_INVALID, ROTATION_WINDOW, ApiKey, KeyTerms
from farebox.kernel.caller import Grant, OwnerId
from farebox.kernel.pages import Place
from farebox.storage.client_quota import ClientQuota
from farebox.storage.pool import Connection, Row

QUOTA: Final = ClientQuota("api_keys", per_client=200, in_total=50_000)

_COLUMNS: Final = (
    "id, owner, name, prefix, grants, created_at, updated_at, expires_at, revoked_at,"
    " last_used_at, replaced_by, coalesce(line, id) AS line"
)
_LIVE: Final = (
    # an index serves now() but not clock_timestamp(); what is valid now was valid at now() too
    "(revoked_at IS NULL OR revoked_at > now())"
    " AND (revoked_at IS NULL OR revoked_at > clock_timestamp())"
    " AND (expires_at IS NULL OR expires_at > clock_timestamp())"
)
_USE_INTERVAL: Final = timedelta(minutes=1)
_GRANTS: Final = {grant.value: grant for grant in Grant}


@dataclass(frozen=True, slots=True)
class NewKey:
    """The row of a new key."""

    id: str
    owner: OwnerId
    terms: KeyTerms
    prefix: str
    digest: bytes
    chain_id: str  # the id of the first key of its rotation chain
    client: str | None  # the client address whose quota it counts against


async def lock_owner(db: Connection, owner: OwnerId) -> None:
    """Take the advisory lock on the owner's keys until the transaction ends."""
    await db.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 13))", owner)


async def count_live(db: Connection, owner: OwnerId) -> int:
    """Count the owner's valid keys."""
    count: int = await db.fetchval(
        f"SELECT count(*) FROM api_keys WHERE owner = $1 AND {_LIVE}", owner
    )
    return count


async def has_name(db: Connection, owner: OwnerId, name: str) -> bool:
    """Whether a valid key of the owner that was not rotated has the name."""
    found: bool = await db.fetchval(
        f"""
        SELECT EXISTS (SELECT FROM api_keys
                       WHERE owner = $1 AND name = $2 AND revoked_at IS NULL AND {_LIVE})
        """,
        owner,
        name,
    )
    return found


async def count_rotations(db: Connection, chain_id: str) -> int:
    """Count the keys of the chain that were rotated within the rotation window."""
    count: int = await db.fetchval(
        """
        SELECT count(*) FROM api_keys
        WHERE line = $1 AND replaced_by IS NOT NULL
          AND updated_at > clock_timestamp() - $2::interval
        """,
        chain_id,
        ROTATION_WINDOW,
    )
    return count


async def add_key(db: Connection, key: NewKey) -> ApiKey:
    """Insert a key."""
    row = await db.fetchrow(
        f"""
        INSERT INTO api_keys (id, owner, name, prefix, digest, grants, expires_at, line, client,
                              created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, statement_timestamp(), statement_timestamp())
        RETURNING {_COLUMNS}
        """,
        key.id,
        key.owner,
        key.terms.name,
        key.prefix,
        key.digest,
        sorted(key.terms.grants),
        key.terms.expires_at,
        key.chain_id,
        key.client,
    )
    assert row is not None  # noqa: S101 - an INSERT without a condition returns its row
    return _key(row)


async def delete_invalid_keys(db: Connection, owner: OwnerId) -> None:
    """Delete invalid keys of the owner except the newest and those in the chain of a valid one.

    Revoking one of the latter revokes the keys it was rotated to.
    """
    await db.execute(
        f"""
        WITH live AS (
            SELECT DISTINCT coalesce(line, id) AS line FROM api_keys WHERE owner = $1 AND {_LIVE}
        )
        DELETE FROM api_keys WHERE id IN (
            SELECT id FROM api_keys
            WHERE owner = $1 AND NOT ({_LIVE})
              AND NOT (replaced_by IS NOT NULL
                       AND updated_at > clock_timestamp() - $2::interval
                       AND coalesce(line, id) IN (SELECT line FROM live))
            ORDER BY created_at DESC, id DESC OFFSET {MAX_INVALID})
        """,
        owner,
        ROTATION_WINDOW,
    )


async def retire_key(
    db: Connection, owner: OwnerId, key_id: str, *, successor: str, overlap: timedelta
) -> ApiKey | None:
    """Set the key's successor and let it expire after `overlap`; None when it cannot be rotated.

    Of concurrent calls for one key a single one succeeds.
    """
    row = await db.fetchrow(
        f"""
        UPDATE api_keys SET revoked_at = clock_timestamp() + $4::interval, replaced_by = $3,
                            updated_at = clock_timestamp()
        WHERE id = $2 AND owner = $1 AND revoked_at IS NULL AND {_LIVE}
        RETURNING {_COLUMNS}
        """,
        owner,
        key_id,
        successor,
        overlap,
    )
    return None if row is None else _key(row)


async def revoke_chain(db: Connection, owner: OwnerId, key_id: str) -> Sequence[ApiKey]:
    """Revoke the key and every key it was rotated to; returns those that this call revoked.

    The oldest first. The caller holds `lock_owner`, so that no concurrent rotation is missed.
    """
    rows = await db.fetch(
        f"""
        WITH RECURSIVE line AS (
            SELECT id, replaced_by FROM api_keys WHERE id = $2 AND owner = $1
            UNION
            SELECT next.id, next.replaced_by
            FROM line JOIN api_keys next ON next.id = line.replaced_by AND next.owner = $1
        )
        UPDATE api_keys SET revoked_at = clock_timestamp(), updated_at = clock_timestamp()
        WHERE id IN (SELECT id FROM line)
          AND (revoked_at IS NULL OR revoked_at > clock_timestamp())
        RETURNING {_COLUMNS}
        """,
        owner,
        key_id,
    )
    return sorted(map(_key, rows), key=lambda key: key.place)


async def find_key(db: Connection, owner: OwnerId, key_id: str) -> ApiKey | None:
    """Find the owner's key of this id, valid or not."""
    row = await db.fetchrow(
        f"SELECT {_COLUMNS} FROM api_keys WHERE id = $2 AND owner = $1", owner, key_id
    )
    return None if row is None else _key(row)


async def list_keys(
    db: Connection, owner: OwnerId, *, after: Place | None, limit: int
) -> Sequence[ApiKey]:
    """List the owner's keys after a position, newest first."""
    moment, key_id = after or (None, None)
    rows = await db.fetch(
        f"""
        SELECT {_COLUMNS} FROM api_keys
        WHERE owner = $1 AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3::text))
        ORDER BY created_at DESC, id DESC LIMIT $4
        """,
        owner,
        moment,
        key_id,
        limit,
    )
    return [_key(row) for row in rows]


async def record_uses(db: Connection, used: Mapping[str, datetime]) -> None:
    """Set the time of last use of keys where the stored one is older than a minute.

    Locked rows are skipped: a later use updates them.
    """
    await db.execute(
        """
        WITH due AS (
            SELECT k.id, used.at
            FROM unnest($1::text[], $2::timestamptz[]) AS used (id, at)
            JOIN api_keys k ON k.id = used.id
            WHERE k.last_used_at IS NULL OR k.last_used_at <= used.at - $3::interval
            FOR UPDATE OF k SKIP LOCKED
        )
        UPDATE api_keys k SET last_used_at = due.at FROM due WHERE k.id = due.id
        """,
        list(used),
        list(used.values()),
        _USE_INTERVAL,
    )


def _key(row: Row) -> ApiKey:
    return ApiKey(
        id=row["id"],
        owner=OwnerId(row["owner"]),
        name=row["name"],
        prefix=row["prefix"],
        grants=frozenset(_GRANTS[name] for name in row["grants"] if name in _GRANTS),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        last_used_at=row["last_used_at"],
        replaced_by=row["replaced_by"],
        chain_id=row["line"],
    )
