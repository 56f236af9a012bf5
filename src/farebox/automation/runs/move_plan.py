"""Move a plan by a trigger, with every effect that the same transaction has on its rows.

The plan's row is locked by the caller (`proposal_store.lock_plan`). Schedulers claim without that
lock: where the facts name a run in progress, its row is locked too (`run_store.lock_due_run`).
Payments are not recorded here: who moves a plan by one does that in the same transaction.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from farebox.automation.paymaster import channel_store, sponsored_store
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import (
    TERMINAL_STATES,
    PauseReason,
    ProposalEffect,
    ProposalFacts,
    ProposalState,
    ProposalTrigger,
)
from farebox.automation.plans.proposal_transitions import may_move, move_proposal
from farebox.automation.plans.quote import Quote
from farebox.automation.plans.stored_plan import PlanCounters, StoredPlan
from farebox.automation.runs import held_legs, run_store
from farebox.automation.runs.credit_store import return_credit
from farebox.automation.runs.event_store import add_event
from farebox.automation.runs.materialise import find_next, materialise
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.storage.pool import Connection

ACTIVATION_DEADLINE: Final = timedelta(days=7)
UNPAID_LIFE: Final = timedelta(hours=24)


async def move_plan(
    db: Connection,
    plan: StoredPlan,
    trigger: ProposalTrigger,
    facts: ProposalFacts,
    *,
    now: datetime,
    reason: str | None = None,
    credited: int = 0,
    paid: Quote | None = None,
    fee_now: Stroops | None = None,
) -> StoredPlan:
    """Move a locked plan by a trigger, and return it as it is afterwards.

    `credited` is the number of runs that a payment brings, and `paid` its quote, where they are not
    free: the effect CREDIT_RUNS adds the runs and the money. `fee_now` is what a transaction costs
    now, where the plan pauses for a new quote.

    Raises:
        AutomationRefused: the state does not take the trigger, or a condition does not hold.
    """
    transition = move_proposal(plan.state, trigger, facts)
    effects = transition.effects
    stays = transition.to is plan.state  # a payment ends neither a pause nor a cancellation
    moved = replace(
        plan,
        state=transition.to,
        reason=plan.reason if stays and reason is None else reason,
        is_cancelling=ProposalEffect.MARK_CANCELLING in effects or (stays and plan.is_cancelling),
        counters=_count(plan, effects, credited, paid),
    )
    if transition.to in TERMINAL_STATES:
        moved = replace(moved, is_cancelling=False)
    moved = await _end_runs(db, moved, trigger, effects, now=now, reason=reason)
    if trigger is ProposalTrigger.PAUSE and reason == PauseReason.NEW_QUOTE:
        moved = await _await_quote(db, moved, fee_now)
    await _write(db, moved, now)
    if trigger is ProposalTrigger.ACTIVATE:
        await proposal_store.record_activation(db, plan.terms.id, at=now)
    is_topped_up = ProposalEffect.CREDIT_RUNS in effects and moved.state is ProposalState.ACTIVE
    if ProposalEffect.MATERIALISE_RUNS in effects or (is_topped_up and not moved.is_cancelling):
        await _materialise(db, moved, trigger, now)
    if ProposalEffect.SHRED_KEY in effects:
        await proposal_store.shred_key(db, plan.terms.id)
        moved = replace(moved, delegate_key=None)
    told = {"from": plan.state, "to": moved.state, "reason": reason}
    await add_event(db, plan.terms.id, f"plan.{trigger}", told)
    return moved


async def _end_runs(
    db: Connection,
    plan: StoredPlan,
    trigger: ProposalTrigger,
    effects: Collection[ProposalEffect],
    *,
    now: datetime,
    reason: str | None,
) -> StoredPlan:
    """End the runs that the move ends, and return what the plan holds for unused ones."""
    if ProposalEffect.STOP_RUNS in effects:
        is_pause = trigger is ProposalTrigger.PAUSE
        if is_pause:
            await run_store.lock_due_run(db, plan.terms.id)
            await run_store.forget_future(db, plan.terms.id, now=now)
        plan = await _stop_runs(db, plan, reason or trigger.value, is_pause=is_pause)
    if ProposalEffect.RETURN_RUNS in effects:
        return await _return_runs(db, plan)
    return plan


async def _await_quote(db: Connection, plan: StoredPlan, fee_now: Stroops | None) -> StoredPlan:
    """Take the unused runs from a plan whose runs have ended; the next ones are sold at this fee.

    A run that has just used its credit was charged with the fee before. The due times of those of
    which nothing was sent are for sale again.
    """
    await run_store.forget_unsent(db, plan.terms.id)
    plan = await _return_runs(db, plan, with_setup=False)
    if fee_now is None:
        return plan
    credit = replace(plan.counters.credit, run_fee=fee_now)
    return replace(plan, counters=replace(plan.counters, credit=credit))


async def _write(db: Connection, plan: StoredPlan, now: datetime) -> None:
    await proposal_store.write_counters(db, plan.terms.id, plan.counters)
    await proposal_store.write_state(
        db,
        plan.terms.id,
        plan.state,
        reason=plan.reason,
        overdue_at=_overdue_at(plan, now),
        is_cancelling=plan.is_cancelling,
    )


async def _materialise(
    db: Connection, plan: StoredPlan, trigger: ProposalTrigger, now: datetime
) -> None:
    """Insert the next runs; where none is due, a pass of `PlanUpkeep` looks what else is left."""
    if trigger is ProposalTrigger.RESUME:
        await held_legs.release_held(db, plan.terms.id)
    if not await materialise(db, plan, now):
        await proposal_store.write_overdue(db, plan.terms.id, now)


async def settle_plan(db: Connection, plan: StoredPlan, now: datetime) -> StoredPlan:
    """What follows for a locked plan whose run has ended: cancelled, completed, or the next run.

    While the legs of a run may be repeated the plan stays: it is overdue at their deadline.
    """
    is_busy = await run_store.lock_due_run(db, plan.terms.id)
    facts = ProposalFacts(
        is_cancelling=plan.is_cancelling,
        has_unresolved_run=is_busy,
        runs_left=plan.counters.runs_left,
    )
    if plan.is_cancelling and not is_busy:
        reason = plan.reason
        return await move_plan(db, plan, ProposalTrigger.CANCEL, facts, now=now, reason=reason)
    if is_busy or plan.state not in (ProposalState.ACTIVE, ProposalState.PAUSED):
        return plan
    is_paused, has_runs = plan.state is ProposalState.PAUSED, plan.counters.runs_left > 0
    if is_paused:
        await run_store.withdraw_waiting(
            db, plan.terms.id, reason=plan.reason or ProposalTrigger.PAUSE.value, keeps_begun=True
        )
        await held_legs.hold_waiting(db, plan.terms.id)
        has_next = has_runs or await find_next(db, plan.terms, now) is not None
    else:
        has_next = await materialise(db, plan, now)
    if has_next and (has_runs or is_paused):
        return plan
    until = await held_legs.find_paid_end(db, plan.terms, now=now, has_runs=has_runs)
    facts = replace(facts, schedule_is_exhausted=not has_next, has_paid_legs=until is not None)
    if may_move(plan.state, ProposalTrigger.COMPLETE, facts):
        return await move_plan(db, plan, ProposalTrigger.COMPLETE, facts, now=now)
    if until is not None:
        until = min(until, plan.terms.window.not_after)
        await proposal_store.write_overdue(db, plan.terms.id, until)
    return plan


async def _stop_runs(
    db: Connection, plan: StoredPlan, reason: str, *, is_pause: bool
) -> StoredPlan:
    """End the waiting runs; a run of which legs have succeeded used its credit.

    While the plan pauses, the other legs of such a run wait for it: they are paid.
    """
    waiting = {run.run_index for run in await run_store.list_open(db, plan.terms.id)}
    await run_store.withdraw_waiting(db, plan.terms.id, reason=reason, keeps_begun=is_pause)
    if is_pause:
        await held_legs.hold_waiting(db, plan.terms.id)
    await channel_store.free_finished(db, plan.terms.id)
    for index in waiting if plan.terms.legs > 1 else ():
        legs = await run_store.list_legs(db, plan.terms.id, index)
        is_over, is_charged = all(leg.is_final for leg in legs), any(leg.is_charged for leg in legs)
        if (is_over or is_pause) and not is_charged and any(leg.has_happened for leg in legs):
            fee, place = plan.counters.credit.run_fee, (plan.terms.id, index)
            await run_store.write_charged_fee(db, *place, fee, is_charged=not is_over)
            plan = replace(plan, counters=plan.counters.use_run())
    return plan


async def _return_runs(db: Connection, plan: StoredPlan, *, with_setup: bool = True) -> StoredPlan:
    """Take every unused run from the plan: what it holds for them becomes credit of the owner.

    So does what it holds for an installation that was not made, and is not under way.
    """
    counters, credit = plan.counters, plan.counters.credit
    amount, left = credit.held, credit.release_runs()
    if with_setup and not await sponsored_store.is_installing(db, plan.terms.id):
        amount, left = BaseUnits(amount + credit.setup_held), left.release_setup()
    if amount and credit.asset is not None:
        await return_credit(db, plan.terms, credit.asset, amount)
    counters = replace(counters, runs_credited=counters.runs_consumed, credit=left)
    return replace(plan, counters=counters)


def _count(
    plan: StoredPlan, effects: tuple[ProposalEffect, ...], credited: int, paid: Quote | None
) -> PlanCounters:
    counters = plan.counters
    if ProposalEffect.CREDIT_RUNS in effects:
        credit = counters.credit
        if paid is not None:
            credit = credit.add(paid, runs_left=counters.runs_left)
        runs = counters.runs_credited + credited
        counters = replace(counters, runs_credited=runs, credit=credit)
    if ProposalEffect.RESET_FAILURES in effects:
        counters = replace(counters, failures_in_row=0, ceilings_hit=0)
    return counters


def _overdue_at(plan: StoredPlan, now: datetime) -> datetime | None:
    """When the state expires by itself; None while a payment is under way, and at the end."""
    match plan.state:
        case ProposalState.PROPOSED:
            return now + UNPAID_LIFE
        case ProposalState.PAID:
            return now + ACTIVATION_DEADLINE
        case ProposalState.ACTIVE | ProposalState.PAUSED:
            return plan.terms.window.not_after
        case _:
            return None
