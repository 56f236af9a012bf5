"""The leases of a scheduler's runs, beside the ends of runs."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

import pytest

from farebox.automation.execution.execute_run import RunExecutor
from farebox.automation.execution.plan_upkeep import PlanUpkeep
from farebox.automation.execution.scheduler import Scheduler
from farebox.automation.runs import claim_store
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_journal import PLAN_STOPPED, RunJournal
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database
from store.automation.test_held_legs import journal_of
from support.automation import activate
from support.manual_clock import START, ManualClock
from testing.waiting import until

_A_MOMENT_S: Final = 0.01


class _StandingClock(ManualClock):
    """Shows one time; whoever sleeps goes on after a moment."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(_A_MOMENT_S)


class _StoppingExecutor(RunExecutor):
    """Stops the first run that it gets when it is told to, and works on the next one."""

    def __init__(self, journal: RunJournal) -> None:
        self.journal = journal
        self.may_stop = asyncio.Event()
        self.states: list[str] = []

    async def execute(self, claimed: Run) -> Run | None:
        number = len(self.states)
        self.states.append("begun")
        try:
            await (asyncio.sleep(3_600) if number else self.may_stop.wait())
        except asyncio.CancelledError:
            self.states[number] = "cancelled"
            raise
        begun = await self.journal.begin(claimed)
        assert begun is not None
        self.states[number] = "stopped"
        return await self.journal.stop(begun[0], PLAN_STOPPED)


@asynccontextmanager
async def _running(database: Database, executor: RunExecutor) -> AsyncIterator[None]:
    clock = _StandingClock()
    upkeep = PlanUpkeep(Network.TESTNET, database, clock)
    scheduler = Scheduler(
        Network.TESTNET, database, executor, upkeep, clock, closed=tuple, concurrency=4
    )
    task = asyncio.create_task(scheduler.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_work_on_a_run_that_was_claimed_again_goes_on_beside_the_lease_that_it_had(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leases are extended between the end of a run that is due again and its next claim."""
    await activate(database)
    executor = _StoppingExecutor(journal_of(database, clock, START))
    extend, looked = claim_store.extend_leases, asyncio.Event()

    async def extend_beside_the_next_claim(
        db: Connection, run_ids: Collection[str], *, holder: str, until: datetime
    ) -> frozenset[str]:
        if executor.states == ["begun"]:
            executor.may_stop.set()
            await _until_states(executor, "stopped", "begun")
            return frozenset()  # as it was between the two
        if len(executor.states) > 1:
            looked.set()
        return await extend(db, run_ids, holder=holder, until=until)

    async def has_looked_or_cancelled() -> bool:
        return looked.is_set() or "cancelled" in executor.states

    monkeypatch.setattr(claim_store, "extend_leases", extend_beside_the_next_claim)
    async with _running(database, executor):
        await until(has_looked_or_cancelled)
        assert executor.states == ["stopped", "begun"]


async def test_work_on_a_run_whose_lease_another_process_has_is_cancelled(
    database: Database, clock: ManualClock
) -> None:
    await activate(database)
    executor = _StoppingExecutor(journal_of(database, clock, START))
    async with _running(database, executor):
        await _until_states(executor, "begun")
        async with database.connection() as db:
            await db.execute("UPDATE automation_leases SET holder = 'another process'")
        await _until_states(executor, "cancelled")


async def _until_states(executor: _StoppingExecutor, *states: str) -> None:
    async def are_reached() -> bool:
        return executor.states == list(states)

    await until(are_reached)
