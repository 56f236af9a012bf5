"""The scheduler of one network: recovers what was sent, then claims due runs and executes them.

Rows are the queue (3.7). A process has a scheduler for each network, so that one that is down
delays no other. On a network that cannot be used, only runs whose deadline has passed are claimed.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import structlog

from farebox.automation.execution.execute_run import RunExecutor
from farebox.automation.execution.plan_upkeep import PlanUpkeep
from farebox.automation.plans import proposal_store
from farebox.automation.runs import claim_store
from farebox.automation.runs.run import Run
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

LEASE: Final = timedelta(seconds=60)
_HEARTBEAT_S: Final = 15.0
_POLL_S: Final = 0.5  # between two claims that found less than they could take
_UPKEEP_S: Final = 5.0
BATCH: Final = 32  # of one claim

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Scheduler:
    """Claims and executes the runs of one network, at most `concurrency` at a time.

    `closed` gives the codes of why no run may be sent now; none while runs may.
    """

    def __init__(
        self,
        network: Network,
        database: Database,
        executor: RunExecutor,
        upkeep: PlanUpkeep,
        clock: Clock,
        *,
        closed: Callable[[], tuple[str, ...]],
        concurrency: int,
    ) -> None:
        self._network, self._database = network, database
        self._executor, self._upkeep, self._clock = executor, upkeep, clock
        self._closed, self._concurrency = closed, concurrency
        self._holder = new_id("sched")
        self._running: dict[str, asyncio.Task[None]] = {}
        self._ended = asyncio.Event()
        self._is_closed = False

    async def run(self) -> None:
        """Work until cancelled; an outage of the database is logged, and the work goes on."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._repeat(self._heartbeat, _HEARTBEAT_S))
            group.create_task(self._repeat(self._upkeep.run_once, _UPKEEP_S))
            try:
                await self._repeat(self._claim_and_wait)
            finally:
                for task in self._running.values():
                    task.cancel()

    async def close(self, *, within_s: float) -> None:
        """Claim nothing more, and wait for the runs in progress; the rest is recovered later."""
        self._is_closed = True
        if self._running:
            await asyncio.wait(self._running.values(), timeout=within_s)

    async def claim(self) -> None:
        """Recover lost runs, then claim as many due ones as there is room for, and start them.

        Raises:
            DatabaseUnavailable: nothing was claimed.
        """
        if self._is_closed:
            return
        await self._recover()
        while (room := self._concurrency - len(self._running)) > 0 and not self._is_closed:
            now = self._clock.now()
            async with self._database.connection() as db:
                claimed = await claim_store.claim_due(
                    db,
                    self._network,
                    count=min(room, BATCH),
                    holder=self._holder,
                    now=now,
                    until=now + LEASE,
                    only_overdue=bool(self._closed()),
                )
            for run in claimed:
                self._start(run, self._execute(run))
            if not claimed:
                break

    async def _claim_and_wait(self) -> None:
        self._ended.clear()
        await self.claim()
        with suppress(TimeoutError):  # a run that ends leaves room for another, and may free one
            async with asyncio.timeout(_POLL_S):
                await self._ended.wait()

    async def _recover(self) -> None:
        """Take over what a lost process left: sent runs are observed, others are due again."""
        now = self._clock.now()
        async with self._database.connection() as db:
            await claim_store.release_lost(db, self._network, now=now, limit=BATCH)
            unresolved = await claim_store.claim_unresolved(
                db,
                self._network,
                count=BATCH,
                holder=self._holder,
                now=now,
                until=now + LEASE,
            )
        for run in unresolved:
            log.warning("automation.run_recovered", run=run.id, network=self._network.value)
            self._start(run, self._resume(run))

    def _start(self, run: Run, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._guard(run, work))
        stale = self._running.get(run.id)  # its lease was lost, and the run claimed again here
        if stale is not None:
            stale.cancel()
        self._running[run.id] = task
        task.add_done_callback(lambda ended: self._forget(run, ended))

    def _forget(self, run: Run, task: asyncio.Task[None]) -> None:
        if self._running.get(run.id) is task:
            del self._running[run.id]
        self._ended.set()

    async def _guard(self, run: Run, work: Coroutine[Any, Any, None]) -> None:
        """One run's fault is its own: the lease passes, and the run is recovered."""
        try:
            await work
        except Outage as outage:
            log.warning("automation.run_interrupted", run=run.id, part=outage.part)
        except Exception:
            log.exception("automation.run_broken", run=run.id)

    async def _execute(self, run: Run) -> None:
        await self._executor.execute(run)

    async def _resume(self, run: Run) -> None:
        async with self._database.connection() as db:
            plan = await proposal_store.find_plan(db, run.proposal_id)
        if plan is not None:
            await self._executor.resume(run, plan)

    async def _heartbeat(self) -> None:
        """Extend the leases of the runs in progress; work on one whose lease is lost is stopped.

        The lease of a run that an outage interrupted passes, so that the run is recovered.
        """
        if not self._running:
            return
        until = self._clock.now() + LEASE
        started = dict(self._running)
        async with self._database.connection() as db:
            held = await claim_store.extend_leases(db, started, holder=self._holder, until=until)
        for run_id in started.keys() - held:
            started[run_id].cancel()  # not the task of one that was claimed again meanwhile

    async def _repeat(
        self, step: Callable[[], Coroutine[Any, Any, None]], pause_s: float = 0.0
    ) -> None:
        while True:
            try:
                await step()
            except DatabaseUnavailable:
                log.warning("automation.database_unavailable", network=self._network.value)
                await self._clock.sleep(_POLL_S)
            await self._clock.sleep(pause_s)
