"""The tables of wrappers and of their slugs."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from farebox.gateway.wrapper import Wrapper, WrapperSettings
from farebox.kernel.caller import Caller, OwnerId
from farebox.kernel.pages import Place
from farebox.storage.client_quota import ClientQuota
from farebox.storage.pool import Connection, Row

QUOTA: Final = ClientQuota("wrapper_slugs", per_client=50, in_total=10_000)
SECRET_REFERENCE: Final = "wrappers_secret_id_fkey"  # noqa: S105 - the name of a constraint
_COLUMNS: Final = (
    "id, owner, slug, settings, is_enabled, is_established, revision, created_at, updated_at,"
    " client"
)
# What says of a slug or its wrapper that buyers may know it, where `enabled_at` is NULL: a replica
# of the version before writes none. A listing and a payment stay when the wrapper is disabled.
_WAS_SOLD: Final = """
    (EXISTS (SELECT FROM listings WHERE listings.wrapper_id = w.id)
     OR EXISTS (SELECT FROM gateway_payments WHERE gateway_payments.wrapper_id = w.id))"""
# The ids that `list_enabled` chooses: at most $1 wrappers, and those whose bytes up to `total` fit.
_CHOSEN: Final = """
    WITH enabled AS (
        SELECT id, updated_at,
               CASE WHEN is_established THEN owner ELSE coalesce(client, owner) END AS share,
               CASE WHEN is_established THEN owner END AS part  -- NULL: that of new shares
        FROM wrappers WHERE is_enabled
    ), of_share AS (
        SELECT *, row_number() OVER (
            PARTITION BY part, share ORDER BY updated_at DESC, id) AS rank_in_share
        FROM enabled
    ), of_part AS (
        SELECT *, row_number() OVER (
            PARTITION BY part ORDER BY rank_in_share, updated_at DESC, id) AS rank_in_part
        FROM of_share
    ), counted AS (
        SELECT id, updated_at, part, share FROM of_part
        ORDER BY rank_in_part, updated_at DESC, id LIMIT $1
    ), sized AS (
        SELECT counted.*, octet_length(settings::text) AS bytes
        FROM counted JOIN wrappers USING (id)
    ), bytes_of_share AS (
        SELECT *, sum(bytes) OVER (
            PARTITION BY part, share ORDER BY updated_at DESC, id
        ) - bytes AS before_in_share
        FROM sized
    ), bytes_of_part AS (
        SELECT *, sum(bytes) OVER (
            PARTITION BY part ORDER BY before_in_share, updated_at DESC, id
        ) - bytes AS before_in_part
        FROM bytes_of_share
    ), chosen AS (
        SELECT id, sum(bytes) OVER (ORDER BY before_in_part, updated_at DESC, id) AS total
        FROM bytes_of_part
    )"""
_SETTINGS: Final = msgspec.json.Decoder(WrapperSettings)


async def lock_owner(db: Connection, owner: OwnerId) -> None:
    """Take the advisory lock on the owner's wrappers until the transaction ends."""
    await db.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 24))", owner)


async def count_slugs(db: Connection, owner: OwnerId, *, but: str | None = None) -> int:
    """Count the slugs that the owner holds: those of its wrappers, and released ones.

    `but` is one that is not counted.
    """
    count: int = await db.fetchval(
        "SELECT count(*) FROM wrapper_slugs WHERE owner = $1 AND slug IS DISTINCT FROM $2",
        owner,
        but,
    )
    return count


async def counts_for(db: Connection, client: str | None, slug: str | None) -> bool:
    """Whether the slug counts in the quota of the client already."""
    found = await db.fetchval(
        "SELECT true FROM wrapper_slugs WHERE slug = $1 AND client = $2", slug, client
    )
    return found is True


async def take_slug(db: Connection, owner: OwnerId, slug: str, *, client: str | None) -> bool:
    """Take a slug for the owner; False when it is another owner's, or a wrapper has it."""
    is_taken = await db.fetchval(
        """
        INSERT INTO wrapper_slugs AS known (slug, owner, client) VALUES ($1, $2, $3)
        ON CONFLICT (slug) DO UPDATE SET released_at = NULL, client = $3
        WHERE known.owner = $2 AND NOT EXISTS (SELECT FROM wrappers WHERE wrappers.slug = $1)
        RETURNING true
        """,
        slug,
        owner,
        client,
    )
    return is_taken is True


async def is_slug_free(db: Connection, owner: OwnerId, slug: str) -> bool:
    """Whether the owner may take the slug."""
    is_free: bool = await db.fetchval(
        """
        SELECT NOT EXISTS (SELECT FROM wrapper_slugs WHERE slug = $1 AND owner <> $2)
           AND NOT EXISTS (SELECT FROM wrappers WHERE slug = $1)
        """,
        slug,
        owner,
    )
    return is_free


