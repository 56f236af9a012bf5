"""The table of open challenges; all times are the database's."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

# now() is constant within a statement, so an index can serve it
_OPEN: Final = "consumed_at IS NULL AND expires_at > now()"


@dataclass(frozen=True, slots=True)
class OpenChallenge:
    """The row of an open challenge."""

    digest: bytes
    network: Network
    address: Address
    expires_at: datetime


async def put_challenge(
    db: Connection, challenge: OpenChallenge, client: str, *, most: int
) -> bool:
    """Store the challenge unless its client address has `most` open ones; whether it was stored.

    Concurrent requests may each count before the others are stored and so exceed `most`.
    """
    digest = await db.fetchval(
        f"""
        INSERT INTO challenges (digest, network, address, client, issued_at, expires_at)
        SELECT $1, $2, $3, $4, clock_timestamp(), $5
        WHERE (SELECT count(*) FROM challenges WHERE client = $4 AND {_OPEN}) < $6
        RETURNING digest
        """,
        challenge.digest,
        challenge.network.value,
        challenge.address,
        client,
        challenge.expires_at,
        most,
    )
    return digest is not None


async def wait_for_client(db: Connection, client: str) -> timedelta:
    """Return the time until an open challenge of the client address expires."""
    wait: timedelta | None = await db.fetchval(
        f"""
        SELECT min(expires_at) - clock_timestamp() FROM challenges WHERE client = $1 AND {_OPEN}
        """,
        client,
    )
    return wait or timedelta()


async def count_open(db: Connection, *, most: int) -> int:
    """Count the open challenges, up to `most`."""
    count: int = await db.fetchval(
        f"SELECT count(*) FROM (SELECT FROM challenges WHERE {_OPEN} LIMIT $1) AS open", most
    )
    return count


async def count_attempt(
    db: Connection, digest: bytes, network: Network, address: Address, *, most: int
) -> bool:
    """Count an attempt to verify; False when the challenge is not open or had `most` attempts."""
    attempts = await db.fetchval(
        """
        UPDATE challenges SET tries = tries + 1
        WHERE digest = $1 AND network = $2 AND address = $3
          AND consumed_at IS NULL AND expires_at > clock_timestamp() AND tries < $4
        RETURNING tries
        """,
        digest,
        network.value,
        address,
        most,
    )
    return attempts is not None


async def consume_challenge(
    db: Connection, digest: bytes, network: Network, address: Address
) -> bool:
    """Consume the challenge; False when it is not open."""
    consumed = await db.fetchval(
        """
        UPDATE challenges SET consumed_at = clock_timestamp()
        WHERE digest = $1 AND network = $2 AND address = $3
          AND consumed_at IS NULL AND expires_at > clock_timestamp()
        RETURNING consumed_at
        """,
        digest,
        network.value,
        address,
    )
    return consumed is not None


async def delete_expired_challenges(db: Connection, *, limit: int) -> int:
    """Delete at most `limit` expired challenges; returns how many."""
    rows = await db.fetch(
        """
        DELETE FROM challenges WHERE digest = ANY (ARRAY(
            SELECT digest FROM challenges WHERE expires_at < now()
            LIMIT $1 FOR UPDATE SKIP LOCKED))
        RETURNING digest
        """,
        limit,
    )
    return len(rows)
