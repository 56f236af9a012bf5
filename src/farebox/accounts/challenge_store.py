"""The rows of challenges that are open; every moment is the database's."""

from dataclasses import dataclass
from datetime import datetime

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class OpenChallenge:
    """What is kept of a challenge."""

    digest: bytes
    network: Network
    address: Address
    expires_at: datetime


async def put_challenge(db: Connection, challenge: OpenChallenge) -> None:
    """The challenge is open."""
    await db.execute(
        """
        INSERT INTO challenges (digest, network, address, issued_at, expires_at)
        VALUES ($1, $2, $3, clock_timestamp(), $4)
        """,
        challenge.digest,
        challenge.network.value,
        challenge.address,
        challenge.expires_at,
    )


async def close_oldest(db: Connection, network: Network, address: Address, *, most: int) -> None:
    """At most so many challenges of the account are open, the newest ones.

    Inside a transaction. Nobody waits: while another request for the account does it, what this
    one adds is closed by the next.
    """
    is_mine = await db.fetchval(
        "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 12))", f"{network.value} {address}"
    )
    if not is_mine:
        return
    await db.execute(
        """
        UPDATE challenges SET expires_at = clock_timestamp()
        WHERE digest IN (
            SELECT digest FROM challenges
            WHERE network = $1 AND address = $2
              AND consumed_at IS NULL AND expires_at > clock_timestamp()
            ORDER BY issued_at DESC OFFSET $3)
        """,
        network.value,
        address,
        most,
    )


async def try_challenge(
    db: Connection, digest: bytes, network: Network, address: Address, *, most: int
) -> bool:
    """Whether the challenge is open and was tried less often; it is tried once more then."""
    tried = await db.fetchval(
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
    return tried is not None


async def consume_challenge(
    db: Connection, digest: bytes, network: Network, address: Address
) -> bool:
    """Whether the challenge was open until now; it is not any more."""
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


async def sweep_challenges(db: Connection, *, limit: int) -> int:
    """Challenges that are over are forgotten, whatever became of them; how many."""
    gone = await db.fetch(
        """
        DELETE FROM challenges WHERE digest IN (
            SELECT digest FROM challenges WHERE expires_at < clock_timestamp()
            LIMIT $1 FOR UPDATE SKIP LOCKED)
        RETURNING digest
        """,
        limit,
    )
    return len(gone)
