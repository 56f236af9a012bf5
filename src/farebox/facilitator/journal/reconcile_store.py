"""The rows that reconciliation looks at: those with an envelope that no call owns, and when.

`db` is a connection.
"""

from collections.abc import Sequence
from datetime import datetime

from farebox.facilitator.journal.settlement_row import SELECT_ROW, read_row
from farebox.facilitator.settlement import Settlement
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


async def find_unresolved(
    db: Connection, network: Network, *, before: datetime, at: datetime, limit: int
) -> list[Settlement]:
    """Find rows whose envelope may be with the network and that no call owns.

    Those claimed by `before`, and those handed over by `at`; of them those that are due. Rows that
    nobody has looked at yet come first, so that those that stay undecided hold up no other.
    """
    rows = await db.fetch(
        SELECT_ROW
        + """
        WHERE network = $1 AND state IN ('sending', 'submitted')
          AND (claimed_at <= $2 OR attended_until <= $3)
          AND (next_look_at IS NULL OR next_look_at <= $3)
        ORDER BY next_look_at NULLS FIRST, claimed_at
        LIMIT $4
        """,
        network.value,
        before,
        at,
        limit,
    )
    return [read_row(row) for row in rows]


async def find_unproven(
    db: Connection, network: Network, *, at: datetime, limit: int
) -> list[Settlement]:
    """Find the rows whose outcome could not be proven that are due for another look."""
    rows = await db.fetch(
        SELECT_ROW
        + """
        WHERE network = $1 AND state = 'unproven' AND (next_look_at IS NULL OR next_look_at <= $2)
        ORDER BY next_look_at NULLS FIRST, claimed_at
        LIMIT $3
        """,
        network.value,
        at,
        limit,
    )
    return [read_row(row) for row in rows]


async def postpone_looks(db: Connection, hashes: Sequence[bytes], *, at: datetime) -> None:
    """Set when the rows of these envelopes are looked at again, where this look decides nothing.

    After a tenth of the row's age and a minute at most; after an hour where it is unproven.
    """
    await db.execute(
        """
        UPDATE settlements s
        SET next_look_at = $2::timestamptz + CASE WHEN s.state = 'unproven' THEN interval '1 hour'
                                ELSE least(($2 - s.claimed_at) / 10, interval '1 minute') END
        FROM (SELECT network, payer, nonce FROM settlements
              WHERE tx_hash = ANY($1::bytea[]) AND state IN ('sending', 'submitted', 'unproven')
              ORDER BY network, payer, nonce
              FOR UPDATE) AS looked_at
        WHERE s.network = looked_at.network AND s.payer = looked_at.payer
          AND s.nonce = looked_at.nonce
        """,
        hashes,
        at,
    )


async def hand_over(db: Connection, hashes: Sequence[bytes], *, at: datetime) -> None:
    """Hand envelopes over to reconciliation, which takes them at once."""
    await db.execute(
        """
        UPDATE settlements s SET attended_until = $2, next_look_at = NULL
        FROM (SELECT network, payer, nonce FROM settlements
              WHERE tx_hash = ANY($1::bytea[]) AND state IN ('sending', 'submitted')
              ORDER BY network, payer, nonce
              FOR UPDATE) AS left_alone
        WHERE s.network = left_alone.network AND s.payer = left_alone.payer
          AND s.nonce = left_alone.nonce
        """,
        hashes,
        at,
    )
