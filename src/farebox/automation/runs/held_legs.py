"""The legs of a run that has begun: they wait while its plan is paused, and may be repeated."""

from datetime import datetime, timedelta
from typing import Final

from farebox.automation.plans.proposal_state import PauseReason, ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_store import (
    HAS_BEGUN,
    find_last_used,
    is_charged,
    was_withdrawn,
)
from farebox.storage.pool import Connection

MOST_ATTEMPTS: Final = 50  # of one leg, its repetitions included
_AFTER_DEADLINE: Final = timedelta(seconds=1)


async def hold_waiting(db: Connection, proposal_id: str) -> None:
    """Let the waiting legs of a locked plan wait until it is resumed, without a channel.

    One of them is due just after its deadline, so that it is missed then: that of the earliest
    deadline, while none is in progress. No budget wakes them.
    """
    await release_held(db, proposal_id)
    await db.execute(
        """
        UPDATE automation_runs r
        SET channel = NULL, channel_sequence = NULL, error_class = NULL, error_code = NULL,
            updated_at = clock_timestamp(),
            due_at = CASE WHEN r.id = (
                SELECT o.id FROM automation_runs o
                WHERE o.proposal_id = r.proposal_id AND o.finished_at IS NULL
                ORDER BY o.due_at IS NULL, o.deadline_at, o.run_index, o.leg_index LIMIT 1
                ) THEN r.deadline_at + $2::interval END
        WHERE proposal_id = $1 AND state IN ('scheduled', 'deferred', 'retry_wait')
        """,
        proposal_id,
        _AFTER_DEADLINE,
    )


async def release_held(db: Connection, proposal_id: str) -> None:
    """Let no waiting leg of a locked plan be due, so that the next one is made due."""
    await db.execute(
        """
        UPDATE automation_runs SET due_at = NULL
        WHERE proposal_id = $1 AND state IN ('scheduled', 'deferred', 'retry_wait')
        """,
        proposal_id,
    )


async def find_due_at(
    db: Connection, plan: StoredPlan, run: Run, *, pause: PauseReason | None, now: datetime
) -> datetime | None:
    """When a claimed run is due that its locked plan does not make now; None: it is withdrawn.

    A started run waits until just after its deadline while the plan is paused, or is paused by
    `pause`. One that may be made again is due at once: the plan was resumed meanwhile. One that a
    pause has cut short is withdrawn.
    """
    may_go_on = plan.may_make(is_charged=await is_charged(db, run.id))
    is_paused = plan.state is ProposalState.PAUSED and not plan.is_cancelling
    if may_go_on and pause is None:
        is_withdrawn = plan.terms.legs > 1 and await was_withdrawn(db, run)
        return None if is_withdrawn else now
    is_held = (may_go_on or is_paused) and await _has_begun(db, run)
    return run.deadline_at + _AFTER_DEADLINE if is_held else None


async def _has_begun(db: Connection, run: Run) -> bool:
    found: bool | None = await db.fetchval(
        f"SELECT {HAS_BEGUN} FROM automation_runs r WHERE r.id = $1",  # noqa: S608 - a literal
        run.id,
    )
    return found is True


async def find_paid_end(
    db: Connection, terms: PlanTerms, *, now: datetime, has_runs: bool
) -> datetime | None:
    """The last deadline of legs that wait in a run that was charged, or may be repeated.

    `has_runs`: a paid run is left, for which a failed run may be repeated that was not charged.
    None where there is no such leg.
    """
    is_ordered = terms.mode is AuthorityMode.MANDATE
    used = await find_last_used(db, terms.id) if is_ordered else None
    run_index, leg_index = used or (-1, -1)
    until: datetime | None = await db.fetchval(
        """
        SELECT max(r.deadline_at) FROM automation_runs r
        CROSS JOIN LATERAL (
            SELECT bool_or(s.is_charged OR s.state = 'succeeded') AS is_charged,
                   bool_or(s.state = 'abandoned' OR s.attempts >= $4) AS is_refused
            FROM automation_runs s
            WHERE s.proposal_id = r.proposal_id AND s.run_index = r.run_index) AS whole
        WHERE r.proposal_id = $1 AND r.deadline_at > $2
          AND (r.finished_at IS NULL AND r.is_charged
               OR r.state = 'failed' AND NOT whole.is_refused AND ($3 OR whole.is_charged)
                  AND (r.run_index, r.leg_index) > ($5, $6))
        """,
        terms.id,
        now,
        has_runs,
        MOST_ATTEMPTS,
        run_index,
        leg_index,
    )
    return until
