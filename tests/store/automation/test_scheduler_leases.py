"""The leases of a scheduler's runs, beside the ends of runs."""

import asyncio
from collections.abc import Collection
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
from support.waiting import until

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
        if executor.states != ["begun"]:
            looked.set()
            return await extend(db, run_ids, holder=holder, until=until)
        executor.may_stop.set()
        await _until_states(executor, "stopped", "begun")
        return frozenset()  # as it was between the two

    monkeypatch.setattr(claim_store, "extend_leases", extend_beside_the_next_claim)
    scheduler = Scheduler(
        Network.TESTNET,
        database,
        executor,
        PlanUpkeep(Network.TESTNET, database, clock),
        _StandingClock(),
        closed=tuple,
        concurrency=4,
    )

    async def has_looked_or_cancelled() -> bool:
        return looked.is_set() or "cancelled" in executor.states

    running = asyncio.create_task(scheduler.run())
    try:
        await until(has_looked_or_cancelled)
        assert executor.states == ["stopped", "begun"]
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _until_states(executor: _StoppingExecutor, *states: str) -> None:
    async def are_reached() -> bool:
        return executor.states == list(states)

    await until(are_reached)
