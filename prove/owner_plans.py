"""Plans of every kind, mode, start and end: what was paid or installed runs, or was not sold."""

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import PlanKind
from farebox.automation.runs.run_state import FINAL_RUN_STATES, RunState
from farebox.automation.schedules.missed_runs import MissedRuns
from prove.automation_world import AutomationWorld
from prove.owner_desk import OwnerDesk, PlanOwner, moment
from prove.owner_stage import OwnerStage, StageSettings, open_owner_stage
from prove.owner_verdict import OwnerFinding, OwnerViolation, judge_accounts, read_accounts
from testing.automation_cases import APPLIES, OPEN, SESSION, Case, Timing, plan_body
from testing.automation_owners import Json


class PlanStart(StrEnum):
    """When a plan starts."""

    NOW = "now"
    FUTURE = "in ten minutes"
    FAR = "in eight days"  # later than the time in which a plan is activated


class PlanEnd(StrEnum):
    """When a plan ends."""

    SOON = "soon"
    LATER = "two days later"
    NONE = "by default"


_STARTS: Final = {
    PlanStart.NOW: timedelta(),
    PlanStart.FUTURE: timedelta(minutes=10),
    PlanStart.FAR: timedelta(days=8),
}
_SOON_S: Final = (20, 45, 70, 130, 170, 300)  # after the start, or after a sale that is made now
_LATER: Final = timedelta(days=2)
_SALE: Final = timedelta(seconds=130)  # a run of what is sold is due two minutes later
_PROMISED_S: Final = 110.0  # in which an owner activates what was sold
_RUNS: Final = 3
_AT_ONCE: Final = 4
_RUN_WITHIN_S: Final = 60.0
_STUCK_S: Final = 6.0
_LOOK_S: Final = 0.2
_SPARE_S: Final = 1.0  # after a due time
_BUDGET_OWNER, _BUDGET_TOTAL = 400_000_000, 2_000_000_000
_WAITING: Final = (RunState.SCHEDULED, RunState.DEFERRED, RunState.RETRY_WAIT)
EVERY: Final = tuple((kind, mode) for mode, kinds in APPLIES.items() for kind in kinds)


@dataclass(frozen=True, slots=True)
class Wish:
    """A plan that an owner wants."""

    kind: PlanKind
    mode: AuthorityMode
    start: PlanStart
    end: PlanEnd
    schedule: str
    missed: MissedRuns | None
    soon_s: int

    def __str__(self) -> str:
        end = f"{self.soon_s} s after the start" if self.end is PlanEnd.SOON else self.end.value
        what = f"{self.kind} {self.mode}, starts {self.start}, ends {end}"
        return f"{what}, {self.schedule}, {self.missed or 'the default policy'}"

    @property
    def case(self) -> Case:
        """The case of the end-to-end run whose payload it has."""
        return Case(self.kind, self.mode, "d" if self.mode is SESSION else "")

    @property
    def is_possible(self) -> bool:
        """Whether there is certainly time to sell it and to run it."""
        return self.end is not PlanEnd.SOON


@dataclass(frozen=True, slots=True)
class LifeCase:
    """Some kinds and modes with one start and one end."""

    seed: int
    number: int
    start: PlanStart
    end: PlanEnd
    pairs: tuple[tuple[PlanKind, AuthorityMode], ...]

    def __str__(self) -> str:
        return f"SEED={self.seed} CASE={self.number}: plans that start {self.start}, end {self.end}"

    def wishes(self) -> list[Wish]:
        """The plans, with what is drawn for each."""
        rng = random.Random(f"plans {self.seed} {self.number}")
        return [self._draw(rng, kind, mode) for kind, mode in self.pairs]

    def _draw(self, rng: random.Random, kind: PlanKind, mode: AuthorityMode) -> Wish:
        schedules = ["interval", "cron", "once"]
        if mode is OPEN:
            schedules.append("condition")
        missed = rng.choice((None, None, *MissedRuns))
        schedule = rng.choice(schedules)
        return Wish(kind, mode, self.start, self.end, schedule, missed, rng.choice(_SOON_S))


NUMBERS: Final = 700_000  # above those of the other cases of the proof
_HALVES: Final = 2  # seeds that together play every kind and mode of a start and an end


def draw_plans(seed: int) -> list[LifeCase]:
    """The case of a seed: eighteen seeds play every kind, mode, start and end."""
    combinations = [(start, end) for start in PlanStart for end in PlanEnd]
    start, end = combinations[(seed - 1) % len(combinations)]
    half = (seed - 1) // len(combinations) % _HALVES
    pairs = tuple(each for number, each in enumerate(EVERY) if number % _HALVES == half)
    return [LifeCase(seed, NUMBERS, start, end, pairs)]


@dataclass(slots=True)
class WishedPlan:
    """What became of a wish; `told` are the service's answers in their order."""

    wish: Wish
    id: str = ""
    is_paid: bool = False
    is_active: bool = False
    paid_at: float = 0.0
    has_run: bool = False
    state: str = ""
    runs: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    is_in_time: bool = True  # its owner has activated it while it was promised

    def __str__(self) -> str:
        return f"{self.wish} -> {', '.join([*self.told, self.state, *self.runs])}"


