"""What the operator does to plans of any owner: release paused ones, close compromised ones."""

from typing import Final

from farebox.automation.lifecycle import operator_store
from farebox.automation.lifecycle.operator_store import ListedPlan, OperatorFilter
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import (
    TERMINAL_STATES,
    PauseReason,
    ProposalFacts,
    ProposalTrigger,
)
from farebox.automation.runs import run_store
from farebox.automation.runs.event_store import add_event
from farebox.automation.runs.move_plan import move_plan
from farebox.kernel.clock import Clock
from farebox.storage.pool import Connection, Database

COMPROMISED: Final = "compromised"
_BATCH: Final = 100


async def resume_plans(database: Database, wanted: OperatorFilter) -> int:
    """Let owners resume the plans that the operator has paused; their number.

    A resume needs a dry run, which the owner's request makes.
    """
    async with database.transaction() as db:
        freed = await operator_store.leave_to_owners(db, wanted)
        for proposal_id in freed:
            await add_event(db, proposal_id, "plan.released", {"reason": PauseReason.OPERATOR})
        return len(freed)


async def close_plans(database: Database, clock: Clock, wanted: OperatorFilter) -> list[ListedPlan]:
    """Cancel every open plan and destroy its pre-signed entries; the plans, for their owners.

    A plan with a run under way is cancelled when that has ended; nothing more of it is sent.
    """
    closed: list[ListedPlan] = []
    after = ""
    while True:
        async with database.connection() as db:
            found = await operator_store.list_open(db, wanted, after=after, limit=_BATCH)
        for each in found:
            async with database.transaction() as db:
                if await _close(db, clock, each.id):
                    closed.append(each)
        if len(found) < _BATCH:
            return closed
        after = found[-1].id


async def _close(db: Connection, clock: Clock, proposal_id: str) -> bool:
    plan = await proposal_store.lock_plan(db, proposal_id)
    if plan is None or plan.state in TERMINAL_STATES:
        return False
    await operator_store.destroy_entries(db, proposal_id)
    is_busy = await run_store.lock_due_run(db, proposal_id)
    facts = ProposalFacts(has_unresolved_run=is_busy, runs_left=plan.counters.runs_left)
    await move_plan(db, plan, ProposalTrigger.CANCEL, facts, now=clock.now(), reason=COMPROMISED)
    return True
