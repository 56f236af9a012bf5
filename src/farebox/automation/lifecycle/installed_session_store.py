"""The session of a plan as its life changes it (table `automation_sessions`)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.automation.lifecycle.installations import Installed
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

# A plan `p` with its session `s`, as of the time `$2`: it may have been installed, or may still be,
# and that is not recorded. What has landed is looked for until the plan's own end, what was sent
# a day, and what the wallet may send of a cancelled plan while its signature can live.
MAY_BE_INSTALLED: Final = """
    (s.state IS NULL OR s.state = 'material_issued') AND p.expires_at > $2::timestamptz AND (
        s.installed_ledger IS NOT NULL
        OR (p.status = 'cancelled' AND p.updated_at >= $2::timestamptz - interval '1 hour')
        OR (s.installer_tx IS NOT NULL AND s.updated_at >= $2::timestamptz - interval '1 day')
        OR EXISTS (
            SELECT FROM automation_sponsored x
            WHERE x.proposal_id = p.id AND x.purpose = 'install' AND (
                x.outcome IN ('prepared', 'success') OR (
                    x.outcome = 'unknown'
                    AND x.finished_at >= $2::timestamptz - interval '1 day'))))
"""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """When a session ends, as it was read back; None where it has no end of that kind."""

    ledger: int | None
    at: datetime | None


async def write_installed(
    db: Connection, terms: PlanTerms, installed: Installed, *, presigned: int = 0
) -> None:
    """Record what was read back of a locked plan's session."""
    await db.execute(
        """
        INSERT INTO automation_sessions AS s (
            proposal_id, mode, state, rule_ids, guard_id, verifier_id, mandate_id, installer_tx,
            installed_ledger, valid_until_ledger, valid_until, presigned_total)
        VALUES ($1, $2, 'installed', $3, $4, $5, $6, $7, $8, $9, $10, $11)
        ON CONFLICT (proposal_id) DO UPDATE
        SET state = 'installed', rule_ids = excluded.rule_ids,
            guard_id = coalesce(excluded.guard_id, s.guard_id),
            verifier_id = coalesce(excluded.verifier_id, s.verifier_id),
            mandate_id = coalesce(excluded.mandate_id, s.mandate_id),
            installer_tx = coalesce(excluded.installer_tx, s.installer_tx),
            installed_ledger = excluded.installed_ledger,
            valid_until_ledger = excluded.valid_until_ledger, valid_until = excluded.valid_until,
            presigned_total = excluded.presigned_total, updated_at = clock_timestamp()
        """,
        terms.id,
        terms.mode.value,
        list(installed.rule_ids),
        installed.guard_id,
        installed.verifier_id,
        installed.mandate_id,
        installed.installer_tx,
        installed.ledger,
        installed.valid_until_ledger,
        installed.valid_until,
        presigned,
    )


async def write_pending(db: Connection, terms: PlanTerms, tx_hash: bytes | None) -> None:
    """Record the installation that a locked plan waits for; None: it waits for none any more."""
    await db.execute(
        """
        INSERT INTO automation_sessions (proposal_id, mode, installer_tx) VALUES ($1, $2, $3)
        ON CONFLICT (proposal_id) DO UPDATE
        SET installer_tx = excluded.installer_tx, updated_at = clock_timestamp()
        WHERE automation_sessions.state = 'material_issued'
        """,
        terms.id,
        terms.mode.value,
        tx_hash,
    )


async def list_pending(db: Connection, network: Network, *, limit: int) -> list[tuple[str, bytes]]:
    """Plans that wait for the transaction of their installation, the longest waiting first."""
    rows = await db.fetch(
        """
        SELECT s.proposal_id, s.installer_tx FROM automation_sessions s
        JOIN automation_proposals p ON p.id = s.proposal_id
        WHERE s.state = 'material_issued' AND s.installer_tx IS NOT NULL
          AND p.network = $1 AND p.status = 'paid'
        ORDER BY s.updated_at LIMIT $2
        """,
        network.value,
        limit,
    )
    return [(row["proposal_id"], row["installer_tx"]) for row in rows]


async def list_unrecorded(
    db: Connection, network: Network, *, after: str, now: datetime, limit: int
) -> list[str]:
    """Plans that ended before their session was recorded, which may be installed all the same.

    In the order of ids; `after` is the last id of the list before, empty for the first.
    """
    rows = await db.fetch(
        f"""
        SELECT p.id FROM automation_proposals p
        LEFT JOIN automation_sessions s ON s.proposal_id = p.id
        WHERE p.network = $1 AND p.status IN ('cancelled', 'expired')
          AND p.authority_mode IN ('session', 'mandate') AND p.delegate_key IS NOT NULL
          AND {MAY_BE_INSTALLED} AND p.id > $3
        ORDER BY p.id LIMIT $4
        """,
        network.value,
        now,
        after,
        limit,
    )
    return [row["id"] for row in rows]


async def touch_pending(db: Connection, proposal_id: str) -> None:
    """Let the other waiting plans come first the next time."""
    await db.execute(
        "UPDATE automation_sessions SET updated_at = clock_timestamp() WHERE proposal_id = $1",
        proposal_id,
    )


async def find_end(db: Connection, proposal_id: str) -> SessionEnd | None:
    """When the plan's installed session ends; None while none is installed."""
    row = await db.fetchrow(
        """
        SELECT valid_until_ledger, valid_until FROM automation_sessions
        WHERE proposal_id = $1 AND state = 'installed'
        """,
        proposal_id,
    )
    return None if row is None else SessionEnd(row["valid_until_ledger"], row["valid_until"])


async def find_entry_end(db: Connection, proposal_id: str, run_index: int) -> int | None:
    """The last ledger of a run's pre-signed entries that are not used; None without one."""
    last: int | None = await db.fetchval(
        """
        SELECT min(expiration_ledger) FROM automation_presigned
        WHERE proposal_id = $1 AND run_index = $2 AND state = 'ready'
        """,
        proposal_id,
        run_index,
    )
    return last
