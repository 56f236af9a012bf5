"""The rows of personal keys."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from farebox.accounts.api_key import KEPT_DEAD, ApiKey, KeyTerms
from farebox.accounts.key_line import REMEMBERED, Link
from farebox.kernel.caller import Grant, OwnerId
from farebox.kernel.pages import Place
from farebox.storage.pool import Connection, Row

_COLUMNS: Final = (
    "id, owner, name, prefix, grants, created_at, updated_at, expires_at, revoked_at,"
    " last_used_at, replaced_by"
)
_LIVE: Final = (
    "(revoked_at IS NULL OR revoked_at > clock_timestamp())"
    " AND (expires_at IS NULL OR expires_at > clock_timestamp())"
)
_USES_APART: Final = timedelta(minutes=1)
_GRANTS: Final = {grant.value: grant for grant in Grant}


async def take_turn(db: Connection, owner: OwnerId) -> None:
    """Until the transaction ends nobody else adds to this owner's keys."""
    await db.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 13))", owner)


async def count_live(db: Connection, owner: OwnerId) -> int:
    """How many of the owner's keys work now."""
    count: int = await db.fetchval(
        f"SELECT count(*) FROM api_keys WHERE owner = $1 AND {_LIVE}", owner
    )
    return count


async def has_name(db: Connection, owner: OwnerId, name: str) -> bool:
    """Whether a key of the owner that works and was not rotated has the name."""
    found: bool = await db.fetchval(
        f"""
        SELECT EXISTS (SELECT FROM api_keys
                       WHERE owner = $1 AND name = $2 AND revoked_at IS NULL AND {_LIVE})
        """,
        owner,
        name,
    )
    return found


async def list_links(db: Connection, owner: OwnerId) -> Sequence[Link]:
    """The owner's keys that work, and those that were rotated not long ago."""
    rows = await db.fetch(
        f"""
        SELECT id, replaced_by, ({_LIVE}) AS is_live FROM api_keys
        WHERE owner = $1
          AND (({_LIVE}) OR replaced_by IS NOT NULL
                            AND updated_at > clock_timestamp() - $2::interval)
        """,
        owner,
        REMEMBERED,
    )
    return [Link(row["id"], row["replaced_by"], row["is_live"]) for row in rows]


async def add_key(
    db: Connection,
    key_id: str,
    owner: OwnerId,
    terms: KeyTerms,
    *,
    prefix: str,
    digest: bytes,
    kept: Collection[str],
) -> ApiKey:
    """The key is there; of those that do not work any more `kept` and the newest are left."""
    row = await db.fetchrow(
        f"""
        WITH forgotten AS (
            DELETE FROM api_keys WHERE id IN (
                SELECT id FROM api_keys
                WHERE owner = $2 AND NOT ({_LIVE}) AND id <> ALL ($8::text[])
                ORDER BY created_at DESC, id DESC OFFSET {KEPT_DEAD})
        )
        INSERT INTO api_keys (id, owner, name, prefix, digest, grants, expires_at,
                              created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp(), clock_timestamp())
        RETURNING {_COLUMNS}
        """,
        key_id,
        owner,
        terms.name,
        prefix,
        digest,
        sorted(terms.grants),
        terms.expires_at,
        list(kept),
    )
    assert row is not None  # noqa: S101 - an INSERT without a condition returns its row
    return _key(row)


async def retire_key(
    db: Connection, owner: OwnerId, key_id: str, *, successor: str, overlap: timedelta
) -> ApiKey | None:
    """The key works for `overlap` still and has its successor; None when it was not to rotate.

    Of several who ask for one key at once a single one is answered with it.
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


async def revoke_line(db: Connection, owner: OwnerId, key_id: str) -> Sequence[ApiKey]:
    """Neither the key nor any that came of it by rotation works; those that were not revoked yet.

    The oldest first. Whoever calls holds the owner's turn: a rotation under way would be missed.
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
    """The owner's key of this id, working or not."""
    row = await db.fetchrow(
        f"SELECT {_COLUMNS} FROM api_keys WHERE id = $2 AND owner = $1", owner, key_id
    )
    return None if row is None else _key(row)


async def list_keys(
    db: Connection, owner: OwnerId, *, after: Place | None, limit: int
) -> Sequence[ApiKey]:
    """The owner's keys, newest first, those behind `after`."""
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


async def write_uses(db: Connection, used: Mapping[str, datetime]) -> None:
    """Each key says when it was used, if it has not said so within the last minute.

    A row that somebody else holds is left out: another use will come.
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
        _USES_APART,
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
    )
