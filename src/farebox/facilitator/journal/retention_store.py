"""What a journal row no longer needs, taken out in PostgreSQL; `db` is a connection."""

from datetime import datetime

from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


async def drop_envelopes(
    db: Connection,
    network: Network,
    *,
    expired_before_ledger: int,
    finished_before: datetime,
    limit: int,
) -> int:
    """Take the envelopes out of at most `limit` final rows; how many it were.

    Everything that answers a repeat stays: hashes, state, reason, digest, terms. A row that is
    locked by whoever answers it is passed over. Text of the resource that an older version of the
    program left behind goes too, unless it is still to be listed.
    """
    rows = await db.fetch(
        """
        UPDATE settlements s
        SET envelope = '',
            discovery = CASE WHEN s.state = 'confirmed' AND s.listing_outcome IS NULL
                             THEN s.discovery END
        FROM (SELECT network, payer, nonce FROM settlements
              WHERE network = $1 AND expires_at_ledger < $2 AND finished_at < $3
                AND envelope <> '' AND state IN ('confirmed', 'failed', 'dead')
              ORDER BY expires_at_ledger
              LIMIT $4 FOR UPDATE SKIP LOCKED) AS over
        WHERE s.network = over.network AND s.payer = over.payer AND s.nonce = over.nonce
        RETURNING true
        """,
        network.value,
        expired_before_ledger,
        finished_before,
        limit,
    )
    return len(rows)
