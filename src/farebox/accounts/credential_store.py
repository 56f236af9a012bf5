"""Look up sessions and API keys by digest; the database's clock decides expiry."""

from dataclasses import dataclass

from farebox.kernel.caller import Caller, CallerKind, Grant, OwnerId, is_operators
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

_GRANTS = {grant.value: grant for grant in Grant}


@dataclass(frozen=True, slots=True)
class StoredCredential:
    """A valid credential and its caller."""

    digest: bytes
    caller: Caller


async def find_session(db: Connection, digest: bytes) -> StoredCredential | None:
    """Find the session of this digest; None when it is unknown, expired or revoked."""
    row = await db.fetchrow(
        """
        SELECT s.digest, s.id, s.user_id, u.network, u.address, u.was_on_ledger
        FROM sessions s JOIN users u ON u.id = s.user_id
        WHERE s.digest = $1 AND s.revoked_at IS NULL AND s.expires_at > clock_timestamp()
        """,
        digest,
    )
    if row is None:
        return None
    caller = Caller(
        OwnerId(row["user_id"]),
        CallerKind.SESSION,
        network=Network(row["network"]),
        address=row["address"],
        session_id=row["id"],
        is_established=row["was_on_ledger"],
    )
    return StoredCredential(row["digest"], caller)


async def find_key(db: Connection, digest: bytes) -> StoredCredential | None:
    """Find the key of this digest; None when it is unknown, expired or revoked."""
    row = await db.fetchrow(
        """
        SELECT k.digest, k.id, k.owner, k.grants, u.network, u.address, u.was_on_ledger
        FROM api_keys k LEFT JOIN users u ON u.id = k.owner
        WHERE k.digest = $1
          AND (k.revoked_at IS NULL OR k.revoked_at > clock_timestamp())
          AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
        """,
        digest,
    )
    if row is None:
        return None
    owner = OwnerId(row["owner"])
    caller = Caller(
        owner,
        CallerKind.KEY,
        frozenset(_GRANTS[name] for name in row["grants"] if name in _GRANTS),
        network=None if row["network"] is None else Network(row["network"]),
        address=row["address"],
        key_id=row["id"],
        is_established=is_operators(owner) or row["was_on_ledger"] is True,
    )
    return StoredCredential(row["digest"], caller)
