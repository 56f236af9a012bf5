"""The next runs of a plan as rows: two at a time, one of them due."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from farebox.automation.plans import proposal_store
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.runs import run_store
from farebox.automation.runs.run import Run
from farebox.automation.schedules.due_times import due_times
from farebox.automation.schedules.missed_runs import RunSlot, earliest_start, next_slots
from farebox.automation.schedules.schedule import ConditionSchedule
from farebox.storage.pool import Connection

_AHEAD: Final = 2
_POLLED_AHEAD: Final = 1  # the polls of a condition are one row
_JUST_BEFORE: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class NextRun:
    """What a plan executes next: its run index and leg index, and when it is due."""

    place: tuple[int, int]
    scheduled_for: datetime


async def materialise(db: Connection, plan: StoredPlan, now: datetime) -> bool:
    """Insert the next runs of a locked plan and let the first be claimed; False when none is left.

    No more are inserted than are paid for.
    """
    terms = plan.terms
    waiting = list(await run_store.list_open(db, terms.id))
    indices = {run.run_index for run in waiting}
    ahead = _POLLED_AHEAD if isinstance(terms.schedule, ConditionSchedule) else _AHEAD
    room = min(ahead, plan.counters.runs_left) - len(indices)
    if room > 0:
        await run_store.add_runs(db, terms, await next_runs(db, terms, now, count=room))
        waiting = list(await run_store.list_open(db, terms.id))
    if not waiting:
        return False
    if all(run.due_at is None for run in waiting):
        await _make_due(db, plan, waiting[0])
    return True


async def next_runs(
    db: Connection, terms: PlanTerms, now: datetime, *, count: int
) -> list[tuple[int, RunSlot]]:
    """Index and slot of the next runs of a plan that have no row yet; fewer where it ends."""
    newest = await run_store.find_newest(db, terms.id)
    index, after = (-1, None) if newest is None else newest
    slots = next_slots(terms.schedule, terms.window, terms.rule, after=after, now=now, count=count)
    return await _number_slots(db, terms, slots, newest=index)


async def find_next(db: Connection, terms: PlanTerms, now: datetime) -> NextRun | None:
    """What a plan executes next, whether it has a row or not; None where no run is due."""
    waiting = await run_store.list_open(db, terms.id)
    if waiting:
        return NextRun((waiting[0].run_index, waiting[0].leg_index), waiting[0].scheduled_for)
    for run_index, slot in await next_runs(db, terms, now, count=1):
        return NextRun((run_index, 0), slot.scheduled_for)
    return None


async def count_free(db: Connection, plan: StoredPlan, now: datetime, *, most: int) -> int:
    """How many more runs of a plan have a due time, besides those that are paid; `most` at most."""
    unplaced = plan.counters.runs_left - await run_store.count_open(db, plan.terms.id)
    unplaced = max(0, unplaced)
    found = await next_runs(db, plan.terms, now, count=unplaced + most)
    return max(0, len(found) - unplaced)


async def _number_slots(
    db: Connection, terms: PlanTerms, slots: Sequence[RunSlot], *, newest: int
) -> list[tuple[int, RunSlot]]:
    """The run index of each of the next slots, after the plan's newest run.

    What was signed ahead is signed for one due time: a due time that was skipped keeps its number,
    and there is no run without an entry of its own.
    """
    begun_at = None
    if terms.mode is AuthorityMode.PRESIGNED:
        begun_at = await proposal_store.find_activation(db, terms.id)
    first = None if begun_at is None else terms.next_slot(begun_at)
    if first is None:
        numbered = enumerate(slots, start=newest + 1)
        is_signed = terms.mode is AuthorityMode.PRESIGNED
        return [each for each in numbered if not is_signed or each[0] < terms.run_limit]
    due = due_times(terms.schedule, terms.window, after=first.scheduled_for - _JUST_BEFORE)
    numbers = {each.at: number for number, each in enumerate(islice(due, terms.run_limit))}
    return [(numbers[each.scheduled_for], each) for each in slots if each.scheduled_for in numbers]


async def _make_due(db: Connection, plan: StoredPlan, run: Run) -> None:
    """Let a run be claimed as soon as its slot begins and the session's interval has passed."""
    landed_at = await run_store.find_last_landing(db, plan.terms.id) if not run.leg_index else None
    slot = RunSlot(run.scheduled_for, run.deadline_at)
    at = earliest_start(
        slot, last_landed_at=landed_at, session_interval_s=plan.terms.session_interval_s
    )
    await run_store.make_due(db, run.id, at)


def next_poll(plan: StoredPlan, run: Run, now: datetime) -> Run | None:
    """The run of a condition at its next poll after `now`; None where the plan's window ends."""
    terms = plan.terms
    slots = next_slots(terms.schedule, terms.window, terms.rule, after=now, now=now, count=1)
    if not slots:
        return None
    (slot,) = slots
    return replace(
        run,
        scheduled_for=slot.scheduled_for,
        deadline_at=slot.deadline_at,
        due_at=slot.scheduled_for,
        checked_ledger=None,
    )
