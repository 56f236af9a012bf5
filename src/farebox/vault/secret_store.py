"""The rows of sealed secrets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from farebox.kernel.caller import OwnerId
from farebox.kernel.pages import Place
from farebox.storage.pool import Connection, Row
from farebox.vault.sealing import Context, Sealed
from farebox.vault.stored_secret import Purpose, StoredSecret

ONE_NAME: Final = "vault_secrets_owner_name_key"  # the constraint
_COLUMNS: Final = "id, owner, name, purpose, created_at, updated_at"
_SEALED: Final = "id, owner, purpose, key_version, nonce, sealed"


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """A sealed value and the context it stands in."""

    context: Context
    sealed: Sealed


async def take_turn(db: Connection, owner: OwnerId) -> None:
    """Until the transaction ends nobody else adds to this owner's secrets."""
    await db.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 15))", owner)


async def count_secrets(db: Connection, owner: OwnerId) -> int:
    """How many secrets the owner has."""
    count: int = await db.fetchval("SELECT count(*) FROM vault_secrets WHERE owner = $1", owner)
    return count


async def add_secret(
    db: Connection, secret_id: str, owner: OwnerId, sealed: Sealed, *, name: str, purpose: Purpose
) -> StoredSecret:
    """The secret is there.

    Raises:
        Conflict: the owner has one of this name (`ONE_NAME`), or the nonce was used before.
    """
    row = await db.fetchrow(
        f"""
        INSERT INTO vault_secrets (id, owner, name, purpose, key_version, nonce, sealed)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        RETURNING {_COLUMNS}
        """,
        secret_id,
        owner,
        name,
        purpose.value,
        sealed.key_version,
        sealed.nonce,
        sealed.body,
    )
    assert row is not None  # noqa: S101 - an INSERT without a condition returns its row
    return _secret(row)


async def list_secrets(
    db: Connection, owner: OwnerId, *, after: Place | None, limit: int
) -> Sequence[StoredSecret]:
    """The owner's secrets, newest first, those behind `after`."""
    moment, secret_id = after or (None, None)
    rows = await db.fetch(
        f"""
        SELECT {_COLUMNS} FROM vault_secrets
        WHERE owner = $1 AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3::text))
        ORDER BY created_at DESC, id DESC LIMIT $4
        """,
        owner,
        moment,
        secret_id,
        limit,
    )
    return [_secret(row) for row in rows]


async def lock_secret(db: Connection, owner: OwnerId, secret_id: str) -> StoredSecret | None:
    """The owner's secret of this id, which nobody else changes until the transaction ends."""
    row = await db.fetchrow(
        f"SELECT {_COLUMNS} FROM vault_secrets WHERE owner = $1 AND id = $2 FOR UPDATE",
        owner,
        secret_id,
    )
    return None if row is None else _secret(row)


async def write_value(db: Connection, secret: StoredSecret, sealed: Sealed) -> StoredSecret:
    """The locked secret has another value.

    Raises:
        Conflict: the nonce was used before.
    """
    row = await db.fetchrow(
        f"""
        UPDATE vault_secrets
        SET key_version = $2, nonce = $3, sealed = $4, updated_at = clock_timestamp()
        WHERE id = $1
        RETURNING {_COLUMNS}
        """,
        secret.id,
        sealed.key_version,
        sealed.nonce,
        sealed.body,
    )
    assert row is not None  # noqa: S101 - the row is locked by this transaction
    return _secret(row)


async def remove_secret(db: Connection, owner: OwnerId, secret_id: str) -> bool:
    """The owner's secret is gone; whether it was there until now.

    Raises:
        Conflict: something refers to it.
    """
    row = await db.fetchrow(
        "DELETE FROM vault_secrets WHERE owner = $1 AND id = $2 RETURNING id", owner, secret_id
    )
    return row is not None


async def find_sealed(db: Connection, owner: OwnerId, secret_id: str) -> SealedSecret | None:
    """The owner's secret of this id with its sealed value."""
    row = await db.fetchrow(
        f"SELECT {_SEALED} FROM vault_secrets WHERE owner = $1 AND id = $2", owner, secret_id
    )
    return None if row is None else _sealed(row)


async def list_sealed_otherwise(
    db: Connection, version: int, *, after: str, limit: int
) -> Sequence[SealedSecret]:
    """Secrets of all owners that another key than this one seals, by id, those behind `after`."""
    rows = await db.fetch(
        f"""
        SELECT {_SEALED} FROM vault_secrets
        WHERE key_version <> $1 AND id > $2 ORDER BY id LIMIT $3
        """,
        version,
        after,
        limit,
    )
    return [_sealed(row) for row in rows]


async def replace_sealed(db: Connection, old: SealedSecret, new: Sealed) -> bool:
    """The same value is sealed anew; False when somebody has given it another one meanwhile.

    Raises:
        Conflict: the nonce was used before.
    """
    row = await db.fetchrow(
        """
        UPDATE vault_secrets SET key_version = $4, nonce = $5, sealed = $6
        WHERE id = $1 AND key_version = $2 AND nonce = $3
        RETURNING id
        """,
        old.context.id,
        old.sealed.key_version,
        old.sealed.nonce,
        new.key_version,
        new.nonce,
        new.body,
    )
    return row is not None


async def count_versions(db: Connection) -> Mapping[int, int]:
    """How many secrets each key version seals, the newest first."""
    rows = await db.fetch(
        "SELECT key_version, count(*) AS n FROM vault_secrets GROUP BY 1 ORDER BY 1 DESC"
    )
    return {row["key_version"]: row["n"] for row in rows}


async def find_versions(db: Connection) -> frozenset[int]:
    """The key versions that are in use: one probe of the index for each."""
    rows = await db.fetch(
        """
        WITH RECURSIVE used AS (
            SELECT min(key_version) AS version FROM vault_secrets
            UNION ALL
            SELECT (SELECT min(key_version) FROM vault_secrets WHERE key_version > used.version)
            FROM used WHERE used.version IS NOT NULL
        )
        SELECT version FROM used WHERE version IS NOT NULL
        """
    )
    return frozenset(row["version"] for row in rows)


def _secret(row: Row) -> StoredSecret:
    return StoredSecret(
        id=row["id"],
        owner=OwnerId(row["owner"]),
        name=row["name"],
        purpose=Purpose(row["purpose"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _sealed(row: Row) -> SealedSecret:
    context = Context(row["owner"], row["purpose"], row["id"])
    return SealedSecret(context, Sealed(row["key_version"], row["nonce"], row["sealed"]))
