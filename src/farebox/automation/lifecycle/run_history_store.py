"""The runs, attempts, events and receipts of a plan as its owner reads them, and repeated runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from farebox.automation.runs.claim_store import COLUMNS, read_run_row
from farebox.automation.runs.run import AttemptOutcome, Run
from farebox.kernel.amounts import Stroops
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run or leg, and when it ended."""

    run: Run
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    """An envelope of a run, without its bytes."""

    run_id: str
    number: int
    tx_hash: bytes
    outcome: AttemptOutcome
    error_code: str | None
    fee_limit: Stroops
    fee_charged: Stroops | None
    max_time: datetime
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class PlanEvent:
    """An event of a plan; `data` is JSON."""

    number: int
    kind: str
    data: str
    at: datetime


async def list_runs(
    db: Connection, proposal_id: str, *, before: tuple[int, int] | None, limit: int
) -> Sequence[ShownRun]:
    """The plan's runs and legs, newest first, from behind the place `before` (run, leg)."""
    index, leg = before or (None, None)
    rows = await db.fetch(
        f"""
        SELECT {COLUMNS}, r.finished_at FROM automation_runs r
        WHERE r.proposal_id = $1
          AND ($2::integer IS NULL OR (r.run_index, r.leg_index) < ($2, $3::smallint))
        ORDER BY r.run_index DESC, r.leg_index DESC LIMIT $4
        """,
        proposal_id,
        index,
        leg,
        limit,
    )
    return [ShownRun(read_run_row(row), row["finished_at"]) for row in rows]


async def list_legs(db: Connection, proposal_id: str, run_index: int) -> Sequence[ShownRun]:
    """The legs of one run, in their order."""
    rows = await db.fetch(
        f"""
        SELECT {COLUMNS}, r.finished_at FROM automation_runs r
        WHERE r.proposal_id = $1 AND r.run_index = $2 ORDER BY r.leg_index
        """,
        proposal_id,
        run_index,
    )
    return [ShownRun(read_run_row(row), row["finished_at"]) for row in rows]


async def list_attempts(db: Connection, run_ids: Sequence[str]) -> Sequence[ShownAttempt]:
    """The attempts of some runs, in their order."""
    rows = await db.fetch(
        """
        SELECT run_id, number, tx_hash, outcome, error_code, fee_limit, fee_charged, max_time,
               sent_at
        FROM automation_attempts WHERE run_id = ANY ($1::text[]) ORDER BY run_id, number
        """,
        run_ids,
    )
    return [
        ShownAttempt(
            run_id=row["run_id"],
            number=row["number"],
            tx_hash=row["tx_hash"],
            outcome=AttemptOutcome(row["outcome"]),
            error_code=row["error_code"],
            fee_limit=Stroops(row["fee_limit"]),
            fee_charged=None if row["fee_charged"] is None else Stroops(row["fee_charged"]),
            max_time=row["max_time"],
            sent_at=row["sent_at"],
        )
        for row in rows
    ]


async def list_events(
    db: Connection, proposal_id: str, *, after: int, limit: int
) -> Sequence[PlanEvent]:
    """The plan's events behind the number `after`, in their order."""
    rows = await db.fetch(
        """
        SELECT number, kind, data, at FROM automation_events
        WHERE proposal_id = $1 AND number > $2 ORDER BY number LIMIT $3
        """,
        proposal_id,
        after,
        limit,
    )
    return [PlanEvent(*row) for row in rows]


async def read_last_events(db: Connection, proposal_ids: Sequence[str]) -> dict[str, int]:
    """The number of the last event of some plans."""
    rows = await db.fetch(
        "SELECT id, events FROM automation_proposals WHERE id = ANY ($1::text[])", proposal_ids
    )
    return {row["id"]: row["events"] for row in rows}


async def list_receipts(
    db: Connection, proposal_id: str, *, after: tuple[int, int], limit: int
) -> Sequence[tuple[tuple[int, int], str]]:
    """Receipts behind the place `after` (run, leg), in their order, each with its place."""
    rows = await db.fetch(
        """
        SELECT run_index, leg_index, receipt FROM automation_runs
        WHERE proposal_id = $1 AND receipt IS NOT NULL AND (run_index, leg_index) > ($2, $3)
        ORDER BY run_index, leg_index LIMIT $4
        """,
        proposal_id,
        *after,
        limit,
    )
    return [((row["run_index"], row["leg_index"]), row["receipt"]) for row in rows]


async def repeat_legs(
    db: Connection, proposal_id: str, run_ids: Sequence[str], *, at: datetime, is_charged: bool
) -> None:
    """Schedule legs of a locked plan again, the first of them due now and no other run.

    `is_charged`: their run has used its credit already.
    """
    await db.execute(
        "UPDATE automation_runs SET due_at = NULL WHERE proposal_id = $1 AND due_at IS NOT NULL",
        proposal_id,
    )
    await db.execute(
        """
        UPDATE automation_runs
        SET state = 'scheduled', state_reason = NULL, error_class = NULL, error_code = NULL,
            attempts = (SELECT coalesce(max(a.number), 0) FROM automation_attempts a
                        WHERE a.run_id = automation_runs.id),
            due_at = CASE WHEN id = $2 THEN $3::timestamptz END, finished_at = NULL,
            is_charged = is_charged OR $4, receipt = NULL, lease_epoch = lease_epoch + 1,
            channel = NULL, channel_sequence = NULL, updated_at = clock_timestamp()
        WHERE id = ANY ($1::text[])
        """,
        run_ids,
        run_ids[0],
        at,
        is_charged,
    )
