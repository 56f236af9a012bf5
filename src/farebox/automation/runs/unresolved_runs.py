"""Runs whose outcome is not known: the operator lists them, and ends the search for one of them.

What ends it is a decision, and no proof: the transaction may have landed, or may be on a ledger
that nobody asked. So the run stays `abandoned`, uses no credit, and is never tried again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from farebox.automation.paymaster import channel_store
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import PauseReason, ProposalFacts, ProposalTrigger
from farebox.automation.plans.proposal_transitions import may_move
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs import attempt_store, claim_store, run_store
from farebox.automation.runs.event_store import add_event
from farebox.automation.runs.finish_leg import finish_leg
from farebox.automation.runs.move_plan import move_plan, settle_plan
from farebox.automation.runs.run import AttemptOutcome, Run
from farebox.automation.runs.run_state import (
    UNRESOLVED_STATES,
    RunState,
    RunTransition,
    RunTrigger,
    move_run,
)
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

ENDED: Final = "ended_by_operator"
_MARGIN: Final = timedelta(minutes=5)  # past the envelope's bound, by the clock of this machine


@dataclass(frozen=True, slots=True)
class UnresolvedRun:
    """A run whose outcome is not known, and the envelope that may have landed."""

    run_id: str
    proposal_id: str
    network: str
    state: str
    tx_hash: bytes | None
    max_time: datetime | None
    channel: str | None

    @property
    def line(self) -> str:
        """The run for people."""
        bound = "-" if self.max_time is None else f"{self.max_time:%Y-%m-%dT%H:%M:%SZ}"
        sent = "-" if self.tx_hash is None else self.tx_hash.hex()
        where = f"{self.network} {self.state:11} {bound} {sent} {self.channel or '-'}"
        return f"{self.run_id} {self.proposal_id} {where}"


class NotEnded(StrEnum):
    """Why the search for a run's outcome is not ended; the text is for the operator."""

    NO_RUN = "there is no such run"
    RESOLVED = "its outcome is known"
    MAY_LAND = "its transaction may still land: wait for five minutes after its bound"


async def list_unresolved(
    db: Connection, network: Network | None, *, run_id: str | None = None, limit: int
) -> Sequence[UnresolvedRun]:
    """Runs whose outcome is not known, and abandoned ones that keep a channel; the oldest first."""
    rows = await db.fetch(
        """
        SELECT r.id, r.proposal_id, r.network, r.state, a.tx_hash, a.max_time, c.address
        FROM automation_runs r
        LEFT JOIN automation_channels c ON c.run_id = r.id
        LEFT JOIN LATERAL (
            SELECT tx_hash, max_time FROM automation_attempts
            WHERE run_id = r.id AND outcome IN ('prepared', 'sent', 'unknown')
            ORDER BY number DESC LIMIT 1) a ON true
        WHERE (r.state IN ('submitted', 'reconciling')
               OR (r.state = 'abandoned' AND c.address IS NOT NULL))
          AND ($1::text IS NULL OR r.network = $1) AND ($2::text IS NULL OR r.id = $2)
        ORDER BY a.max_time, r.id LIMIT $3
        """,
        None if network is None else network.value,
        run_id,
        limit,
    )
    return [UnresolvedRun(*row) for row in rows]


async def has_abandoned(db: Connection, proposal_id: str) -> bool:
    """Whether the operator has to end the search for a run of the plan that was abandoned."""
    found: bool = await db.fetchval(
        """
        SELECT EXISTS (
            SELECT FROM automation_channels c JOIN automation_runs r ON r.id = c.run_id
            WHERE r.proposal_id = $1 AND r.state = 'abandoned')
        """,
        proposal_id,
    )
    return found


async def end_search(db: Connection, run_id: str, *, now: datetime) -> Run | NotEnded:
    """Abandon a run, free its channel, and let its owner resume the plan; in the transaction.

    A process that works on the run loses its lease.
    """
    run = await claim_store.find_run(db, run_id)
    plan = None if run is None else await proposal_store.lock_plan(db, run.proposal_id)
    run = await claim_store.find_run(db, run_id)  # as it is under the lock
    if run is None or plan is None:
        return NotEnded.NO_RUN
    if run.state in UNRESOLVED_STATES:
        found = await attempt_store.find_open(db, run_id)
        if found is not None and now <= found[0].sent.max_time + _MARGIN:
            return NotEnded.MAY_LAND
        transition = move_run(RunState.RECONCILING, RunTrigger.ABANDON)
        after = replace(run, state=transition.to, reason=ENDED, due_at=None)
        if not await run_store.save_run(db, run, after):
            return NotEnded.RESOLVED
        if found is not None:
            await attempt_store.end_attempt(
                db,
                found[0].sent.tx_hash,
                AttemptOutcome.UNKNOWN,
                error_code=ENDED,
                fee_charged=None,
            )
        plan = await _stop_plan(db, plan, run, after, transition, now)
    elif run.state is not RunState.ABANDONED:
        return NotEnded.RESOLVED
    await channel_store.free_channel(db, run_id, used_sequence=None)
    if plan.reason == PauseReason.OUTCOME_UNKNOWN.value:
        await proposal_store.leave_to_owner(db, plan.terms.id)
    await add_event(db, plan.terms.id, "run.search_ended", {"run": run_id, "reason": ENDED})
    return run


async def _stop_plan(
    db: Connection,
    plan: StoredPlan,
    before: Run,
    after: Run,
    transition: RunTransition,
    now: datetime,
) -> StoredPlan:
    """What the end of the run means for its plan: it is paused, or its cancellation goes on."""
    counters = await finish_leg(db, plan, before, after, transition.effects, now=now)
    await proposal_store.write_counters(db, plan.terms.id, counters)
    plan = replace(plan, counters=counters)
    facts = ProposalFacts(is_cancelling=plan.is_cancelling)
    if may_move(plan.state, ProposalTrigger.PAUSE, facts):
        reason = PauseReason.OUTCOME_UNKNOWN.value
        return await move_plan(db, plan, ProposalTrigger.PAUSE, facts, now=now, reason=reason)
    return await settle_plan(db, plan, now)