async def play_plans(
    world: AutomationWorld, case: LifeCase
) -> tuple[list[OwnerFinding], list[str], bool]:
    """Play a case: what is wrong, what became of each plan, and whether the pace was steady."""
    settings = StageSettings(1, budget_owner=_BUDGET_OWNER, budget_total=_BUDGET_TOTAL)
    async with open_owner_stage(world, settings) as stage:
        desk, turns = OwnerDesk(stage), asyncio.Semaphore(_AT_ONCE)
        smart = await desk.smart()
        wishes = case.wishes()
        owners = [smart if each.mode is SESSION else await desk.classic() for each in wishes]
        plans = [WishedPlan(each) for each in wishes]

        async def open_one(plan: WishedPlan, owner: PlanOwner) -> None:
            async with turns:
                await _open(stage, desk, plan, owner)

        await asyncio.gather(*(map(open_one, plans, owners)))
        await _let_run(stage, plans)
        await stage.end()
        accounts = await read_accounts(stage)
        findings = [*_judge(plans), *judge_accounts(accounts)]
        return findings, [*map(str, plans), str(accounts)], stage.is_steady


async def _open(stage: OwnerStage, desk: OwnerDesk, plan: WishedPlan, owner: PlanOwner) -> None:
    """Propose, pay, sign, install and activate; stop at a refusal."""
    wish = plan.wish
    proposed = await owner.propose(_body(stage, wish, desk.take_keeper(), owner.account))
    plan.told.append(f"proposed {proposed}")
    if not proposed.is_ok:
        return
    plan.id = proposed.body["proposal"]["id"]
    runs = proposed.body["proposal"]["runLimit"]
    paid = await owner.buy(plan.id, runs)
    plan.is_paid, plan.paid_at = paid.is_ok, time.monotonic()
    plan.told.append(f"paid {paid}")
    if not plan.is_paid:
        return
    activated = await owner.activate(plan.id, wish.mode)
    plan.is_active = activated.is_ok
    plan.is_in_time = time.monotonic() - plan.paid_at < _PROMISED_S
    plan.told.append(f"activated {activated}")


def _body(stage: OwnerStage, wish: Wish, keeper: str, account: str) -> Json:
    now = stage.now()
    start = now + _STARTS[wish.start]
    first = max(start, now + _SALE)  # what is due sooner is not sold
    place = stage.scenery.place(stage.scene, keeper)
    runs = 1 if wish.schedule == "once" else _RUNS
    body = plan_body(wish.case, place, account, Timing(start=start, runs=runs), str(wish.mode))
    schedules: dict[str, Json] = {
        "interval": {"type": "interval", "everySeconds": 60, "startAt": moment(start)},
        "cron": {"type": "cron", "expr": "*/2 * * * *", "timezone": "Europe/Paris"},
        "once": {"type": "once", "at": moment(first + timedelta(seconds=wish.soon_s % 20))},
        "condition": {"type": "condition", "everySeconds": 30},
    }
    body["schedule"] = schedules[wish.schedule]
    ends = {PlanEnd.SOON: first + timedelta(seconds=wish.soon_s), PlanEnd.LATER: first + _LATER}
    changed: dict[str, Any] = {
        "startsAt": None if wish.start is PlanStart.NOW else moment(start),
        "expiresAt": moment(ends[wish.end]) if wish.end in ends else None,
        "missedRuns": None if wish.missed is None else wish.missed.value,
    }
    for name, value in changed.items():
        body.pop(name, None)
        if value is not None:
            body[name] = value
    return body


async def _let_run(stage: OwnerStage, plans: Sequence[WishedPlan]) -> None:
    """Let time pass from one due time to the next until every active plan has run or ended."""
    until, still_since = time.monotonic() + _RUN_WITHIN_S, time.monotonic()
    while time.monotonic() < until:
        waiting = [each for each in plans if each.is_active and not each.has_run]
        due = await _read_runs(stage, waiting)
        waiting = [each for each in waiting if not each.has_run and each.state == "active"]
        if not waiting:
            return
        left = [each for each in due if each is not None]
        if len(left) == len(due) and left and min(left) > stage.now():
            await stage.leap_until(min(left) + timedelta(seconds=_SPARE_S))
            still_since = time.monotonic()
        elif not due and time.monotonic() - still_since > _STUCK_S:
            return  # nothing is due any more
        await asyncio.sleep(_LOOK_S)


async def _read_runs(stage: OwnerStage, plans: Sequence[WishedPlan]) -> list[datetime | None]:
    """Read states and runs of plans; when each run is due that waits, None where one is made."""
    ids = [each.id for each in plans]
    rows = await stage.environment.query(
        "SELECT id, status, status_reason FROM automation_proposals WHERE id = ANY ($1)", ids
    )
    states = {row["id"]: (row["status"], row["status_reason"]) for row in rows}
    runs = await stage.environment.query(
        """
        SELECT proposal_id, state, due_at, error_code, state_reason FROM automation_runs
        WHERE proposal_id = ANY ($1) ORDER BY run_index, leg_index
        """,
        ids,
    )
    due: list[datetime | None] = []
    for plan in plans:
        plan.state, reason = states[plan.id]
        own = [run for run in runs if run["proposal_id"] == plan.id]
        plan.runs = [
            f"{run['state']} {run['error_code'] or run['state_reason'] or ''}".strip()
            for run in own
        ]
        if reason:
            plan.runs.append(f"because {reason}")
        plan.has_run = any(run["state"] == RunState.SUCCEEDED for run in own)
        if not plan.has_run:
            due += _due_of(own)
    return due


def _due_of(runs: Sequence[Any]) -> Iterator[datetime | None]:
    for run in runs:
        if run["state"] in _WAITING and run["due_at"] is not None:
            yield run["due_at"]
        elif run["state"] not in FINAL_RUN_STATES and run["state"] not in _WAITING:
            yield None


def _judge(plans: Sequence[WishedPlan]) -> Iterator[OwnerFinding]:
    for each in plans:
        if each.is_paid and not each.has_run and each.is_in_time:
            yield OwnerFinding(OwnerViolation.NEVER_RUN, f"it is paid and never runs: {each}")
        if not each.is_paid and each.wish.is_possible:
            yield OwnerFinding(OwnerViolation.LATE, f"it is not for sale: {each}")
