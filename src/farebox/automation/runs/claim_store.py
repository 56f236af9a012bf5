"""Claims of due runs, and their leases; `now` is the database's time.

A claim is one statement. It reads due rows in their order through one partial index and locks each
with its owner's counter, both with SKIP LOCKED: schedulers never wait for each other, and the
counter that a claim judges is the newest. Triggers of the table keep the counters. A claim changes
no column that an index has, so that its cost does not grow with the number of plans.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, LiteralString

from farebox.automation.runs.receipt import ExecutedBy
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_state import RunState
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Row

RUNS_PER_OWNER: Final = 2  # in progress at a time
RUNS_PER_ACCOUNT: Final = 1
_CANDIDATES: Final = 4  # rows read for each that is claimed: one owner may have several
COLUMNS: Final[LiteralString] = """
    r.id, r.proposal_id, r.run_index, r.leg_index, r.network, r.owner, r.account, r.scheduled_for,
    r.deadline_at, r.state, r.due_at, r.lease_epoch, r.attempts, r.state_reason, r.error_class,
    r.error_code, r.checked_ledger, r.auth_nonce, r.channel, r.channel_sequence, r.tx_hash,
    r.ledger, r.fee_charged, r.effects, r.result, r.executed_by, r.receipt, r.is_charged,
    r.charged_fee
