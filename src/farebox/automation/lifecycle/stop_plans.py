"""Pauses many plans at once: those of a network that is out, or what the operator stops."""

from dataclasses import dataclass
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
from farebox.storage.pool import Database

_BATCH: Final = 50
MOST_OUTAGES: Final = 20  # plans in a row: more is not the fault of plans

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PausedPlans:
    """How many plans were paused, and the ids of those that could not be."""

    count: int
    failed: tuple[str, ...]


async def pause_plans(
    database: Database,
    clock: Clock,
    network: Network | None,
    *,
    owner: str | None = None,
    reason: PauseReason,
) -> PausedPlans:
    """Pause every active plan of a network, or of an owner, one transaction for each.

    A transaction that is under way is left to end; the other legs of its run wait where it lands.
    Plans that cannot be paused, or that other transactions hold for long, stop no other one; one
    that is held costs as long as a statement may take.

    Raises:
        DatabaseUnavailable: for `MOST_OUTAGES` plans in a row; those paused so far stay paused.
    """
    count, failed, after, outages = 0, list[str](), "", 0
    while True:
        async with database.connection() as db:
            found = await upkeep_store.list_active(
                db, network, owner=owner, after=after, limit=_BATCH
            )
        for proposal_id in found:
            try:
                count += await _pause(database, clock, proposal_id, reason)
                outages = 0
            except Exception as error:
                log.exception("automation.plan_not_paused", plan=proposal_id)
                failed.append(proposal_id)
                outages = outages + 1 if isinstance(error, Outage) else 0
                if outages == MOST_OUTAGES:
                    log.exception("automation.pause_broken_off", paused=count, failed=failed)
                    raise
        if len(found) < _BATCH:
            return PausedPlans(count, tuple(failed))
        after = found[-1]


async def _pause(database: Database, clock: Clock, proposal_id: str, reason: PauseReason) -> bool:
    async with database.transaction() as db:
        plan = await proposal_store.lock_plan(db, proposal_id)
        facts = ProposalFacts(is_cancelling=plan is not None and plan.is_cancelling)
        if plan is None or not may_move(plan.state, ProposalTrigger.PAUSE, facts):
            return False
        await move_plan(
            db, plan, ProposalTrigger.PAUSE, facts, now=clock.now(), reason=reason.value
        )
    return True
