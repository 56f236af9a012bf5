"""Pauses many plans at once: those of a network that is out, or what the operator stops."""

from typing import Final

from farebox.automation.lifecycle import upkeep_store
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import PauseReason, ProposalFacts, ProposalTrigger
from farebox.automation.plans.proposal_transitions import may_move
from farebox.automation.runs.move_plan import move_plan
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.pool import Database

_BATCH: Final = 50


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
    another transaction holds is found again by the next batch, or by the next call.

    Raises:
        DatabaseUnavailable: those paused so far stay paused.
    """
    paused = 0
    while True:
        async with database.transaction() as db:
            found = await upkeep_store.list_active(db, network, owner=owner, limit=_BATCH)
            for proposal_id in found:
                plan = await proposal_store.lock_plan(db, proposal_id)
                facts = ProposalFacts()
                if plan is None or not may_move(plan.state, ProposalTrigger.PAUSE, facts):
                    continue
                now = clock.now()
                await move_plan(
                    db, plan, ProposalTrigger.PAUSE, facts, now=now, reason=reason.value
                )
                paused += 1
        if len(found) < _BATCH:
            return paused
