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
from farebox.automation.plans.proposal_store import OverduePlan
from farebox.automation.plans.proposal_transitions import may_move
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs import run_store
from farebox.automation.runs.move_plan import move_plan, settle_plan
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database

_BATCH: Final = 50
_LIVE: Final = (ProposalState.ACTIVE, ProposalState.PAUSED)
_EXPIRIES: Final = {
    ProposalState.PROPOSED: ProposalTrigger.EXPIRE_UNPAID,
    ProposalState.PAID: ProposalTrigger.EXPIRE_INACTIVE,
    ProposalState.ACTIVE: ProposalTrigger.EXPIRE,
    ProposalState.PAUSED: ProposalTrigger.EXPIRE,
}

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class PlanUpkeep:
    """Expires the plans of one network, and completes those of which nothing is left.

    Passes go round the overdue plans, so that those that cannot expire yet delay no other.
    """

    def __init__(self, network: Network, database: Database, clock: Clock) -> None:
        self._network, self._database, self._clock = network, database, clock
        self._after: OverduePlan | None = None

    async def run_once(self) -> None:
        """Expire the next overdue plans; one with a run in progress waits for it.

        Raises:
            DatabaseUnavailable: the next pass goes on.
        """
        now = self._clock.now()
        async with self._database.connection() as db:
            overdue = await proposal_store.list_overdue(
                db, self._network, after=self._after, now=now, limit=_BATCH
            )
        for each in overdue:
            self._after = each
            await self._try_to_expire(each.proposal_id, now)
        if len(overdue) < _BATCH:
            self._after = None

    async def _try_to_expire(self, proposal_id: str, now: datetime) -> None:
        """Expire one plan, unless it was paid or moved meanwhile; its fault is its own."""
        try:
            async with self._database.transaction() as db:
                plan = await proposal_store.lock_plan(db, proposal_id)
                if plan is not None and await proposal_store.is_overdue(db, proposal_id, now=now):
                    await self._expire(db, plan, now)
        except Outage:
            raise
        except Exception:
            log.exception("automation.plan_not_expired", plan=proposal_id)

    async def _expire(self, db: Connection, plan: StoredPlan, now: datetime) -> None:
        """Expire a plan; one whose window is open has a run that can be repeated no longer."""
        until = plan.terms.window.not_after
        if plan.state in _LIVE and now < until:
            await proposal_store.write_overdue(db, plan.terms.id, until)
            await settle_plan(db, plan, now)
            return
        trigger = _EXPIRIES.get(plan.state)
        is_busy = await run_store.lock_due_run(db, plan.terms.id)
        facts = ProposalFacts(
            is_cancelling=plan.is_cancelling,
            has_unresolved_run=is_busy,
            runs_left=plan.counters.runs_left,
            is_overdue=True,
        )
        if trigger is not None and may_move(plan.state, trigger, facts):
            await move_plan(db, plan, trigger, facts, now=now, reason="expired")
            log.info("automation.plan_expired", plan=plan.terms.id, state=plan.state)
