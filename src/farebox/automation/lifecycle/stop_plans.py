"""Pauses many plans at once: those of a network that is out, or what the operator stops."""

from typing import Final

import structlog

from farebox.automation.lifecycle import upkeep_store
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import PauseReason, ProposalFacts, ProposalTrigger
from farebox.automation.plans.proposal_transitions import may_move
from farebox.automation.runs.move_plan import move_plan
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database

_BATCH: Final = 50

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


async def pause_plans(
    database: Database,
    clock: Clock,
    network: Network | None,
    *,
    owner: str | None = None,
    reason: PauseReason,
) -> int:
    """Pause every active plan of a network, or of an owner, a batch at a time; their number.

    A transaction that is under way is left to end; the other legs of its run wait. A plan that
    another transaction holds, or that cannot be paused, stops no other: the next call finds it.

    Raises:
        DatabaseUnavailable: those paused so far stay paused.
    """
    paused, after = 0, ""
    while True:
        async with database.transaction() as db:
            found = await upkeep_store.list_active(
                db, network, owner=owner, after=after, limit=_BATCH
            )
            for proposal_id in found:
                paused += await _try_to_pause(db, clock, proposal_id, reason)
        if len(found) < _BATCH:
            return paused
        after = found[-1]


async def _try_to_pause(
    db: Connection, clock: Clock, proposal_id: str, reason: PauseReason
) -> bool:
    """Pause one plan; its fault is its own."""
    try:
        async with db.transaction():
            plan = await proposal_store.lock_plan(db, proposal_id)
            facts = ProposalFacts()
            if plan is None or not may_move(plan.state, ProposalTrigger.PAUSE, facts):
                return False
            await move_plan(
                db, plan, ProposalTrigger.PAUSE, facts, now=clock.now(), reason=reason.value
            )
    except Outage:
        raise
    except Exception:
        log.exception("automation.plan_not_paused", plan=proposal_id)
        return False
    return True
