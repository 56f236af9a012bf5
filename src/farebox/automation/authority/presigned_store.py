"""Entries that an owner signed in advance, sealed, one for each leg of each run."""

from collections.abc import Sequence
from dataclasses import dataclass

from farebox.kernel.secret import Secret
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class PresignedEntry:
    """A sealed entry (XDR) with the nonce and last ledger in it."""

    run_index: int
    leg_index: int
    nonce: int
    expires_at_ledger: int
    sealed: Secret[bytes]


async def add_entries(db: Connection, proposal_id: str, entries: Sequence[PresignedEntry]) -> None:
    """Insert the entries of a plan.

    Raises:
        Conflict: a leg has one, or a nonce is used twice.
    """
    await db.executemany(
        """
        INSERT INTO automation_presigned
            (proposal_id, run_index, leg_index, nonce, expiration_ledger, entry)
        VALUES ($1, $2, $3, $4, $5, $6)
        """,
        [
            (
                proposal_id,
                each.run_index,
                each.leg_index,
                each.nonce,
                each.expires_at_ledger,
                each.sealed.reveal(),
            )
            for each in entries
        ],
    )


async def find_entry(
    db: Connection, proposal_id: str, *, run_index: int, leg_index: int
) -> PresignedEntry | None:
    """The entry of a leg; None where there is none, or it was used or destroyed."""
    row = await db.fetchrow(
        """
        SELECT run_index, leg_index, nonce, expiration_ledger, entry FROM automation_presigned
        WHERE proposal_id = $1 AND run_index = $2 AND leg_index = $3 AND state = 'ready'
        """,
        proposal_id,
        run_index,
        leg_index,
    )
    if row is None:
        return None
    return PresignedEntry(
        row["run_index"],
        row["leg_index"],
        row["nonce"],
        row["expiration_ledger"],
        Secret(row["entry"]),
    )


async def mark_used(db: Connection, proposal_id: str, *, run_index: int, leg_index: int) -> None:
    """Destroy the entry of a leg that happened."""
    await db.execute(
        """
        UPDATE automation_presigned SET entry = NULL, state = 'used'
        WHERE proposal_id = $1 AND run_index = $2 AND leg_index = $3 AND state = 'ready'
        """,
        proposal_id,
        run_index,
        leg_index,
    )
