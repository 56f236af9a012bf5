"""The table of sessions: what of a plan's authority was issued, and what was read back."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from farebox.automation.lifecycle.installations import Installed
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


class SessionState(StrEnum):
    """The state of a session."""

    MATERIAL_ISSUED = "material_issued"
    INSTALLED = "installed"
    REVOKED = "revoked"
    EXPIRED = "expired"
    CLOSED_BY_SERVICE = "closed_by_service"


@dataclass(frozen=True, slots=True)
class StoredSession:
    """One row of `automation_sessions`; what the mode does not have is None."""

    proposal_id: str
    mode: AuthorityMode
    state: SessionState
    rule_ids: tuple[int, ...] = ()
    guard: Address | None = None
    verifier: Address | None = None
    mandate: Address | None = None
    installer_tx: bytes | None = None
    installed_ledger: int | None = None
    valid_until_ledger: int | None = None
    valid_until: datetime | None = None


async def record_read_back(db: Connection, terms: PlanTerms, installed: Installed) -> None:
    """Record what was read back; the state changes with the plan, when it becomes active."""
    await db.execute(
        """
        INSERT INTO automation_sessions AS s (
            proposal_id, mode, guard_id, verifier_id, mandate_id, rule_ids, installed_ledger,
            valid_until_ledger, valid_until, installer_tx)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (proposal_id) DO UPDATE
        SET guard_id = $3, verifier_id = $4, mandate_id = $5, rule_ids = $6,
            installed_ledger = $7, valid_until_ledger = $8, valid_until = $9,
            installer_tx = coalesce($10, s.installer_tx), updated_at = clock_timestamp()
        WHERE s.state IN ('material_issued', 'installed')
        """,
        terms.id,
        terms.mode.value,
        installed.guard_id,
        installed.verifier_id,
        installed.mandate_id,
        list(installed.rule_ids),
        installed.ledger,
        installed.valid_until_ledger,
        installed.valid_until,
        installed.installer_tx,
    )


async def mark_ended(db: Connection, proposal_id: str, state: SessionState) -> None:
    """Record that a session has ended; the first end that was seen stays."""
    await db.execute(
        """
        UPDATE automation_sessions SET state = $2, updated_at = clock_timestamp()
        WHERE proposal_id = $1 AND state IN ('material_issued', 'installed')
        """,
        proposal_id,
        state.value,
    )


async def list_to_close(db: Connection, network: Network, *, after: str, limit: int) -> list[str]:
    """Plans whose session is installed and whose key is there, in the order of ids.

    They were cancelled, or have expired before they were active.
    `after` is the last id of the list before; empty for the first.
    """
    rows = await db.fetch(
        """
        SELECT p.id FROM automation_proposals p
        JOIN automation_sessions s ON s.proposal_id = p.id
        WHERE p.network = $1 AND p.delegate_key IS NOT NULL
          AND (p.status = 'cancelled' OR (p.status = 'expired' AND p.activated_at IS NULL))
          AND s.state = 'installed' AND s.mode IN ('session', 'mandate') AND p.id > $2
        ORDER BY p.id LIMIT $3
        """,
        network.value,
        after,
        limit,
    )
    return [row["id"] for row in rows]


async def find_session(db: Connection, proposal_id: str) -> StoredSession | None:
    """Find the session of a plan."""
    row = await db.fetchrow(
        """
        SELECT proposal_id, mode, state, rule_ids, guard_id, verifier_id, mandate_id, installer_tx,
               installed_ledger, valid_until_ledger, valid_until
        FROM automation_sessions WHERE proposal_id = $1
        """,
        proposal_id,
    )
    if row is None:
        return None
    return StoredSession(
        proposal_id=row["proposal_id"],
        mode=AuthorityMode(row["mode"]),
        state=SessionState(row["state"]),
        rule_ids=tuple(row["rule_ids"]),
        guard=_address(row["guard_id"]),
        verifier=_address(row["verifier_id"]),
        mandate=_address(row["mandate_id"]),
        installer_tx=row["installer_tx"],
        installed_ledger=row["installed_ledger"],
        valid_until_ledger=row["valid_until_ledger"],
        valid_until=row["valid_until"],
    )


def _address(text: str | None) -> Address | None:
    return None if text is None else Address(text)
