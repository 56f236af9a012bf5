"""What loops look for: ended sessions, keys to shred, outages, near runs, rows that are too old."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from farebox.automation.lifecycle.installed_session_store import MAY_BE_INSTALLED
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class DueSoon:
    """A plan whose next run is near; it pays from its account."""

    proposal_id: str
    due_at: datetime


async def list_ended_sessions(
    db: Connection, network: Network, *, after: str, now: datetime, ledger: int, limit: int
) -> Sequence[str]:
    """Live plans whose installed session has ended, by time or by ledger, behind the id `after`."""
    rows = await db.fetch(
        """
        SELECT p.id FROM automation_sessions s JOIN automation_proposals p ON p.id = s.proposal_id
        WHERE p.network = $1 AND p.status IN ('active', 'paused') AND s.state = 'installed'
          AND (s.valid_until <= $2 OR s.valid_until_ledger < $3) AND p.id > $5
        ORDER BY p.id LIMIT $4
        """,
        network.value,
        now,
        ledger,
        limit,
        after,
    )
    return [row["id"] for row in rows]


async def list_to_shred(
    db: Connection, network: Network, *, after: str, now: datetime, ledger: int, limit: int
) -> Sequence[str]:
    """Finished plans without a run in progress that nobody authorizes any more, behind an id.

    A plan of mode `open` or `presigned` needs no revocation: what it could send is destroyed with
    its key. An installation that may have landed keeps the key: it closes what is installed.
    """
    rows = await db.fetch(
        f"""
        SELECT p.id FROM automation_proposals p
        LEFT JOIN automation_sessions s ON s.proposal_id = p.id
        WHERE p.network = $1 AND p.delegate_key IS NOT NULL
          AND p.status IN ('completed', 'cancelled', 'failed', 'expired')
          AND (p.authority_mode IN ('open', 'presigned')
               OR s.state IN ('revoked', 'expired', 'closed_by_service')
               OR ((s.state IS NULL OR s.state = 'material_issued') AND NOT ({MAY_BE_INSTALLED}))
               OR s.valid_until <= $2 OR s.valid_until_ledger < $3)
          AND NOT EXISTS (
              SELECT FROM automation_runs r WHERE r.proposal_id = p.id
              AND r.state IN ('claimed', 'checking', 'building', 'submitted', 'reconciling'))
          AND p.id > $5
        ORDER BY p.id LIMIT $4
        """,
        network.value,
        now,
        ledger,
        limit,
        after,
    )
    return [row["id"] for row in rows]


async def expire_session(db: Connection, proposal_id: str) -> None:
    """Record that the installed session of a locked plan has ended."""
    await db.execute(
        """
        UPDATE automation_sessions SET state = 'expired', updated_at = clock_timestamp()
        WHERE proposal_id = $1 AND state = 'installed'
        """,
        proposal_id,
    )


async def begin_outage(db: Connection, network: Network, *, now: datetime) -> datetime:
    """Since when no process can use the network; from now on where one could."""
    since: datetime = await db.fetchval(
        """
        INSERT INTO automation_outages (network, since) VALUES ($1, $2)
        ON CONFLICT (network) DO UPDATE SET since = automation_outages.since
        RETURNING since
        """,
        network.value,
        now,
    )
    return since


async def end_outage(db: Connection, network: Network) -> None:
    """This process can use the network."""
    await db.execute("DELETE FROM automation_outages WHERE network = $1", network.value)


async def take_network(db: Connection, network: Network) -> bool:
    """Whether this transaction alone may pause the network's plans."""
    taken: bool = await db.fetchval(
        "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 22))", network.value
    )
    return taken


async def list_active(
    db: Connection, network: Network | None, *, owner: str | None = None, after: str, limit: int
) -> Sequence[str]:
    """Active plans of a network, or of an owner, that are not being cancelled, behind an id."""
    rows = await db.fetch(
        """
        SELECT id FROM automation_proposals
        WHERE status = 'active' AND NOT is_cancelling
          AND ($1::text IS NULL OR network = $1) AND ($2::text IS NULL OR owner = $2) AND id > $3
        ORDER BY id LIMIT $4
        """,
        None if network is None else network.value,
        owner,
        after,
        limit,
    )
    return [row["id"] for row in rows]


