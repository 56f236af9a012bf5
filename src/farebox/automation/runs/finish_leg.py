"""What a leg's end means for its run and its plan: the next leg, the credit, the breaker."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from farebox.automation.plans.stored_plan import PlanCounters, PlanTerms, StoredPlan
from farebox.automation.plans.wire import OnLegError
from farebox.automation.runs import run_store
from farebox.automation.runs.legs import next_leg, run_state_of, uses_credit
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_state import RunEffect, RunState
from farebox.storage.pool import Connection

MOST_FAILURES: Final = 3  # in a row: then the plan is paused
_LEG_BEFORE: Final = "leg_before_failed"


async def finish_leg(
    db: Connection,
    plan: StoredPlan,
    before: Run,
    after: Run,
    effects: Sequence[RunEffect],
    *,
    now: datetime,
) -> PlanCounters:
    """The plan's counters after a leg of it has ended; `after` is saved and `plan` is locked.

    The next leg becomes due, or the run is over: then the legs that are left are skipped. A run
    with an abandoned leg has used its credit if another one has succeeded.
    """
    counters = plan.counters
    if RunEffect.COUNT_AUTHORIZATION in effects:
        counters = replace(counters, auths_used=counters.auths_used + 1)
    legs = await _read_legs(db, plan.terms, after)
    states = [leg.state for leg in legs]
    rule = plan.terms.on_leg_error
    following = next_leg(states, rule)
    if following is not None:
        await run_store.make_due(db, legs[following].id, now)
        return counters
    await run_store.skip_legs(db, after.proposal_id, after.run_index, reason=_LEG_BEFORE)
    then, now_is = _state_before(legs, before, rule), run_state_of(states, rule)
    is_cut_off = now_is is RunState.ABANDONED and then is not RunState.PARTIAL
    is_cut_off = is_cut_off and any(leg.has_happened for leg in legs)
    counted = counters.use_run() if is_cut_off else _count_run(counters, then, now_is)
    if counted.runs_consumed > counters.runs_consumed and plan.terms.legs > 1:
        fee, place = counters.credit.run_fee, (after.proposal_id, after.run_index)
        await run_store.write_charged_fee(db, *place, fee, is_charged=is_cut_off)
    return counted


def _state_before(legs: Sequence[Run], before: Run, rule: OnLegError) -> RunState:
    """The run's state before this leg ended; a repeated run that used its credit was partial."""
    if any(leg.is_charged for leg in legs):
        return RunState.PARTIAL
    states = [before.state if leg.leg_index == before.leg_index else leg.state for leg in legs]
    return run_state_of(states, rule)


async def _read_legs(db: Connection, terms: PlanTerms, run: Run) -> Sequence[Run]:
    if terms.legs == 1:
        return [run]
    return await run_store.list_legs(db, terms.id, run.run_index)


def _count_run(counters: PlanCounters, before: RunState, after: RunState) -> PlanCounters:
    """The counters after a run is over: its credit, and the failures in a row."""
    if uses_credit(before, after):
        counters = counters.use_run()
    if after is RunState.SUCCEEDED:
        succeeded = counters.runs_succeeded + 1
        return replace(counters, runs_succeeded=succeeded, failures_in_row=0, ceilings_hit=0)
    if after is RunState.PARTIAL:
        return replace(counters, failures_in_row=0, ceilings_hit=0)
    if after is RunState.FAILED:
        return replace(counters, failures_in_row=counters.failures_in_row + 1)
    return counters
