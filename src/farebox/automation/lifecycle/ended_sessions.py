"""Expires plans whose session has ended, and shreds the keys of plans that are over (3.16)."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

import structlog

from farebox.automation.lifecycle import upkeep_store
from farebox.automation.lifecycle.lifecycle_network import LifecycleNetwork
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import ProposalFacts, ProposalTrigger
from farebox.automation.plans.proposal_transitions import may_move
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs import run_store
from farebox.automation.runs.move_plan import move_plan
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.stellar.ledger_clock import ClockStale
from farebox.storage.pool import Connection, Database

_BATCH: Final = 50
_Change = Callable[[Connection, StoredPlan | None, datetime], Awaitable[None]]

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class EndedSessions:
    """Looks after the sessions of one network.

    Passes go round the plans, so that those that have to wait delay no other.
    """

    def __init__(self, network: LifecycleNetwork, database: Database, clock: Clock) -> None:
        self._network, self._database, self._clock = network, database, clock
        self._last_ended = self._last_over = ""  # the ids at which the passes are

    async def run_once(self) -> None:
        """Expire plans without a session, then shred keys; a batch of each.

        Raises:
            DatabaseUnavailable: the next pass goes on.
        """
        now, ledger, network = self._clock.now(), self._newest_ledger(), self._network.network
        async with self._database.connection() as db:
            ended = await upkeep_store.list_ended_sessions(
                db, network, after=self._last_ended, now=now, ledger=ledger, limit=_BATCH
            )
        for proposal_id in ended:
            self._last_ended = proposal_id
            await self._try(self._expire, proposal_id, now)
        async with self._database.connection() as db:
            over = await upkeep_store.list_to_shred(
                db, network, after=self._last_over, now=now, ledger=ledger, limit=_BATCH
            )
        for proposal_id in over:
            self._last_over = proposal_id
            await self._try(self._shred, proposal_id, now)
        self._last_ended = self._last_ended if len(ended) == _BATCH else ""
        self._last_over = self._last_over if len(over) == _BATCH else ""

    async def _try(self, change: _Change, proposal_id: str, now: datetime) -> None:
        """Change one plan; its fault is its own."""
        try:
            async with self._database.transaction() as db:
                await change(db, await proposal_store.lock_plan(db, proposal_id), now)
        except Outage:
            raise
        except Exception:
            log.exception("automation.session_not_ended", plan=proposal_id)

    def _newest_ledger(self) -> int:
        try:
            return self._network.ledgers.now().sequence
        except ClockStale:
            return 0  # then only times are judged

    async def _expire(self, db: Connection, plan: StoredPlan | None, now: datetime) -> None:
        if plan is None:
            return
        facts = await _facts(db, plan)
        if may_move(plan.state, ProposalTrigger.EXPIRE, facts):
            await move_plan(
                db, plan, ProposalTrigger.EXPIRE, facts, now=now, reason="session_ended"
            )
            await upkeep_store.expire_session(db, plan.terms.id)

    async def _shred(self, db: Connection, plan: StoredPlan | None, now: datetime) -> None:
        if plan is None or plan.delegate_key is None:
            return
        facts = await _facts(db, plan)
        if may_move(plan.state, ProposalTrigger.SHRED, facts):
            await move_plan(db, plan, ProposalTrigger.SHRED, facts, now=now, reason=plan.reason)
            await upkeep_store.expire_session(db, plan.terms.id)
            log.info("automation.key_shredded", plan=plan.terms.id)


async def _facts(db: Connection, plan: StoredPlan) -> ProposalFacts:
    return ProposalFacts(
        has_unresolved_run=await run_store.lock_due_run(db, plan.terms.id),
        is_cancelling=plan.is_cancelling,
        runs_left=plan.counters.runs_left,
        is_overdue=True,
        authority_is_gone=True,
    )
