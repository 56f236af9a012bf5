"""Probes in PostgreSQL: due times, claims and results.

Every function is one statement, except `record_result`: two in the caller's transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.catalog.listing import Ownership, Probe, ProbeState
from farebox.catalog.origin.probe_history import ProbeHistory, ownership_for
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Row

_OVERLAP: Final = (
    1_000  # how far behind the newest id one may still become visible by a late commit
)


@dataclass(frozen=True, slots=True)
class DueProbe:
    """A listing that this process has claimed for a probe."""

    listing_id: int
    network: Network
    pay_to: Address
    url: str
    method: str | None
    history: ProbeHistory


@dataclass(frozen=True, slots=True)
class ProbeClaim:
    """The limit of probes due at `now` to claim, and their next due times."""

    now: datetime
    claimed_until: datetime
    removed_until: datetime  # the next due time of a listing that was taken down
    limit: int


@dataclass(frozen=True, slots=True)
class ProbeRecord:
    """One probe's outcome."""

    due: DueProbe
    history: ProbeHistory
    at: datetime
    next_at: datetime


async def insert_missing_probes(
    db: Connection, *, now: datetime, spread_s: float, limit: int
) -> int:
    """Insert probes for new listings, due at random within `spread_s`; return the count.

    An MCP tool has no 402 of its own: its row is never due, and only marks how far listings were
    read. At least `limit` listings are read.
    """
    added: int = await db.fetchval(
        """
        WITH added AS (
            INSERT INTO listing_probes (listing_id, pay_to, due_at)
            SELECT l.id, l.pay_to,
                   CASE l.type
                       WHEN 'http' THEN $1::timestamptz + random() * make_interval(secs => $2)
                       ELSE 'infinity'
                   END
            FROM (
                SELECT id, pay_to, type FROM listings
                WHERE id > (SELECT coalesce(max(listing_id), 0) - $4 FROM listing_probes)
                ORDER BY id
                LIMIT $3) l
            -- OFFSET keeps it a lookup for each row of a short stretch, not a scan of all probes
            WHERE NOT EXISTS (SELECT FROM listing_probes p WHERE p.listing_id = l.id OFFSET 0)
            ON CONFLICT DO NOTHING
            RETURNING listing_id)
        SELECT count(*) FROM added
        """,
        now,
        spread_s,
        _OVERLAP + limit,
        _OVERLAP,
    )
    return added


async def claim_due(db: Connection, claim: ProbeClaim) -> list[DueProbe]:
    """Claim due probes, longest due first; no two processes claim the same.

    A claim is a due time in the future, not a lock: that of a process that ended expires.
    """
    rows = await db.fetch(
        """
        WITH due AS (
            SELECT listing_id FROM listing_probes
            WHERE due_at <= $1
            ORDER BY due_at
            LIMIT $4
            FOR UPDATE SKIP LOCKED
        ), claimed AS (
            UPDATE listing_probes p
            SET due_at = CASE WHEN l.removed_at IS NULL THEN $2::timestamptz ELSE $3 END
            FROM due JOIN listings l ON l.id = due.listing_id
            WHERE p.listing_id = due.listing_id
            RETURNING l.id, l.network, l.pay_to, coalesce(l.asked_url, l.url) AS url,
                      l.method, l.pay_to = p.pay_to AS is_same, l.removed_at, p.state, p.seen,
                      p.times)
        SELECT * FROM claimed WHERE removed_at IS NULL
        """,
        claim.now,
        claim.claimed_until,
        claim.removed_until,
        claim.limit,
    )
    return [
        DueProbe(
            row["id"],
            Network(row["network"]),
            Address(row["pay_to"]),
            row["url"],
            row["method"],
            _read_history(row) if row["is_same"] else ProbeHistory(),
        )
        for row in rows
    ]


async def postpone(db: Connection, listing_ids: Sequence[int], *, until: datetime) -> None:
    """Make the probes due at `until`."""
    await db.execute(
        "UPDATE listing_probes SET due_at = $2 WHERE listing_id = ANY ($1)",
        list(listing_ids),
        until,
    )


async def record_result(db: Connection, record: ProbeRecord) -> bool:
    """Store the history, and the listing's ownership where the state decides it.

    False when the listing was bound to another recipient meanwhile: nothing is stored.
    """
    due, history = record.due, record.history
    is_stored = await db.fetchval(
        """
        UPDATE listing_probes p
        SET pay_to = $2, state = $3, seen = $4, times = $5, checked_at = $6, due_at = $7,
            changed_at = CASE WHEN (p.state, p.pay_to) = ($3, $2) THEN p.changed_at ELSE $6 END
        FROM listings l
        WHERE p.listing_id = $1 AND l.id = $1 AND l.pay_to = $2
        RETURNING true
        """,
        due.listing_id,
        due.pay_to,
        history.state.value,
        None if history.last_result is None else history.last_result.value,
        history.repeats,
        record.at,
        record.next_at,
    )
    ownership = ownership_for(history.state) if is_stored else None
    if ownership is not None:
        await _set_ownership(db, due, ownership, at=record.at)
    return is_stored is True


async def _set_ownership(
    db: Connection, due: DueProbe, ownership: Ownership, *, at: datetime
) -> None:
    await db.execute(
        """
        UPDATE listings
        SET ownership = $3, verified_at = CASE WHEN $3 = 'verified' THEN $4::timestamptz END
        WHERE id = $1 AND pay_to = $2 AND ownership <> $3
        """,
        due.listing_id,
        due.pay_to,
        ownership.value,
        at,
    )


def read_probe(row: Row) -> Probe | None:
    """Read the probe from the columns of `listing_probes`; None before the first result."""
    if row["checked_at"] is None:
        return None
    state = ProbeState(row["state"])
    is_known = state is not ProbeState.UNKNOWN
    return Probe(state, row["checked_at"], row["changed_at"] if is_known else None)


def _read_history(row: Row) -> ProbeHistory:
    last_result = None if row["seen"] is None else ProbeState(row["seen"])
    return ProbeHistory(ProbeState(row["state"]), last_result, row["times"])