"""


_CLAIM_DUE: Final[LiteralString] = (
    """
    WITH due AS MATERIALIZED (
        SELECT r.id, r.owner, r.account, r.due_at, o.running
        FROM automation_runs r
        JOIN automation_owners o ON o.network = r.network AND o.owner = r.owner
        WHERE r.network = $1 AND r.due_at <= $2
          AND r.state IN ('scheduled', 'deferred', 'retry_wait')
          AND o.running < $6 AND (r.account IS NULL OR o.account_running < $7)
          AND (NOT $8 OR r.deadline_at < $2)
        ORDER BY r.due_at, r.id
        LIMIT $9
        FOR UPDATE OF r, o SKIP LOCKED
    ), ranked AS (
        SELECT id, due_at, account, running,
               row_number() OVER (PARTITION BY owner ORDER BY due_at, id) AS of_owner,
               row_number() OVER (PARTITION BY account ORDER BY due_at, id) AS of_account
        FROM due
    ), chosen AS (
        SELECT id FROM ranked
        WHERE running + of_owner <= $6 AND (account IS NULL OR of_account <= $7)
        ORDER BY due_at, id LIMIT $5
    ), claimed AS (
        UPDATE automation_runs r
        SET state = 'claimed', lease_epoch = r.lease_epoch + 1, updated_at = $2
        FROM chosen WHERE r.id = chosen.id
        RETURNING """
    + COLUMNS
    + """
    ), leased AS (
        INSERT INTO automation_leases (run_id, network, holder, until)
        SELECT id, network, $3, $4 FROM claimed
    )
    SELECT * FROM claimed
    """
)


async def claim_due(
    db: Connection,
    network: Network,
    *,
    count: int,
    holder: str,
    now: datetime,
    until: datetime,
    only_overdue: bool = False,
) -> Sequence[Run]:
    """Claim up to `count` due runs of a network for `holder`, the longest due first.

    `only_overdue`: only those whose deadline has passed, for a network that cannot be used.
    """
    rows = await db.fetch(
        _CLAIM_DUE,
        network.value,
        now,
        holder,
        until,
        count,
        RUNS_PER_OWNER,
        RUNS_PER_ACCOUNT,
        only_overdue,
        count * _CANDIDATES,
    )
    return [read_run_row(row) for row in rows]


async def claim_unresolved(
    db: Connection, network: Network, *, count: int, holder: str, now: datetime, until: datetime
) -> Sequence[Run]:
    """Take over up to `count` runs with an envelope whose holder has lost its lease."""
    rows = await db.fetch(
        """
        WITH lost AS MATERIALIZED (
            SELECT l.run_id FROM automation_leases l
            JOIN automation_runs r ON r.id = l.run_id
            WHERE l.network = $1 AND l.until < $2 AND r.state IN ('submitted', 'reconciling')
            ORDER BY l.until LIMIT $5 FOR UPDATE SKIP LOCKED
        ), taken AS (
            UPDATE automation_leases l SET holder = $3, until = $4
            FROM lost WHERE l.run_id = lost.run_id
        )
        UPDATE automation_runs r
        SET state = 'reconciling', state_reason = 'outcome_unknown',
            lease_epoch = r.lease_epoch + 1, updated_at = $2
        FROM lost WHERE r.id = lost.run_id
        RETURNING """
        + COLUMNS,
        network.value,
        now,
        holder,
        until,
        count,
    )
    return [read_run_row(row) for row in rows]


async def release_lost(db: Connection, network: Network, *, now: datetime, limit: int) -> int:
    """Release claimed runs whose lease has passed before anything was recorded; their number."""
    rows = await db.fetch(
        """
        WITH lost AS MATERIALIZED (
            SELECT l.run_id FROM automation_leases l
            JOIN automation_runs r ON r.id = l.run_id
            WHERE l.network = $1 AND l.until < $2
              AND r.state IN ('claimed', 'checking', 'building')
            ORDER BY r.owner, r.id LIMIT $3 FOR UPDATE SKIP LOCKED
        ), released AS (
            DELETE FROM automation_leases l USING lost WHERE l.run_id = lost.run_id
        )
        UPDATE automation_runs r SET state = 'scheduled', updated_at = $2
        FROM lost WHERE r.id = lost.run_id
        RETURNING r.id
        """,
        network.value,
        now,
        limit,
    )
    return len(rows)


async def extend_leases(
    db: Connection, run_ids: Collection[str], *, holder: str, until: datetime
) -> frozenset[str]:
    """Extend the holder's leases of these runs; the ids of those that it still holds.

    A run that the holder claimed and does not work on any more is not among them: its lease passes.
    """
    rows = await db.fetch(
        """
        UPDATE automation_leases SET until = $3 WHERE run_id = ANY ($1) AND holder = $2
        RETURNING run_id
        """,
        list(run_ids),
        holder,
        until,
    )
    return frozenset(row["run_id"] for row in rows)


async def find_run(db: Connection, run_id: str) -> Run | None:
    """The run of an id; None where there is none."""
    row = await db.fetchrow(f"SELECT {COLUMNS} FROM automation_runs r WHERE r.id = $1", run_id)
    return None if row is None else read_run_row(row)


async def set_lease_end(db: Connection, run: Run, *, until: datetime) -> bool:
    """Let the lease of a run end at `until`, when another process takes it over; False if lost."""
    was_held = await db.fetchval(
        """
        WITH held AS MATERIALIZED (
            SELECT id FROM automation_runs WHERE id = $1 AND lease_epoch = $2 FOR UPDATE
        )
        UPDATE automation_leases l SET until = $3 FROM held WHERE l.run_id = held.id RETURNING true
        """,
        run.id,
        run.lease_epoch,
        until,
    )
    return was_held is True


def read_run_row(row: Row) -> Run:
    """The run of a row with the columns of this module."""
    account, channel, error = row["account"], row["channel"], row["error_class"]
    executed_by, fee = row["executed_by"], row["charged_fee"]
    return Run(
        id=row["id"],
        proposal_id=row["proposal_id"],
        run_index=row["run_index"],
        leg_index=row["leg_index"],
        network=Network(row["network"]),
        owner=OwnerId(row["owner"]),
        account=None if account is None else Address(account),
        scheduled_for=row["scheduled_for"],
        deadline_at=row["deadline_at"],
        state=RunState(row["state"]),
        due_at=row["due_at"],
        lease_epoch=row["lease_epoch"],
        attempts=row["attempts"],
        reason=row["state_reason"],
        error_class=None if error is None else ErrorClass(error),
        error_code=row["error_code"],
        checked_ledger=row["checked_ledger"],
        auth_nonce=row["auth_nonce"],
        channel=None if channel is None else Address(channel),
        channel_sequence=row["channel_sequence"],
        tx_hash=row["tx_hash"],
        ledger=row["ledger"],
        fee_charged=Stroops(row["fee_charged"]),
        effects=row["effects"],
        result=row["result"],
        executed_by=None if executed_by is None else ExecutedBy(executed_by),
        receipt=row["receipt"],
        is_charged=row["is_charged"],
        charged_fee=None if fee is None else Stroops(fee),
    )
