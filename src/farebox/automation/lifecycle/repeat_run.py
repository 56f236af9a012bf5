"""Repeat the failed legs of a run, when its owner asks and while it may still land (3.18)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from farebox.audit.audit_store import insert_event
from farebox.audit.event import Action, AuditEvent
from farebox.automation.lifecycle import run_history_store
from farebox.automation.lifecycle.lifecycle_network import LifecycleNetworks, usable_network
from farebox.automation.lifecycle.owned_plans import check_id, lock_owned, read_owned
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.refusal import AutomationRefused
from farebox.automation.runs import held_legs, run_store
from farebox.automation.runs.event_store import add_event
from farebox.automation.runs.legs import run_state_of
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_state import RunState, RunTrigger, move_run
from farebox.kernel.caller import Caller
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import NotFound
from farebox.storage.pool import Database

_REPEATABLE: Final = (RunState.FAILED, RunState.PARTIAL)


class RunRepeat:
    """Makes failed runs due again; each change and its audit event are one transaction."""

    def __init__(self, database: Database, clock: Clock, networks: LifecycleNetworks) -> None:
        self._database, self._clock, self._networks = database, clock, networks

    async def repeat(
        self, caller: Caller, request_id: str, proposal_id: str, run_index: int
    ) -> Run:
        """Make the failed legs of a run due now, and those that were skipped after them.

        A leg that succeeded is not repeated, and the run uses one credit in all: one that has used
        it needs no paid run left. The indexes of a
        mandate only rise: of a leg before the last one that was made nothing can be made any more.

        Raises:
            NotFound: the caller has no such run.
            AutomationRefused: `illegal_transition` or `run_index_passed`.
            NetworkUnavailable: no node answers.
            AutomationUnavailable: no funded paymaster is there.
        """
        check_id(proposal_id)
        async with self._database.connection() as db:
            plan = (await read_owned(db, caller.owner, proposal_id)).plan
            if not await run_store.list_legs(db, proposal_id, run_index):
                raise NotFound
        usable_network(self._networks, plan.terms.network)
        now = self._clock.now()
        async with self._database.transaction() as db:
            plan = await lock_owned(db, caller.owner, proposal_id)
            is_busy = await run_store.lock_due_run(db, proposal_id)
            legs = await run_store.list_legs(db, proposal_id, run_index)
            state = _check(plan, legs, now)
            failed = [leg for leg in legs if leg.state is not RunState.SUCCEEDED]
            if plan.terms.mode is AuthorityMode.MANDATE:
                failed = _after(failed, await run_store.find_last_used(db, proposal_id))
            if is_busy or await run_store.is_between_legs(db, proposal_id):
                raise _refused("A run of the plan is in progress: ask again when it has ended.")
            await run_history_store.repeat_legs(
                db,
                proposal_id,
                [leg.id for leg in failed],
                at=now,
                is_charged=state is RunState.PARTIAL,
            )
            await add_event(db, proposal_id, "run.repeated", {"runIndex": run_index})
            event = AuditEvent(caller, Action.PLAN_RUN_REPEATED, proposal_id, request_id)
            await insert_event(db, event)
            return (await run_store.list_legs(db, proposal_id, run_index))[failed[0].leg_index]


def _check(plan: StoredPlan, legs: Sequence[Run], now: datetime) -> RunState:
    """The state of a run that may be repeated."""
    state = run_state_of([leg.state for leg in legs], plan.terms.on_leg_error)
    if state not in _REPEATABLE:
        raise _refused(f"A run that is {state} is not repeated.")
    if not plan.may_make(is_charged=state is RunState.PARTIAL):
        raise _refused(
            "Only runs of an active plan that are paid, or for which one is left, are repeated."
        )
    if any(leg.deadline_at <= now for leg in legs):
        raise _refused("The time in which the run may land has passed.")
    if any(leg.attempts >= held_legs.MOST_ATTEMPTS for leg in legs):
        raise _refused("The run was tried too often.")
    for leg in legs:
        if leg.state is RunState.FAILED:
            move_run(leg.state, RunTrigger.REPEAT)
    return state


def _after(failed: Sequence[Run], used: tuple[int, int] | None) -> list[Run]:
    """The failed legs behind the last place that was used.

    Raises:
        AutomationRefused: `run_index_passed`: there is none.
    """
    behind = [leg for leg in failed if used is None or (leg.run_index, leg.leg_index) > used]
    if not behind:
        code = ErrorCode.RUN_INDEX_PASSED
        raise AutomationRefused(code, code.sentence)
    return behind


def _refused(why: str) -> AutomationRefused:
    return AutomationRefused(ErrorCode.ILLEGAL_TRANSITION, why)
