"""Plans as the operator's commands list them."""

from collections.abc import Sequence
from dataclasses import dataclass

from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class OperatorFilter:
    """Which plans a command means; None: every one."""

    network: Network | None = None
    owner: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True)
class ListedPlan:
    """A plan in one line."""

    id: str
    network: str
    owner: str
    account: str | None
    status: str
    reason: str | None
    mode: str
    runs_consumed: int
    runs_credited: int

    @property
    def line(self) -> str:
        """The plan for people."""
        state = self.status if self.reason is None else f"{self.status} ({self.reason})"
        runs = f"{self.runs_consumed}/{self.runs_credited}"
        account = self.account or "-"
        return f"{self.id} {self.network} {state:26} {self.mode:9} {runs:>9} {self.owner} {account}"


async def list_plans(db: Connection, wanted: OperatorFilter, limit: int) -> Sequence[ListedPlan]:
    """Plans of every owner, newest first."""
    rows = await db.fetch(
        """
        SELECT id, network, owner, account, status, status_reason, authority_mode, runs_consumed,
               runs_credited
        FROM automation_proposals
        WHERE ($1::text IS NULL OR network = $1) AND ($2::text IS NULL OR owner = $2)
          AND ($3::text IS NULL OR status = $3)
        ORDER BY created_at DESC, id DESC LIMIT $4
        """,
        None if wanted.network is None else wanted.network.value,
        wanted.owner,
        wanted.status,
        limit,
    )
    return [ListedPlan(*row) for row in rows]


async def list_open(
    db: Connection, wanted: OperatorFilter, *, after: str, limit: int
) -> Sequence[ListedPlan]:
    """Plans that have not ended, in the order of their ids, from behind the id `after`."""
    rows = await db.fetch(
        """
        SELECT id, network, owner, account, status, status_reason, authority_mode, runs_consumed,
               runs_credited
        FROM automation_proposals
        WHERE ($1::text IS NULL OR network = $1) AND ($2::text IS NULL OR owner = $2)
          AND status NOT IN ('completed', 'cancelled', 'failed', 'expired') AND id > $3
        ORDER BY id LIMIT $4
        """,
        None if wanted.network is None else wanted.network.value,
        wanted.owner,
        after,
        limit,
    )
    return [ListedPlan(*row) for row in rows]


async def leave_to_owners(db: Connection, wanted: OperatorFilter) -> Sequence[str]:
    """Let owners resume what the operator has paused; the ids of the plans."""
    rows = await db.fetch(
        """
        UPDATE automation_proposals
        SET status_reason = 'owner', version = version + 1, updated_at = clock_timestamp()
        WHERE status = 'paused' AND status_reason = 'operator'
          AND ($1::text IS NULL OR network = $1) AND ($2::text IS NULL OR owner = $2)
        RETURNING id
        """,
        None if wanted.network is None else wanted.network.value,
        wanted.owner,
    )
    return [row["id"] for row in rows]


async def destroy_entries(db: Connection, proposal_id: str) -> None:
    """Destroy the pre-signed entries of a locked plan."""
    await db.execute(
        """
        UPDATE automation_presigned SET entry = NULL, state = 'destroyed'
        WHERE proposal_id = $1 AND state = 'ready'
        """,
        proposal_id,
    )