async def owns_secret(db: Connection, owner: OwnerId, secret_id: str) -> bool:
    """Whether the owner has the secret, for use in a header.

    The row is kept from deletion until the transaction ends. The foreign key alone would accept a
    secret of another owner.
    """
    found = await db.fetchval(
        """
        SELECT true FROM vault_secrets
        WHERE owner = $1 AND id = $2 AND purpose IN ('header', 'bearer') FOR KEY SHARE
        """,
        owner,
        secret_id,
    )
    return found is True


async def insert_wrapper(
    db: Connection,
    wrapper_id: str,
    caller: Caller,
    slug: str,
    settings: WrapperSettings,
    *,
    client: str | None,
) -> Wrapper:
    """Insert a disabled wrapper under a slug that was taken for it.

    `client` is the site of an owner who is not established: it names the wrapper's share.

    Raises:
        Conflict: the secret is gone (`SECRET_REFERENCE`).
    """
    row = await db.fetchrow(
        f"""
        INSERT INTO wrappers (id, owner, slug, settings, secret_id, is_established, client)
        VALUES ($1, $2, $3, $4::text::jsonb, $5, $6, $7)
        RETURNING {_COLUMNS}
        """,
        wrapper_id,
        caller.owner,
        slug,
        _encode(settings),
        settings.upstream.secret_id,
        caller.is_established,
        client,
    )
    assert row is not None  # noqa: S101 - an INSERT without a condition returns its row
    return _read(row)


async def find_wrapper(db: Connection, owner: OwnerId, wrapper_id: str) -> Wrapper | None:
    """Find the owner's wrapper of this id."""
    row = await db.fetchrow(
        f"SELECT {_COLUMNS} FROM wrappers WHERE owner = $1 AND id = $2", owner, wrapper_id
    )
    return None if row is None else _read(row)


async def lock_wrapper(db: Connection, owner: OwnerId, wrapper_id: str) -> Wrapper | None:
    """Find and lock the owner's wrapper of this id until the transaction ends."""
    row = await db.fetchrow(
        f"SELECT {_COLUMNS} FROM wrappers WHERE owner = $1 AND id = $2 FOR UPDATE",
        owner,
        wrapper_id,
    )
    return None if row is None else _read(row)


async def find_enabled(db: Connection, slug: str) -> Wrapper | None:
    """Find the enabled wrapper of this slug."""
    row = await db.fetchrow(f"SELECT {_COLUMNS} FROM wrappers WHERE slug = $1 AND is_enabled", slug)
    return None if row is None else _read(row)


async def read_enabled_version(db: Connection) -> tuple[int, datetime | None]:
    """Read a value that changes with every change of an enabled wrapper: count and last change."""
    row = await db.fetchrow(
        "SELECT count(*) AS count, max(updated_at) AS at FROM wrappers WHERE is_enabled"
    )
    assert row is not None  # noqa: S101 - an aggregate has one row
    return row["count"], row["at"]


async def list_enabled(
    db: Connection, *, limit: int, limit_bytes: int
) -> tuple[Sequence[Wrapper], bool]:
    """List enabled wrappers, the last changed first, and say whether some were left out.

    The shares of the wrappers divide the limits: of each its newest, one after the other, the next
    always of the share that has the fewest. New shares have together what one share has. The bytes
    are those of the settings, and are divided among the wrappers that the first limit leaves.
    """
    rows = await db.fetch(
        f"""
        {_CHOSEN}
        SELECT {_COLUMNS}, (SELECT count(*) FROM enabled) AS enabled
        FROM wrappers JOIN chosen USING (id) WHERE total <= $2 ORDER BY updated_at DESC, id
        """,
        limit,
        limit_bytes,
    )
    wrappers = await asyncio.to_thread(lambda: [_read(row) for row in rows])  # of megabytes
    return wrappers, bool(rows) and rows[0]["enabled"] > len(rows)


async def list_wrappers(
    db: Connection, owner: OwnerId, *, after: Place | None, limit: int
) -> Sequence[Wrapper]:
    """List the owner's wrappers after a position, newest first."""
    moment, wrapper_id = after or (None, None)
    rows = await db.fetch(
        f"""
        SELECT {_COLUMNS} FROM wrappers
        WHERE owner = $1 AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3::text))
        ORDER BY created_at DESC, id DESC LIMIT $4
        """,
        owner,
        moment,
        wrapper_id,
        limit,
    )
    return [_read(row) for row in rows]


async def write_settings(
    db: Connection, wrapper: Wrapper, settings: WrapperSettings, *, is_established: bool
) -> Wrapper:
    """Replace the settings of a locked wrapper.

    Raises:
        Conflict: the secret is gone (`SECRET_REFERENCE`).
    """
    row = await db.fetchrow(
        f"""
        UPDATE wrappers
        SET settings = $2::text::jsonb, secret_id = $3, is_established = $4,
            revision = revision + 1, updated_at = clock_timestamp()
        WHERE id = $1
        RETURNING {_COLUMNS}
        """,
        wrapper.id,
        _encode(settings),
        settings.upstream.secret_id,
        is_established,
    )
    assert row is not None  # noqa: S101 - the row is locked by this transaction
    return _read(row)


