"""Probes in PostgreSQL: which listings are due, who asks them, and what they said.

Every function is one statement but `note_result`, which is two in the caller's transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.catalog.listing import Ownership, Probe, ProbeState
from farebox.catalog.origin.probe_state import Standing, ownership_by
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Row

_OVERLAP: Final = 1_000  # how far behind the newest an id may come to be seen: it commits late


@dataclass(frozen=True, slots=True)
class Due:
    """A listing that is this process's to ask, until its time has passed."""

    listing_id: int
    network: Network
    pay_to: Address
    url: str
    method: str | None
    standing: Standing


@dataclass(frozen=True, slots=True)
class Turn:
    """What may be taken at `now`, and when it is due again: asked, or not asked while hidden."""

    now: datetime
    taken_until: datetime
    hidden_until: datetime
    limit: int


@dataclass(frozen=True, slots=True)
class Result:
    """What one question changed."""

    due: Due
    standing: Standing
    at: datetime
    next_at: datetime


async def enrol(db: Connection, *, now: datetime, spread_s: float, limit: int) -> int:
    """Listings that are not probed yet will be, spread over `spread_s`; how many were added.

    A tool has no 402 of its own: it gets a row that is never due, so that each look starts where
    the last one ended. At least `limit` are looked at.
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


async def take_due(db: Connection, turn: Turn) -> list[Due]:
    """Take listings whose time has come, longest due first; no two processes take the same.

    Nothing is locked beyond the statement: who dies with a row loses it with its time.
    """
    rows = await db.fetch(
        """
        WITH due AS (
            SELECT listing_id FROM listing_probes
            WHERE due_at <= $1
            ORDER BY due_at
            LIMIT $4
            FOR UPDATE SKIP LOCKED
        ), taken AS (
            UPDATE listing_probes p
            SET due_at = CASE WHEN l.removed_at IS NULL THEN $2::timestamptz ELSE $3 END
            FROM due JOIN listings l ON l.id = due.listing_id
            WHERE p.listing_id = due.listing_id
            RETURNING l.id, l.network, l.pay_to, coalesce(l.asked_url, l.url) AS asked_url,
                      l.method, l.pay_to = p.pay_to AS is_same, l.removed_at, p.state, p.seen,
                      p.times)
        SELECT * FROM taken WHERE removed_at IS NULL
        """,
        turn.now,
        turn.taken_until,
        turn.hidden_until,
        turn.limit,
    )
    return [
        Due(
            row["id"],
            Network(row["network"]),
            Address(row["pay_to"]),
            row["asked_url"],
            row["method"],
            _standing(row) if row["is_same"] else Standing(),
        )
        for row in rows
    ]


async def put_off(db: Connection, listing_ids: Sequence[int], *, until: datetime) -> None:
    """These are asked by nobody before `until`."""
    await db.execute(
        "UPDATE listing_probes SET due_at = $2 WHERE listing_id = ANY ($1)",
        list(listing_ids),
        until,
    )


async def note_result(db: Connection, result: Result) -> bool:
    """The result stands, and the listing's ownership with it where the state says something.

    False when the listing is bound to another recipient meanwhile: it is asked anew.
    """
    due, standing = result.due, result.standing
    noted = await db.fetchval(
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
        standing.state.value,
        None if standing.seen is None else standing.seen.value,
        standing.times,
        result.at,
        result.next_at,
    )
    ownership = ownership_by(standing.state) if noted else None
    if ownership is not None:
        await _set_ownership(db, due, ownership, at=result.at)
    return noted is True


async def _set_ownership(db: Connection, due: Due, ownership: Ownership, *, at: datetime) -> None:
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
    """What is shown of the probe in a row of `listing_probes`; None where it was not asked yet."""
    if row["checked_at"] is None:
        return None
    state = ProbeState(row["state"])
    is_known = state is not ProbeState.UNKNOWN
    return Probe(state, row["checked_at"], row["changed_at"] if is_known else None)


def _standing(row: Row) -> Standing:
    seen = None if row["seen"] is None else ProbeState(row["seen"])
    return Standing(ProbeState(row["state"]), seen, row["times"])
