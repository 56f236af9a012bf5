"""One case of the end-to-end run of automation, from its proposal to its last twin."""

import asyncio
from typing import Final

import aiohttp

from e2e.automation_calls import Delegate
from e2e.automation_effects import Holdings, check_effects, read_holdings
from e2e.automation_life import ActivePlan, PlanDesk
from e2e.automation_probes import CasePlans
from testing.automation_cases import OPEN, PRESIGNED, RUNS, Case, Timing, soon
from testing.automation_owners import Client
from testing.machine import RunFailed, say

_FAR_S: Final = 3_600  # the first due time of a plan that the service makes no run of
_END_S: Final = 7_200
_PRESIGNED_END_S: Final = 1_500
_GAP_S: Final = 45  # of a keeper, whose plan runs every minute


class Course:
    """The plans of one case, and what went wrong."""

    def __init__(
        self, desk: PlanDesk, http: aiohttp.ClientSession, case: Case, number: int
    ) -> None:
        self.case, self.is_done = case, False
        self.faults: list[str] = []
        self.plans: CasePlans | None = None
        self._desk, self._http, self._number = desk, http, number
        self._before: Holdings | None = None

    @property
    def runs(self) -> tuple[int, int]:
        """How many runs came due, and how many of them succeeded."""
        if self.plans is None:
            return RUNS, 0
        life = self.plans.life
        return max(RUNS, len(life.runs)), life.succeeded

    async def open(self, turns: asyncio.Semaphore) -> None:
        """Propose, pay, install and activate the plan that lives."""
        async with turns:
            stage, case = self._desk.stage, self.case
            owner = await stage.owner(case, self._number)
            place = await stage.place_of(self._number, gap=_GAP_S if case.mode is OPEN else 0)
            client = Client(self._http, stage.service, owner)
            await client.sign_in(await stage.chain.ledger())
            end = _PRESIGNED_END_S if case.mode is PRESIGNED else _END_S
            timing = Timing(end=soon(end))
            payer = stage.payer(self._number)
            life = await self._desk.open(
                case, place, client, timing, title=f"{case.name}, alive", payer=payer
            )
            self.plans = CasePlans(case, stage.chain, place, life)
            self._before = await read_holdings(stage.chain, life)
            say(f"{case.name}: active")

    async def live(self, turns: asyncio.Semaphore) -> None:
        """Live the life of the plan, and try the twins of its content meanwhile."""
        plans = self.opened()
        living = asyncio.ensure_future(self._desk.live(plans.life))
        try:
            async with turns:
                await self._open_idle(plans)
                await plans.try_contents()
            await living
        finally:
            living.cancel()
        say(f"{self.case.name}: {plans.life.succeeded} runs, paused, resumed, cancelled")

    async def check(self) -> None:
        """Read the effects of the runs from the ledger."""
        plans = self.opened()
        if self._before is None:
            raise RunFailed(f"{self.case.name}: nothing was read before the runs")
        mandate = plans.lived.mandate if plans.lived else ""
        await check_effects(plans.chain, plans.life, self._before, mandate=mandate)
        self.is_done = not self.faults

    async def _open_idle(self, plans: CasePlans) -> None:
        """Open the plans that are used past the service, and read every delegate's key."""
        if not self.case.has_delegate:
            return
        plans.lived = await self._desk.delegate(plans.life)
        plans.probe = await self._idle(plans.life, "probe", 2)
        plans.spent = await self._idle(plans.life, "spent", 1)

    async def _idle(self, life: ActivePlan, name: str, runs: int) -> Delegate:
        timing = Timing(start=soon(_FAR_S), end=soon(_END_S), runs=runs)
        plan = await self._desk.open(
            self.case,
            life.place,
            life.client,
            timing,
            title=f"{self.case.name}, {name}",
            payer=self._desk.stage.cashier.secret,
        )
        return await self._desk.delegate(plan)

    def opened(self) -> CasePlans:
        """The plans.

        Raises:
            RunFailed: they are not open.
        """
        if self.plans is None:
            raise RunFailed(f"{self.case.name}: its plan is not open")
        return self.plans
