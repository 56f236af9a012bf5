"""The changes of plans that no caller asks for: what has expired, and what a cancellation left."""

from datetime import datetime
from typing import Final

import structlog

from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import (
    ProposalFacts,
    ProposalState,
    ProposalTrigger,
)
from farebox.automation.plans.proposal_transitions import may_move
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs import run_store
from farebox.automation.runs.move_plan import move_plan
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database

_BATCH: Final = 50
_EXPIRIES: Final = {
    ProposalState.PROPOSED: ProposalTrigger.EXPIRE_UNPAID,
    ProposalState.PAID: ProposalTrigger.EXPIRE_INACTIVE,
    ProposalState.ACTIVE: ProposalTrigger.EXPIRE,
    ProposalState.PAUSED: ProposalTrigger.EXPIRE,
}

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class PlanUpkeep:
    """Expires the plans of one network."""

    def __init__(self, network: Network, database: Database, clock: Clock) -> None:
        self._network, self._database, self._clock = network, database, clock

    async def run_once(self) -> None:
        """Expire the overdue plans, a batch at a time; one with a run in progress waits for it.

        Raises:
            DatabaseUnavailable: the next pass finds the same plans.
        """
        now = self._clock.now()
        async with self._database.connection() as db:
            overdue = await proposal_store.list_overdue(db, self._network, now=now, limit=_BATCH)
        for proposal_id in overdue:
            async with self._database.transaction() as db:
                plan = await proposal_store.lock_plan(db, proposal_id)
                if plan is not None:
                    await self._expire(db, plan, now)

    async def _expire(self, db: Connection, plan: StoredPlan, now: datetime) -> None:
        trigger = _EXPIRIES.get(plan.state)
        is_busy = await run_store.has_unresolved(db, plan.terms.id)
        facts = ProposalFacts(
            is_cancelling=plan.is_cancelling,
            has_unresolved_run=is_busy,
            runs_left=plan.counters.runs_left,
            is_overdue=True,
        )
        if trigger is not None and may_move(plan.state, trigger, facts):
            await move_plan(db, plan, trigger, facts, now=now, reason="expired")
            log.info("automation.plan_expired", plan=plan.terms.id, state=plan.state)