async def write_enabled(db: Connection, wrapper: Wrapper, *, is_enabled: bool) -> Wrapper:
    """Enable or disable a locked wrapper; its slug is known to buyers from the first time on."""
    if is_enabled:
        await db.execute(
            """
            UPDATE wrapper_slugs SET enabled_at = clock_timestamp()
            WHERE slug = $1 AND enabled_at IS NULL
            """,
            wrapper.slug,
        )
    row = await db.fetchrow(
        f"""
        UPDATE wrappers SET is_enabled = $2, updated_at = clock_timestamp() WHERE id = $1
        RETURNING {_COLUMNS}
        """,
        wrapper.id,
        is_enabled,
    )
    assert row is not None  # noqa: S101 - the row is locked by this transaction
    return _read(row)


async def delete_wrapper(db: Connection, wrapper: Wrapper) -> None:
    """Delete a locked wrapper; its slug stays the owner's until it expires.

    A slug under which nothing was enabled is free at once: no buyer knows it.
    """
    was_enabled = await db.fetchval(
        f"""
        SELECT w.is_enabled OR s.enabled_at IS NOT NULL OR {_WAS_SOLD}
        FROM wrappers w JOIN wrapper_slugs s ON s.slug = w.slug WHERE w.id = $1
        """,
        wrapper.id,
    )
    await db.execute("DELETE FROM wrappers WHERE id = $1", wrapper.id)
    if was_enabled:
        await db.execute(
            "UPDATE wrapper_slugs SET released_at = clock_timestamp() WHERE slug = $1", wrapper.slug
        )
    else:
        await db.execute("DELETE FROM wrapper_slugs WHERE slug = $1", wrapper.slug)


async def release_unused_slugs(db: Connection, *, limit: int) -> int:
    """Begin the time of slugs whose wrapper was deleted by a replica that writes no `released_at`.

    `limit` at most; returns the count.
    """
    rows = await db.fetch(
        """
        UPDATE wrapper_slugs SET released_at = clock_timestamp() WHERE slug = ANY (ARRAY(
            SELECT slug FROM wrapper_slugs s
            WHERE released_at IS NULL
              AND NOT EXISTS (SELECT FROM wrappers w WHERE w.slug = s.slug)
            LIMIT $1 FOR UPDATE SKIP LOCKED))
        RETURNING slug
        """,
        limit,
    )
    return len(rows)


async def delete_expired_slugs(db: Connection, *, kept: timedelta, limit: int) -> int:
    """Delete slugs that were released more than `kept` ago, `limit` at most; return the count.

    One that a wrapper has stays, whatever the time of its release says.
    """
    rows = await db.fetch(
        """
        DELETE FROM wrapper_slugs WHERE slug = ANY (ARRAY(
            SELECT slug FROM wrapper_slugs s
            WHERE released_at < now() - $1::interval
              AND NOT EXISTS (SELECT FROM wrappers w WHERE w.slug = s.slug)
            ORDER BY released_at LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING slug
        """,
        kept,
        limit,
    )
    return len(rows)


async def delete_abandoned(
    db: Connection, *, kept: timedelta, limit: int
) -> Sequence[tuple[str, OwnerId]]:
    """Delete wrappers that were never enabled, nor changed for `kept`, and their slugs.

    `limit` at most; returns their ids and owners.
    """
    rows = await db.fetch(
        f"""
        WITH abandoned AS (
            SELECT w.id, w.owner, w.slug
            FROM wrapper_slugs s JOIN wrappers w ON w.slug = s.slug
            WHERE s.enabled_at IS NULL AND s.taken_at < now() - $1::interval
              AND w.updated_at < now() - $1::interval AND NOT w.is_enabled AND NOT {_WAS_SOLD}
            ORDER BY s.taken_at LIMIT $2 FOR UPDATE SKIP LOCKED
        ), deleted AS (
            DELETE FROM wrappers w USING abandoned a WHERE w.id = a.id
        )
        DELETE FROM wrapper_slugs s USING abandoned a WHERE s.slug = a.slug
        RETURNING a.id, a.owner
        """,
        kept,
        limit,
    )
    return [(row["id"], OwnerId(row["owner"])) for row in rows]


def _encode(settings: WrapperSettings) -> str:
    return msgspec.json.encode(settings).decode()


def _read(row: Row) -> Wrapper:
    return Wrapper(
        id=row["id"],
        owner=OwnerId(row["owner"]),
        slug=row["slug"],
        settings=_SETTINGS.decode(row["settings"]),
        is_enabled=row["is_enabled"],
        is_established=row["is_established"],
        revision=row["revision"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        site=row["client"],
    )