async def list_session_ends(
    db: Connection, network: Network, *, now: datetime, before: timedelta, limit: int
) -> Sequence[tuple[str, datetime]]:
    """Live plans whose session ends within `before`, or in its last quarter; none told already."""
    rows = await db.fetch(
        """
        SELECT p.id, s.valid_until
        FROM automation_sessions s JOIN automation_proposals p ON p.id = s.proposal_id
        WHERE p.network = $1 AND p.status IN ('active', 'paused') AND s.state = 'installed'
          AND s.valid_until > $2
          AND s.valid_until - $2 <= least($3::interval, (s.valid_until - p.not_before) / 4)
          AND NOT EXISTS (SELECT FROM automation_events e
                          WHERE e.proposal_id = p.id AND e.kind = 'warning.session_ends')
        ORDER BY s.valid_until LIMIT $4
        """,
        network.value,
        now,
        before,
        limit,
    )
    return [(row["id"], row["valid_until"]) for row in rows]


async def list_due_soon(
    db: Connection, network: Network, *, after: DueSoon | None, until: datetime, limit: int
) -> Sequence[DueSoon]:
    """Active plans with an account whose next run is due until then, behind the place `after`."""
    rows = await db.fetch(
        """
        SELECT r.proposal_id, r.due_at FROM automation_runs r
        JOIN automation_proposals p ON p.id = r.proposal_id
        WHERE r.network = $1 AND r.due_at <= $2 AND r.account IS NOT NULL
          AND p.status = 'active' AND p.authority_mode <> 'open'
          AND ($3::timestamptz IS NULL OR (r.due_at, r.proposal_id) > ($3, $4::text))
        ORDER BY r.due_at, r.proposal_id LIMIT $5
        """,
        network.value,
        until,
        None if after is None else after.due_at,
        None if after is None else after.proposal_id,
        limit,
    )
    return [DueSoon(row["proposal_id"], row["due_at"]) for row in rows]


async def was_told(db: Connection, proposal_id: str, kind: str, *, since: datetime) -> bool:
    """Whether the plan has an event of this kind since then."""
    told: bool = await db.fetchval(
        """
        SELECT EXISTS (SELECT FROM automation_events
                       WHERE proposal_id = $1 AND kind = $2 AND at >= $3)
        """,
        proposal_id,
        kind,
        since,
    )
    return told


async def delete_attempts(db: Connection, *, kept: timedelta, limit: int) -> int:
    """Delete attempts of finished plans that ended before; the number deleted.

    Those with an unknown outcome stay: an operator looks for them.
    """
    rows = await db.fetch(
        """
        WITH old AS MATERIALIZED (  -- a join might read a subquery with a limit more than once
            SELECT o.run_id, o.number FROM automation_attempts o
            JOIN automation_runs r ON r.id = o.run_id
            JOIN automation_proposals p ON p.id = r.proposal_id
            WHERE o.finished_at < clock_timestamp() - $1::interval AND o.outcome <> 'unknown'
              AND p.status IN ('completed', 'cancelled', 'failed', 'expired')
            ORDER BY o.finished_at LIMIT $2 FOR UPDATE OF o SKIP LOCKED
        )
        DELETE FROM automation_attempts a USING old
        WHERE a.run_id = old.run_id AND a.number = old.number
        RETURNING a.number
        """,
        kept,
        limit,
    )
    return len(rows)


async def delete_events(db: Connection, *, kept: timedelta, limit: int) -> int:
    """Delete events of finished plans that are older; the number deleted."""
    rows = await db.fetch(
        """
        WITH old AS MATERIALIZED (
            SELECT o.proposal_id, o.number FROM automation_events o
            JOIN automation_proposals p ON p.id = o.proposal_id
            WHERE o.at < clock_timestamp() - $1::interval
              AND p.status IN ('completed', 'cancelled', 'failed', 'expired')
            ORDER BY o.at LIMIT $2 FOR UPDATE OF o SKIP LOCKED
        )
        DELETE FROM automation_events e USING old
        WHERE e.proposal_id = old.proposal_id AND e.number = old.number
        RETURNING e.number
        """,
        kept,
        limit,
    )
    return len(rows)
