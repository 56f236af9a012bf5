"""The table of runs: new rows, fenced changes, and what of a plan is open."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, LiteralString

from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.runs.claim_store import COLUMNS, read_run_row
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_state import RunState
from farebox.automation.schedules.missed_runs import RunSlot
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

# a waiting leg `r` of a run that has begun: another leg of it has landed, or may have
HAS_BEGUN: Final[LiteralString] = """
    (r.is_charged OR EXISTS (
        SELECT FROM automation_runs s
        WHERE s.proposal_id = r.proposal_id AND s.run_index = r.run_index
          AND s.state IN ('succeeded', 'submitted', 'reconciling')))
"""
_WOKEN: Final = 8  # runs: more than that are not paid for by one that ended


async def add_runs(db: Connection, terms: PlanTerms, slots: Sequence[tuple[int, RunSlot]]) -> None:
    """Insert the runs of (run index, slot), with a row for each leg; none is due yet."""
    await db.executemany(
        """
        INSERT INTO automation_runs (id, proposal_id, run_index, leg_index, network, owner,
                                     account, scheduled_for, deadline_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """,
        [
            (
                new_id("run"),
                terms.id,
                run_index,
                leg_index,
                terms.network.value,
                terms.owner,
                terms.account,
                slot.scheduled_for,
                slot.deadline_at,
            )
            for run_index, slot in slots
            for leg_index in range(terms.legs)
        ],
    )


async def save_run(db: Connection, before: Run, after: Run) -> bool:
    """Write a run's changes; False when its lease was lost, or its state is another one by now.

    A run that waits or is final gives its lease up. With False the caller stops and sends nothing.
    """
    saved = await db.fetchval(
        """
        WITH saved AS (
            UPDATE automation_runs
            SET state = $4, state_reason = $5, error_class = $6, error_code = $7, due_at = $8,
                attempts = $9, checked_ledger = $10, auth_nonce = $11, channel = $12,
                channel_sequence = $13, tx_hash = $14, ledger = $15, fee_charged = $16,
                effects = $17, result = $18, executed_by = $19, receipt = $20,
                scheduled_for = $21, deadline_at = $22,
                finished_at = CASE WHEN $23 THEN clock_timestamp() END,
                updated_at = clock_timestamp()
            WHERE id = $1 AND lease_epoch = $2 AND state = $3
            RETURNING id
        ), released AS (
            DELETE FROM automation_leases l USING saved WHERE l.run_id = saved.id AND NOT $24
        )
        SELECT true FROM saved
        """,
        *_changes(before, after),
    )
    return saved is True


def _changes(before: Run, after: Run) -> tuple[object, ...]:
    """The values of `save_run`."""
    return (
        before.id,
        before.lease_epoch,
        before.state.value,
        after.state.value,
        after.reason,
        None if after.error_class is None else after.error_class.value,
        after.error_code,
        after.due_at,
        after.attempts,
        after.checked_ledger,
        after.auth_nonce,
        after.channel,
        after.channel_sequence,
        after.tx_hash,
        after.ledger,
        after.fee_charged,
        after.effects,
        after.result,
        None if after.executed_by is None else after.executed_by.value,
        after.receipt,
        after.scheduled_for,
        after.deadline_at,
        after.is_final,
        after.keeps_lease,
    )


async def list_legs(db: Connection, proposal_id: str, run_index: int) -> Sequence[Run]:
    """The legs of one run, in their order."""
    rows = await db.fetch(
        f"""
        SELECT {COLUMNS} FROM automation_runs r
        WHERE r.proposal_id = $1 AND r.run_index = $2 ORDER BY r.leg_index
        """,
        proposal_id,
        run_index,
    )
    return [read_run_row(row) for row in rows]


async def list_open(db: Connection, proposal_id: str) -> Sequence[Run]:
    """The runs of a locked plan that are not final, in their order."""
    rows = await db.fetch(
        f"""
        SELECT {COLUMNS} FROM automation_runs r
        WHERE r.proposal_id = $1 AND r.finished_at IS NULL ORDER BY r.run_index, r.leg_index
        """,
        proposal_id,
    )
    return [read_run_row(row) for row in rows]


async def find_newest(db: Connection, proposal_id: str) -> tuple[int, datetime] | None:
    """The index and due time of the plan's newest run; None while it has none."""
    row = await db.fetchrow(
        """
        SELECT run_index, scheduled_for FROM automation_runs
        WHERE proposal_id = $1 ORDER BY run_index DESC LIMIT 1
        """,
        proposal_id,
    )
    return None if row is None else (row["run_index"], row["scheduled_for"])


async def find_last_landing(db: Connection, proposal_id: str) -> datetime | None:
    """When the plan's newest successful run ended; None without one."""
    landed_at: datetime | None = await db.fetchval(
        """
        SELECT finished_at FROM automation_runs
        WHERE proposal_id = $1 AND state = 'succeeded'
        ORDER BY run_index DESC, leg_index DESC LIMIT 1
        """,
        proposal_id,
    )
    return landed_at


async def make_due(db: Connection, run_id: str, at: datetime) -> None:
    """Let the plan's next run be claimed from `at` on."""
    await db.execute(
        "UPDATE automation_runs SET due_at = $2 WHERE id = $1 AND finished_at IS NULL", run_id, at
    )


async def wake_deferred(db: Connection, network: Network, owner: OwnerId, *, now: datetime) -> None:
    """Let runs be due that wait for a budget to which something was given back, the oldest first.

    They are of the owner, or wait for the network's own budget.
    """
    await db.execute(
        r"""
        WITH waiting AS MATERIALIZED (
            SELECT id FROM automation_runs
            WHERE network = $1 AND error_class = 'budget' AND finished_at IS NULL
              AND state = 'deferred' AND due_at > $3
              AND (error_code = 'budget_total' OR (owner = $2 AND error_code LIKE 'budget\_%'))
            ORDER BY scheduled_for LIMIT $4 FOR UPDATE SKIP LOCKED
        )
        UPDATE automation_runs r SET due_at = $3 FROM waiting WHERE r.id = waiting.id
        """,
        network.value,
        owner,
        now,
        _WOKEN,
    )


async def find_last_used(db: Connection, proposal_id: str) -> tuple[int, int] | None:
    """The place of the plan's newest leg that succeeded, or may have; None without one."""
    row = await db.fetchrow(
        """
        SELECT run_index, leg_index FROM automation_runs
        WHERE proposal_id = $1 AND state IN ('succeeded', 'abandoned')
        ORDER BY run_index DESC, leg_index DESC LIMIT 1
        """,
        proposal_id,
    )
    return None if row is None else (row["run_index"], row["leg_index"])


async def withdraw_waiting(
    db: Connection, proposal_id: str, *, reason: str, keeps_begun: bool = False
) -> int:
    """End every waiting run of a locked plan: nothing of it is under way; their number.

    `keeps_begun`: legs of a run that has begun go on waiting.
    """
    rows = await db.fetch(
        f"""
        UPDATE automation_runs r
        SET state = $3, state_reason = $2, due_at = NULL, finished_at = clock_timestamp(),
            channel = NULL, channel_sequence = NULL, updated_at = clock_timestamp()
        WHERE proposal_id = $1 AND state IN ('scheduled', 'deferred', 'retry_wait')
          AND NOT ($4 AND {HAS_BEGUN})
        RETURNING id
        """,
        proposal_id,
        reason,
        RunState.SKIPPED.value,
        keeps_begun,
    )
    return len(rows)


async def forget_future(db: Connection, proposal_id: str, *, now: datetime) -> None:
    """Delete the runs of a locked plan that are not due and were never begun.

    A plan that is resumed makes them again, with the same indexes. The legs of a run of which one
    was claimed stay, whatever the clock of this replica says.
    """
    await db.execute(
        """
        DELETE FROM automation_runs r
        WHERE proposal_id = $1 AND state = 'scheduled' AND lease_epoch = 0 AND scheduled_for > $2
          AND NOT EXISTS (
              SELECT FROM automation_runs s WHERE s.proposal_id = r.proposal_id
              AND s.run_index = r.run_index AND s.lease_epoch > 0)
        """,
        proposal_id,
        now,
    )


async def forget_unsent(db: Connection, proposal_id: str) -> None:
    """Delete the newest runs of a plan that has paused for a new quote, while nothing was sent.

    The due times of runs that cost too much, or waited behind one, are free: they are run for the
    next price.
    """
    await db.execute(
        """
        WITH unsent AS (
            SELECT r.id, r.run_index,
                   (r.state = 'failed' AND r.error_code = 'fee_above_quote'
                    OR r.state = 'skipped'
                       AND r.state_reason IN ('new_quote', 'leg_before_failed'))
                   AND NOT r.is_charged
                   AND NOT EXISTS (SELECT FROM automation_attempts a WHERE a.run_id = r.id)
                   AS is_unsent
            FROM automation_runs r WHERE r.proposal_id = $1
        )
        DELETE FROM automation_runs d USING unsent u
        WHERE d.id = u.id AND u.run_index > coalesce(
            (SELECT max(run_index) FROM unsent WHERE NOT is_unsent), -1)
        """,
        proposal_id,
    )


async def count_open(db: Connection, proposal_id: str) -> int:
    """How many runs of a plan are not final and use a paid one, of however many legs."""
    found: int = await db.fetchval(
        """
        SELECT count(DISTINCT run_index) FROM automation_runs
        WHERE proposal_id = $1 AND finished_at IS NULL AND NOT is_charged
        """,
        proposal_id,
    )
    return found


async def skip_legs(db: Connection, proposal_id: str, run_index: int, *, reason: str) -> None:
    """End the legs of a run that have not begun, because an earlier one has failed."""
    await db.execute(
        """
        UPDATE automation_runs
        SET state = 'skipped', state_reason = $3, due_at = NULL, finished_at = clock_timestamp(),
            updated_at = clock_timestamp()
        WHERE proposal_id = $1 AND run_index = $2 AND state = 'scheduled'
        """,
        proposal_id,
        run_index,
        reason,
    )


async def write_charged_fee(
    db: Connection,
    proposal_id: str,
    run_index: int,
    fee: Stroops | None,
    *,
    is_charged: bool = False,
) -> None:
    """Write the quoted fee of a run that uses its credit into its legs.

    `is_charged`: their states alone will not show that it was used.
    """
    await db.execute(
        """
        UPDATE automation_runs SET charged_fee = $3, is_charged = is_charged OR $4
        WHERE proposal_id = $1 AND run_index = $2
        """,
        proposal_id,
        run_index,
        fee,
        is_charged,
    )


async def is_between_legs(db: Connection, proposal_id: str) -> bool:
    """Whether a run of the plan that is not over, and has not used its credit, has begun to."""
    found: bool = await db.fetchval(
        """
        SELECT EXISTS (
            SELECT FROM automation_runs r JOIN automation_runs s USING (proposal_id, run_index)
            WHERE r.proposal_id = $1 AND r.finished_at IS NULL AND NOT r.is_charged
              AND s.state = 'succeeded')
        """,
        proposal_id,
    )
    return found


async def is_charged(db: Connection, run_id: str) -> bool:
    """Whether a run has used its credit, by the row of a leg."""
    found = await db.fetchval("SELECT is_charged FROM automation_runs WHERE id = $1", run_id)
    return found is True


async def lock_due_run(db: Connection, proposal_id: str) -> bool:
    """Lock the one run of a locked plan that is due or in progress; whether it is in progress.

    Until the transaction ends no scheduler claims it, and none releases one of a dead process.
    """
    found = await db.fetchval(
        """
        SELECT state IN ('claimed', 'checking', 'building', 'submitted', 'reconciling')
        FROM automation_runs WHERE proposal_id = $1 AND due_at IS NOT NULL FOR UPDATE
        """,
        proposal_id,
    )
    return found is True


async def was_withdrawn(db: Connection, run: Run) -> bool:
    """Whether a pause has ended the later legs of a run of which nothing was sent."""
    found: bool | None = await db.fetchval(
        """
        SELECT bool_or(state = 'skipped' AND leg_index > $3)
               AND NOT bool_or(state = 'succeeded' OR is_charged)
        FROM automation_runs WHERE proposal_id = $1 AND run_index = $2
        """,
        run.proposal_id,
        run.run_index,
        run.leg_index,
    )
    return found is True
