"""The owners' cases: plans of every start and end, and hostile owners in pairs."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from typing import Any, Final

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.runs.run_state import RunState
from prove.automation_world import AutomationWorld
from prove.outcome import Outcome, findings_of
from prove.owner_changes import ChangeWhileClaimed
from prove.owner_desk import OwnerDesk, PlanOwner, keeper_body
from prove.owner_hostile import (
    Act,
    Deeds,
    FailOnLedger,
    GrowLater,
    HostileAct,
    InstallInVain,
    SpendCredit,
)
from prove.owner_plans import LifeCase, draw_plans, play_plans
from prove.owner_stage import OwnerStage, StageSettings, open_owner_stage
from prove.owner_verdict import (
    OwnerFinding,
    OwnerViolation,
    judge_accounts,
    judge_runs,
    read_accounts,
)
from prove.run_cases import ends_within
from testing.machine import RunFailed

NUMBERS: Final = 800_000  # above those of the other cases of the proof
DUE_TIMES: Final = 6  # of a hostile case
_EVERY_S: Final = 60
_SPARE_S: Final = 0.5
_FAR: Final = timedelta(hours=2)
_QUIET_S: Final = 20.0
_SETTLED_RUNS: Final = 10  # of the honest owner before: new owners share one limit of losses
_LONGEST_S: Final = 300.0
_PLAYS: Final = 2
_NEW_OWNERS: Final = 4
_UNSTEADY: Final = 3  # times as often
_PAIRS: Final = tuple(combinations(HostileAct, 2))
# budgets of an owner and of all, in stroops: an owner may lose a tenth, all new ones a twentieth
_INSTALLING: Final = (100_000_000, 200_000_000)  # an installation costs some 9,000,000
_FAILING: Final = (2_000_000, 16_000_000)  # so that failed runs reach the limits of losses
_USUAL: Final = (60_000_000, 200_000_000)


@dataclass(frozen=True, slots=True)
class HostileOwners:
    """What hostile owners do at once, beside an honest one."""

    seed: int
    number: int
    acts: tuple[HostileAct, ...]
    replicas: int = 1
    due_times: int = DUE_TIMES

    def __str__(self) -> str:
        acts = "; ".join(self.acts)
        return f"SEED={self.seed} CASE={self.number}: {acts}; {self.replicas} replicas"

    @property
    def settings(self) -> StageSettings:
        """The replicas, and budgets that the acts can reach."""
        owner, total = _USUAL
        if {HostileAct.FAILING, HostileAct.NEW_OWNERS}.intersection(self.acts):
            owner, total = _FAILING
        if HostileAct.SETUPS in self.acts:
            owner, total = _INSTALLING
        return StageSettings(self.replicas, owner, total)


OwnerCase = LifeCase | HostileOwners


@dataclass(frozen=True, kw_only=True)
class OwnerOutcome(Outcome[OwnerCase, OwnerViolation]):
    """The outcome; `answers` are what became of each plan, or what the service answered."""

    def __str__(self) -> str:
        return f"{self.case} -> {self.why} ({self.took_s:.0f} s)"


def draw_owner_cases(seed: int) -> list[OwnerCase]:
    """The cases of a seed; twenty-one seeds play every pair of acts, by one or by two replicas."""
    pair = _PAIRS[(seed * 4) % len(_PAIRS)]
    return [HostileOwners(seed, NUMBERS, pair, replicas=1 + seed % 2), *draw_plans(seed)]


async def run_owner_case(
    world: AutomationWorld, case: OwnerCase, *, plays: int = _PLAYS
) -> OwnerOutcome:
    """Run a case; what only a busy machine may have caused is played once more.

    Where ledgers closed at an unsteady pace, which no plan was sold for, it is played more often.

    Raises:
        RunFailed: it did not end, or a replica has.
    """
    loop = asyncio.get_running_loop()
    began, played, kept = loop.time(), 0, list[OwnerFinding]()
    while True:
        played += 1
        async with ends_within(case, _LONGEST_S):
            findings, told, is_steady = await _play(world, case)
        unpaid = [each for each in findings if each.violation is OwnerViolation.UNPAID]
        if len(unpaid) == len(findings) or played >= (plays if is_steady else plays * _UNSTEADY):
            return OwnerOutcome(
                case=case,
                findings=[*kept, *findings],
                answers=told,
                took_s=loop.time() - began,
                plays=played,
            )
        kept += unpaid  # no machine is so busy that it pays for fees


async def _play(
    world: AutomationWorld, case: OwnerCase
) -> tuple[list[OwnerFinding], list[str], bool]:
    if isinstance(case, LifeCase):
        return await play_plans(world, case)
    return await play_hostile(world, case)


@dataclass(slots=True)
class HonestOwner:
    """An owner with a history, whose plan is due each minute."""

    stage: OwnerStage
    owner: PlanOwner
    due_times: int
    plan: str = ""

    async def begin(self, keeper: str, other: str) -> None:
        """Have a history of runs, and open a plan."""
        now = self.stage.now()
        earlier = keeper_body("earlier", other, start=now, end=now + _FAR, runs=_SETTLED_RUNS)
        known = await self.owner.propose(earlier)
        plan = str(known.body["proposal"]["id"])
        await self.owner.change(plan, "cancel")
        await self.stage.environment.query(
            "UPDATE automation_proposals SET runs_credited = $2, runs_consumed = $2,"
            " runs_succeeded = $2 WHERE id = $1",
            plan,
            _SETTLED_RUNS,
        )
        start, runs = self.stage.minute(), self.due_times + 4
        body = keeper_body("honest", keeper, start=start, end=start + _FAR, runs=runs)
        proposed = await self.owner.propose(body)
        self.plan = str(proposed.body["proposal"]["id"])
        for answer in (
            await self.owner.buy(self.plan, runs),
            await self.owner.activate(self.plan, AuthorityMode.OPEN),
        ):
            if not answer.is_ok:
                raise RunFailed(f"the honest plan is refused: {answer}")

    async def next_due(self) -> Any:
        """When its next run is due."""
        (row,) = await self.stage.environment.query(
            "SELECT min(scheduled_for) AS at FROM automation_runs"
            " WHERE proposal_id = $1 AND state = 'scheduled'",
            self.plan,
        )
        return row["at"]

    async def judge(self) -> list[OwnerFinding]:
        """Every run of its plan that did not land in its time."""
        runs = await self.stage.environment.query(
            "SELECT run_index, state, error_code, state_reason, scheduled_for, deadline_at"
            " FROM automation_runs WHERE proposal_id = $1 ORDER BY run_index",
            self.plan,
        )
        late = [
            dict(run)
            for run in runs
            if run["state"] not in (RunState.SUCCEEDED, RunState.SCHEDULED)
            or (run["state"] == RunState.SCHEDULED and run["deadline_at"] < self.stage.now())
        ]
        made = sum(run["state"] == RunState.SUCCEEDED for run in runs)
        status, reason = await self.owner.status(self.plan)
        found = findings_of(
            {OwnerViolation.LATE: [f"the honest run {run['run_index']} is {run}" for run in late]}
        )
        if made < self.due_times:
            why = f"{made} honest runs of {self.due_times} were made; it is {status} ({reason})"
            found.append(OwnerFinding(OwnerViolation.LATE, why, self.due_times - made))
        return found


async def play_hostile(
    world: AutomationWorld, case: HostileOwners
) -> tuple[list[OwnerFinding], list[str], bool]:
    """Play a case: what is wrong, what was answered, and whether the pace was steady."""
    async with open_owner_stage(world, case.settings) as stage:
        stage.rng.seed(f"hostile {case.seed} {case.number}")
        desk = OwnerDesk(stage)
        honest = HonestOwner(stage, await desk.classic(), case.due_times)
        deeds = [Deeds(stage, desk, act.name) for act in case.acts]
        acts = [make_act(act, own) for act, own in zip(case.acts, deeds, strict=True)]
        await asyncio.gather(
            honest.begin(desk.take_keeper(), desk.take_keeper()), *(act.begin() for act in acts)
        )
        for number in range(case.due_times):
            await _let_due_time_come(stage, honest, acts, number)
        await stage.end()
        accounts = await read_accounts(stage)
        told = [f"{own.label}: {', '.join(own.told)}" for own in deeds]
        findings = [*judge_accounts(accounts), *await judge_runs(stage), *await honest.judge()]
        return findings, [*told, str(accounts)], stage.is_steady


def make_act(act: HostileAct, deeds: Deeds) -> Act:
    """The owners who do it."""
    match act:
        case HostileAct.CREDIT:
            return SpendCredit(deeds)
        case HostileAct.SETUPS:
            return InstallInVain(deeds)
        case HostileAct.GROWING:
            return GrowLater(deeds)
        case HostileAct.TOP_UPS:
            return GrowLater(deeds, tops_up=True)
        case HostileAct.FAILING:
            return FailOnLedger(deeds, owners=1)
        case HostileAct.NEW_OWNERS:
            return FailOnLedger(deeds, owners=_NEW_OWNERS)
        case HostileAct.CHANGES:
            return ChangeWhileClaimed(deeds)


async def _let_due_time_come(
    stage: OwnerStage, honest: HonestOwner, acts: Sequence[Act], number: int
) -> None:
    await asyncio.gather(*(act.prepare(number) for act in acts))
    at = await honest.next_due()
    if at is not None:
        await stage.leap_until(at + timedelta(seconds=_SPARE_S))
    await stage.wait_until_quiet(within_s=_QUIET_S)
    await asyncio.gather(*(act.follow(number) for act in acts))
