"""The table of sealed secrets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from farebox.kernel.caller import OwnerId
from farebox.kernel.pages import Place
from farebox.storage.client_quota import ClientQuota
from farebox.storage.pool import Connection, Row
from farebox.vault.sealed_rows import SealedSecret
from farebox.vault.sealing import AssociatedData, Sealed
from farebox.vault.stored_secret import Purpose, StoredSecret

QUOTA: Final = ClientQuota("vault_secrets", per_client=100, in_total=20_000)
ONE_NAME: Final = "vault_secrets_owner_name_key"  # the constraint
_COLUMNS: Final = "id, owner, name, purpose, created_at, updated_at"
_SEALED: Final = "id, owner, purpose, key_version, nonce, sealed"


@dataclass(frozen=True, slots=True)
class NewSecret:
    """The row of a new secret, without its value."""

    id: str
    owner: OwnerId
    name: str
    purpose: Purpose
    client: str | None  # the client address whose quota it counts against


async def lock_owner(db: Connection, owner: OwnerId) -> None:
    """Take the advisory lock on the owner's secrets until the transaction ends."""
    await db.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 15))", owner)


async def count_secrets(db: Connection, owner: OwnerId) -> int:
    """Count the owner's secrets."""
    count: int = await db.fetchval("SELECT count(*) FROM vault_secrets WHERE owner = $1", owner)
    return count


async def add_secret(db: Connection, secret: NewSecret, sealed: Sealed) -> StoredSecret:
    """Insert a secret.

    Raises:
        Conflict: the owner has one of this name (`ONE_NAME`), or the nonce was used before.
    """
    row = await db.fetchrow(
        f"""
        INSERT INTO vault_secrets (id, owner, name, purpose, client, key_version, nonce, sealed)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        RETURNING {_COLUMNS}
        """,
        secret.id,
        secret.owner,
        secret.name,
        secret.purpose.value,
        secret.client,
        sealed.key_version,
        sealed.nonce,
        sealed.body,
    )
    assert row is not None  # noqa: S101 - an INSERT without a condition returns its row
    return _secret(row)


async def list_secrets(
    db: Connection, owner: OwnerId, *, after: Place | None, limit: int
) -> Sequence[StoredSecret]:
    """List the owner's secrets after a position, newest first."""
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
    """Find and lock the owner's secret of this id until the transaction ends."""
    row = await db.fetchrow(
        f"SELECT {_COLUMNS} FROM vault_secrets WHERE owner = $1 AND id = $2 FOR UPDATE",
        owner,
        secret_id,
    )
    return None if row is None else _secret(row)


async def write_value(db: Connection, secret: StoredSecret, sealed: Sealed) -> StoredSecret:
    """Replace the value of a locked secret.

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
    """Delete the owner's secret; False when there is none.

    Raises:
        Conflict: a row refers to it.
    """
    row = await db.fetchrow(
        "DELETE FROM vault_secrets WHERE owner = $1 AND id = $2 RETURNING id", owner, secret_id
    )
    return row is not None


async def find_sealed(db: Connection, owner: OwnerId, secret_id: str) -> SealedSecret | None:
    """Find the owner's sealed secret of this id."""
    row = await db.fetchrow(
        f"SELECT {_SEALED} FROM vault_secrets WHERE owner = $1 AND id = $2", owner, secret_id
    )
    return None if row is None else _sealed(row)


async def list_to_rekey(
    db: Connection, version: int, *, after: str, limit: int
) -> Sequence[SealedSecret]:
    """List secrets of all owners sealed with another key version, by id, after an id."""
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


async def list_sealed_with(db: Connection, version: int, *, limit: int) -> Sequence[SealedSecret]:
    """List some secrets of all owners that this key version seals."""
    rows = await db.fetch(
        f"SELECT {_SEALED} FROM vault_secrets WHERE key_version = $1 ORDER BY nonce LIMIT $2",
        version,
        limit,
    )
    return [_sealed(row) for row in rows]


async def replace_sealed(db: Connection, old: SealedSecret, new: Sealed) -> bool:
    """Replace a sealed value; False when it was changed since it was read.

    Raises:
        Conflict: the nonce was used before.
    """
    row = await db.fetchrow(
        """
        UPDATE vault_secrets SET key_version = $4, nonce = $5, sealed = $6
        WHERE id = $1 AND key_version = $2 AND nonce = $3
        RETURNING id
        """,
        old.associated_data.id,
        old.sealed.key_version,
        old.sealed.nonce,
        new.key_version,
        new.nonce,
        new.body,
    )
    return row is not None


async def count_versions(db: Connection) -> Mapping[int, int]:
    """Count the secrets of each key version, the newest first."""
    rows = await db.fetch(
        "SELECT key_version, count(*) AS n FROM vault_secrets GROUP BY 1 ORDER BY 1 DESC"
    )
    return {row["key_version"]: row["n"] for row in rows}


async def find_versions(db: Connection) -> frozenset[int]:
    """Find the key versions in use, with one index probe for each."""
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
    associated_data = AssociatedData(row["owner"], row["purpose"], row["id"])
    return SealedSecret(associated_data, Sealed(row["key_version"], row["nonce"], row["sealed"]))
