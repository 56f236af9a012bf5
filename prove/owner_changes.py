"""An owner who cancels and pauses plans while a leg of theirs is being claimed."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from datetime import timedelta
from typing import Final, TypeVar

from farebox.automation.plans.wire import PlanKind
from farebox.automation.runs.run_state import LEASED_STATES, WAITING_STATES, RunState
from prove.owner_desk import PlanOwner
from prove.owner_hostile import Deeds
from prove.owner_stage import OwnerStage
from prove.run_interceptor import run_interceptor_of
from testing.automation_cases import MANDATE, PRESIGNED, Case, Timing, plan_body

T = TypeVar("T")
_FAR: Final = timedelta(hours=2)  # later than every case
_RUNS: Final = 3
_VERBS: Final = ("cancel", "pause")
_BEGUN_WITHIN_S: Final = 15.0
_CLAIM_HELD_S: Final = 3.0  # at most, for a change
_CHANGE_HELD_S: Final = 1.0  # for a claim
_LOOK_S: Final = 0.02


class ClaimBesideChange:
    """Tries to have a leg of a run that has begun claimed in the middle of a change of its plan.

    Claims wait until the change has looked at the plan's runs; the change ends its waiting runs
    after a while in which one of them may be claimed.
    """

    def __init__(self, stage: OwnerStage) -> None:
        self._stage = stage
        self._is_changing = asyncio.Event()
        self.plan = ""  # whose change comes
        self.met = 0  # claims that came between

    def expect(self, plan: str) -> None:
        """Hold the claims of the next legs for a change of this plan."""
        self._is_changing.clear()
        self.plan = plan

    async def claim(self, deliver: Callable[[], Awaitable[T]]) -> T:
        """See `PlanWatch`."""
        if self.plan and await self.has_begun():
            await _wait_for(self._is_changing)
        return await deliver()

    async def change(self, deliver: Callable[[], Awaitable[T]]) -> T:
        """See `PlanWatch`."""
        if self.plan and not self._is_changing.is_set():
            self._is_changing.set()
            self.met += await self._look_until_claimed()
        return await deliver()

    async def has_begun(self) -> bool:
        """Whether a leg of a run has landed, and another one waits."""
        return await self._has_legs(WAITING_STATES)

    async def _look_until_claimed(self) -> bool:
        until = time.monotonic() + _CHANGE_HELD_S
        while time.monotonic() < until:
            if await self._has_legs(LEASED_STATES):
                return True
            await asyncio.sleep(_LOOK_S)
        return False

    async def _has_legs(self, states: Collection[RunState]) -> bool:
        rows = await self._stage.environment.query(
            "SELECT run_index FROM automation_runs WHERE proposal_id = $1 GROUP BY run_index"
            " HAVING bool_or(state = 'succeeded') AND bool_or(state = ANY ($2))",
            self.plan,
            [each.value for each in states],
        )
        return bool(rows)


async def _wait_for(event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(_CLAIM_HELD_S):
            await event.wait()
    except TimeoutError:
        return


class ChangeWhileClaimed:
    """See `HostileAct.CHANGES`."""

    def __init__(self, deeds: Deeds) -> None:
        self._deeds = deeds
        self._watch = ClaimBesideChange(deeds.stage)
        self._changing: asyncio.Task[None] | None = None
        self._owner: PlanOwner | None = None
        self._plan = ""

    async def begin(self) -> None:
        """Open a plan of two legs a run."""
        for replica in self._deeds.stage.replicas:
            run_interceptor_of(replica).plan_watch = self._watch
        self._owner = await self._deeds.desk.classic()
        await self._open(self._owner)

    async def prepare(self, number: int) -> None:
        """Be ready for the moment at which a run has begun."""
        if self._owner is not None and await self._status() == "active":
            self._watch.expect(self._plan)
            verb = _VERBS[number % len(_VERBS)]
            self._changing = asyncio.create_task(self._change(self._owner, verb))

    async def follow(self, number: int) -> None:
        """Let a paused plan go on; open another one for one that has ended."""
        if self._changing is not None:
            await self._changing
            self._changing = None
        if self._owner is None:
            return
        status = await self._status()
        if status == "paused":
            self._deeds.tell(f"resumed {await self._owner.change(self._plan, 'resume')}")
        elif status != "active":
            await self._open(self._owner)

    async def _status(self) -> str:
        if self._owner is None or not self._plan:
            return ""
        status, _ = await self._owner.status(self._plan)
        return status

    async def _open(self, owner: PlanOwner) -> None:
        stage = self._deeds.stage
        place = stage.scenery.place(stage.scene, stage.scenery.keepers[0])
        start = stage.minute()
        timing = Timing(start=start, end=start + _FAR, runs=_RUNS)
        mode = stage.rng.choice((PRESIGNED, MANDATE))
        case = Case(PlanKind.DISBURSEMENT, mode)
        body = plan_body(case, place, owner.account, timing, self._deeds.label)
        self._plan = await self._deeds.open(owner, body, runs=_RUNS, mode=mode)

    async def _change(self, owner: PlanOwner, verb: str) -> None:
        until = time.monotonic() + _BEGUN_WITHIN_S
        while time.monotonic() < until:
            if await self._watch.has_begun():
                met, changed = self._watch.met, await owner.change(self._plan, verb)
                claims = self._watch.met - met
                self._deeds.tell(f"{verb} {changed}, beside {claims} claims")
                return
            await asyncio.sleep(_LOOK_S)
        self._deeds.tell(f"no run of {self._plan} has begun")
