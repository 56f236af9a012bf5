"""The table of sessions: what of a plan's authority was issued, and what was read back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.kernel.addresses import Address
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


async def issue_session(db: Connection, session: StoredSession) -> None:
    """Insert the row of a plan whose material is issued; one that exists stays as it is."""
    await db.execute(
        """
        INSERT INTO automation_sessions (proposal_id, mode, guard_id, verifier_id, mandate_id)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
        """,
        session.proposal_id,
        session.mode.value,
        session.guard,
        session.verifier,
        session.mandate,
    )


async def mark_installed(
    db: Connection,
    session: StoredSession,
    *,
    rule_ids: Sequence[int],
    ledger: int,
    valid_until_ledger: int,
    valid_until: datetime,
    tx_hash: bytes | None,
) -> None:
    """Record what was read back from the ledger; a session that has ended stays ended."""
    await db.execute(
        """
        INSERT INTO automation_sessions AS s (
            proposal_id, mode, state, guard_id, verifier_id, mandate_id, rule_ids,
            installed_ledger, valid_until_ledger, valid_until, installer_tx)
        VALUES ($1, $2, 'installed', $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (proposal_id) DO UPDATE
        SET state = 'installed', guard_id = $3, verifier_id = $4, mandate_id = $5, rule_ids = $6,
            installed_ledger = $7, valid_until_ledger = $8, valid_until = $9,
            installer_tx = coalesce($10, s.installer_tx), updated_at = clock_timestamp()
        WHERE s.state IN ('material_issued', 'installed')
        """,
        session.proposal_id,
        session.mode.value,
        session.guard,
        session.verifier,
        session.mandate,
        list(rule_ids),
        ledger,
        valid_until_ledger,
        valid_until,
        tx_hash,
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
