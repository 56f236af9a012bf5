"""E2E=automation: plans of each kind in each mode, and their negative twins past the service.

A devnet with the limits of mainnet, the real service with a paymaster, and owners made of the
public SDK. Each plan is proposed over HTTP, paid, installed and activated; it makes three runs on
schedule, is paused, resumed and cancelled, and its effects are read from the ledger. Then runs that
differ in one thing are submitted to the node with the plan's own delegate key.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import aiohttp

from e2e.automation_chain import NET
from e2e.automation_console import ConsoleTally, run_console
from e2e.automation_effects import Holdings, check_effects, read_holdings
from e2e.automation_life import ActivePlan, PlanDesk
from e2e.automation_owners import Client, open_http
from e2e.automation_plans import OPEN, PRESIGNED, RUNS, Case, Timing, cases, soon
from e2e.automation_probes import CasePlans, count_refused
from e2e.automation_stage import AutomationStage, open_automation_stage
from e2e.machine import RunFailed, say, scratch_folder, subfolder
from e2e.report import run_and_report
from farebox.kernel.errors import Outage, Refusal
from farebox.kernel.secret import Secret
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.storage.pool import Database

LEAST_PLANS: Final = 12
LEAST_TWINS: Final = 60
_AT_ONCE: Final = 4  # cases that are opened at a time
_FAR_S: Final = 3_600  # the first due time of a plan that the service makes no run of
_END_S: Final = 7_200
_PRESIGNED_END_S: Final = 1_500
_GAP_S: Final = 45  # of a keeper, whose plan runs every minute
_JUMP_S: Final = 65  # more than the interval of every plan
_LEDGERS: Final = 4_000  # past the last ledger of every signed entry


class Course:
    """One case from its proposal to its last twin."""

    def __init__(self, desk: PlanDesk, http: aiohttp.ClientSession, case: Case, number: int):
        self.case, self.faults, self.is_done = case, list[str](), False
        self.plans: CasePlans | None = None
        self._desk, self._http, self._number = desk, http, number
        self._before: Holdings | None = None

    async def open(self, turns: asyncio.Semaphore) -> None:
        """Open the plan that lives, and those that are used past the service."""
        async with turns:
            stage, case = self._desk.stage, self.case
            owner = await stage.owner(case, self._number)
            place = await stage.place_of(self._number, gap=_GAP_S if case.mode is OPEN else 0)
            client = Client(self._http, stage.service, owner)
            await client.sign_in(await stage.chain.ledger())
            end = _PRESIGNED_END_S if case.mode is PRESIGNED else _END_S
            life = await self._desk.open(
                *(case, place, client, Timing(end=soon(end))),
                title=f"{case.name}, alive",
                payer=stage.payer(self._number),
            )
            self.plans = CasePlans(case, stage.chain, place, life)
            self._before = await read_holdings(stage.chain, life)
            say(f"{case.name}: active")

    async def live(self) -> None:
        """Live the life of the plan, and try the twins of its content meanwhile."""
        plans = self._plans()
        living = asyncio.ensure_future(self._live(plans.life))
        try:
            if self.case.has_delegate:
                plans.lived = await self._desk.delegate(plans.life)
                for name, runs in (("probe", 2), ("spent", 1)):
                    setattr(plans, name, await self._idle(plans.life, name, runs))
            await plans.try_contents()
        finally:
            await living

    async def _idle(self, life: ActivePlan, name: str, runs: int):  # type: ignore[no-untyped-def]
        """A plan of which the service makes no run; its delegate."""
        timing = Timing(start=soon(_FAR_S), end=soon(_END_S), runs=runs)
        plan = await self._desk.open(
            *(self.case, life.place, life.client, timing),
            title=f"{self.case.name}, {name}",
            payer=self._desk.stage.cashier,
        )
        return await self._desk.delegate(plan)

    async def _live(self, life: ActivePlan) -> None:
        await self._desk.live(life)
        say(f"{self.case.name}: {life.succeeded} runs, paused, resumed, cancelled")

    async def check(self) -> None:
        """Read the effects of the runs from the ledger."""
        plans = self._plans()
        if self._before is None:
            raise RunFailed(f"{self.case.name}: nothing was read before the runs")
        mandate = plans.lived.mandate if plans.lived else ""
        await check_effects(plans.chain, plans.life, self._before, mandate=mandate)
        self.is_done = not self.faults

    def _plans(self) -> CasePlans:
        if self.plans is None:
            raise RunFailed(f"{self.case.name}: its plan is not open")
        return self.plans
