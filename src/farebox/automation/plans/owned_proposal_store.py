"""Plans as their owner reads them: one, a page, and what an owner has open."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from farebox.automation.plans.proposal_state import EXECUTING
from farebox.automation.plans.proposal_store import PLAN_COLUMNS, read_plan_row
from farebox.automation.plans.stored_plan import StoredProposal
from farebox.automation.plans.wire import PlanKind
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.pages import Place
from farebox.storage.pool import Connection, Row

_EXECUTING: Final = """EXISTS (
    SELECT FROM automation_runs r WHERE r.proposal_id = p.id AND r.state IN
        ('claimed', 'checking', 'building', 'submitted', 'reconciling'))"""
_OWNED: Final = f"""
    {PLAN_COLUMNS}, p.title, p.account_kind, p.spec, p.created_at, p.updated_at, p.overdue_at,
    p.status = 'active' AND {_EXECUTING} AS is_executing
"""
_OPEN: Final = "p.status NOT IN ('completed', 'cancelled', 'failed', 'expired')"


@dataclass(frozen=True, slots=True)
class ProposalFilter:
    """Which plans of an owner are listed; `status` as responses show it."""

    status: str | None = None
    kind: PlanKind | None = None
    network: Network | None = None


async def find_proposal(db: Connection, owner: OwnerId, proposal_id: str) -> StoredProposal | None:
    """Find the owner's plan of this id."""
    row = await db.fetchrow(
        f"SELECT {_OWNED} FROM automation_proposals p WHERE p.id = $1 AND p.owner = $2",
        proposal_id,
        owner,
    )
    return None if row is None else _read(row)


async def list_proposals(
    db: Connection,
    owner: OwnerId,
    wanted: ProposalFilter,
    *,
    after: Place | None,
    limit: int,
) -> Sequence[StoredProposal]:
    """The owner's plans, newest first, from behind the place `after`."""
    at, record = after or (None, None)
    rows = await db.fetch(
        f"""
        SELECT {_OWNED} FROM automation_proposals p
        WHERE p.owner = $1
          AND ($2::text IS NULL OR p.status = $2)
          AND (NOT $3 OR {_EXECUTING})
          AND ($4::text IS NULL OR p.kind = $4)
          AND ($5::text IS NULL OR p.network = $5)
          AND ($6::timestamptz IS NULL OR (p.created_at, p.id) < ($6, $7))
        ORDER BY p.created_at DESC, p.id DESC LIMIT $8
        """,
        owner,
        "active" if wanted.status == EXECUTING else wanted.status,
        wanted.status == EXECUTING,
        wanted.kind,
        None if wanted.network is None else wanted.network.value,
        at,
        record,
        limit,
    )
    return [_read(row) for row in rows]


async def find_by_key(
    db: Connection, owner: OwnerId, idempotency_key: str
) -> tuple[str, bytes | None] | None:
    """The id and request digest of the plan that was proposed under this key."""
    row = await db.fetchrow(
        """
        SELECT id, request_digest FROM automation_proposals
        WHERE owner = $1 AND idempotency_key = $2
        """,
        owner,
        idempotency_key,
    )
    return None if row is None else (row["id"], row["request_digest"])


async def find_equal(db: Connection, owner: OwnerId, intent_hash: bytes) -> str | None:
    """The id of an open plan of the owner that does the same."""
    found: str | None = await db.fetchval(
        f"""
        SELECT p.id FROM automation_proposals p
        WHERE p.owner = $1 AND p.intent_hash = $2 AND {_OPEN} LIMIT 1
        """,
        owner,
        intent_hash,
    )
    return found


async def count_open(db: Connection, owner: OwnerId) -> int:
    """How many plans of the owner are in no terminal state."""
    count: int = await db.fetchval(
        f"SELECT count(*) FROM automation_proposals p WHERE p.owner = $1 AND {_OPEN}", owner
    )
    return count


def _read(row: Row) -> StoredProposal:
    return StoredProposal(
        plan=read_plan_row(row),
        title=row["title"],
        account_kind=row["account_kind"],
        spec=row["spec"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        overdue_at=row["overdue_at"],
        is_executing=row["is_executing"],
    )
