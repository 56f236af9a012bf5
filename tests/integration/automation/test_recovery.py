"""A process that dies at any step of a run: another one finishes it, and it happens once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from farebox.automation.authority.stored_calls import decode_calls
from farebox.automation.execution import send_run
from farebox.automation.execution.build_run import BuiltRun
from farebox.automation.execution.execute_run import RunExecutor
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs import claim_store
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_state import RunState, RunTrigger
from farebox.local.devnet import Scene
from farebox.submission.fate import Fate, SentEnvelope
from farebox.submission.submit import Submitter
from support.automation import read_plan, read_runs
from support.automation_world import (
    NET,
    AutomationWorld,
    has_consumed,
    keeper_plan,
    soon,
)
from support.presigned_plans import AMOUNT, Leg, presigned_plan
from support.table_rows import in_row
from testing.waiting import until


class Dead(Exception):
    """The process has died."""


class DyingSubmitter:
    """Dies before it sends an envelope, while it waits, or just before it says how it ended."""

    def __init__(self, real: Submitter, step: str) -> None:
        self._real, self._step = real, step
        self.envelopes: list[bytes] = []

    async def submit(
        self,
        sent: SentEnvelope,
        *,
        until: float,
        on_taken: Callable[[], Awaitable[object]],
        may_be_sent: bool = False,
    ) -> Fate:
        self.envelopes.append(sent.envelope.reveal())
        if self._step == "recorded":
            raise Dead

        async def taken() -> None:
            await on_taken()
            if self._step == "sent":
                raise Dead

        await self._real.submit(sent, until=until, on_taken=taken, may_be_sent=may_be_sent)
        raise Dead

    async def wait(self, sent: SentEnvelope, *, until: float) -> Fate:
        return await self._real.wait(sent, until=until)


async def claim(world: AutomationWorld) -> Run:
    async with world.database.connection() as db:
        (run,) = await claim_store.claim_due(
            db, NET, count=1, holder="dying", now=soon(), until=soon(60)
        )
    return run


async def die_at(world: AutomationWorld, step: str) -> list[bytes]:
    """Take the one due run to a step, and leave it there; the envelopes that were made."""
    submitters: list[DyingSubmitter] = []

    def wrap(real: Submitter) -> DyingSubmitter:
        submitters.append(DyingSubmitter(real, step))
        return submitters[0]

    network = world.network(wrap=wrap)
    run = await claim(world)
    if step == "claimed":
        return []
    if step in ("recorded", "sent", "landed"):
        with pytest.raises(Dead):
            await network.executor.execute(run)
        return submitters[0].envelopes
    begun = await network.steps.journal.begin(run)
    assert begun is not None
    checking, plan = begun
    if step == "checking":
        return []
    building = await network.steps.journal.advance(checking, RunTrigger.CHECK_ACCEPTED)
    assert building is not None
    built = await network.steps.builder.build(plan.terms, decode_calls(plan.terms.calls), building)
    assert isinstance(built, BuiltRun)
    if step == "channel":
        assert await network.channels.take(building, wait_s=1) is not None
    return []


async def lose_leases(world: AutomationWorld) -> None:
    async with world.database.connection() as db:
        await db.execute("UPDATE automation_leases SET until = now() - interval '1 s'")


STEPS = ["claimed", "checking", "building", "channel", "recorded", "sent", "landed"]


async def finish(world: AutomationWorld, plan: StoredPlan, step: str) -> None:
    """Die at a step of the plan's one run, and let two other processes finish it."""
    await die_at(world, step)
    await lose_leases(world)
    async with world.running(world.network(), world.network()):
        await until(partial(has_consumed, world, plan, 1))


async def test_open_run_is_finished_once_after_a_crash(world: AutomationWorld) -> None:
    keeper = await world.keeper()
    for made, step in enumerate(STEPS, start=1):
        with in_row(step):
            plan = await keeper_plan(world, keeper, runs=1)
            await finish(world, plan, step)
            assert await world.count(keeper) == made
            await check_rows(world, plan)


async def test_run_of_a_lost_lease_takes_no_channel_and_sends_nothing(
    world: AutomationWorld,
) -> None:
    """By a process that stood still while another one ran the run."""
    keeper = await world.keeper()
    for made, is_begun in enumerate((True, False), start=1):
        plan, late = await keeper_plan(world, keeper, runs=1), world.network()
        run = await claim(world)
        checked = None
        if is_begun:
            begun = await late.steps.journal.begin(run)
            assert begun is not None
            checked = await late.steps.journal.advance(begun[0], RunTrigger.CHECK_ACCEPTED)
            assert checked is not None
        await lose_leases(world)
        async with world.running(world.network()):
            await until(partial(has_consumed, world, plan, 1))
        if checked is not None:
            assert await late.channels.take(checked, wait_s=0) is None
        else:
            assert await late.executor.execute(run) is None
        assert await world.count(keeper) == made
        await check_rows(world, plan)


async def test_presigned_run_is_finished_once_after_a_crash(world: AutomationWorld) -> None:
    scene = await world.devnet.scene(payers=1, payees=1)
    legs = [Leg(scene.payees[0].address)]
    for made, step in enumerate(STEPS, start=1):
        with in_row(step):
            plan = await presigned_plan(world, scene, scene.payers[0], legs)
            await finish(world, plan, step)
            assert await _received(world, scene) == made * AMOUNT
            await check_rows(world, plan)


async def test_landed_run_whose_envelope_cannot_be_opened_is_still_found(
    world: AutomationWorld,
) -> None:
    """A lost master key or a changed row keeps nobody from looking at the ledger."""
    keeper = await world.keeper()
    plan = await keeper_plan(world, keeper)
    await die_at(world, "landed")
    async with world.database.connection() as db:
        await db.execute(
            "UPDATE automation_attempts SET envelope = envelope || '\\x00'"
            " WHERE envelope IS NOT NULL"
        )
    await lose_leases(world)
    async with world.running(world.network()):
        await until(lambda: has_consumed(world, plan, 1))
    assert await world.count(keeper) == 1
    await check_rows(world, plan)


async def _received(world: AutomationWorld, scene: Scene) -> int:
    return await world.ledger.balance(scene.asset, scene.payees[0].address)


async def check_rows(world: AutomationWorld, plan: StoredPlan) -> None:
    """One envelope landed, no channel is kept, and the counters are those of one run."""
    rows = await read_runs(world.database, plan)
    assert rows[0]["state"] == "succeeded"
    counters = (await read_plan(world.database, plan)).counters
    assert (counters.runs_consumed, counters.runs_succeeded) == (1, 1)
    async with world.database.connection() as db:
        outcomes = await db.fetch(
            "SELECT a.outcome, a.envelope FROM automation_attempts a"
            " JOIN automation_runs r ON r.id = a.run_id WHERE r.proposal_id = $1",
            plan.terms.id,
        )
        kept = await db.fetchval(
            "SELECT count(*) FROM automation_channels WHERE run_id IS NOT NULL"
        )
        running = await db.fetchval("SELECT sum(running) FROM automation_owners")
    assert [tuple(row) for row in outcomes] == [("success", None)]
    assert (kept, running) == (0, 0)


async def test_recovery_sends_the_same_bytes_again(world: AutomationWorld) -> None:
    keeper = await world.keeper()
    plan = await keeper_plan(world, keeper)
    (envelope,) = await die_at(world, "recorded")
    await lose_leases(world)
    seen: list[DyingSubmitter] = []

    def wrap(real: Submitter) -> Any:
        seen.append(DyingSubmitter(real, "landed"))
        return seen[0]

    network = world.network(wrap=wrap)
    async with world.running(network):
        await until(lambda: seen[0].envelopes)
    assert seen[0].envelopes[0] == envelope
    assert plan.terms.id


async def test_envelope_is_not_recorded_by_a_process_that_stood_still_after_building(
    world: AutomationWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_run, "_CHANNEL_WAIT_S", 0.5)  # it gets none any more
    keeper = await world.keeper()
    plan = await keeper_plan(world, keeper)
    late, reached, go_on = world.network(), asyncio.Event(), asyncio.Event()
    builder = late.steps.builder

    class SlowBuilder:
        async def build(self, *arguments: Any, **named: Any) -> Any:
            built = await builder.build(*arguments, **named)
            reached.set()
            await go_on.wait()
            return built

    slow: Any = SlowBuilder()
    executor = RunExecutor(replace(late.steps, builder=slow), world.clock)
    working = asyncio.create_task(executor.execute(await claim(world)))
    building = asyncio.create_task(reached.wait())
    await asyncio.wait({working, building}, return_when=asyncio.FIRST_COMPLETED)
    assert not working.done(), working
    await lose_leases(world)
    async with world.running(world.network()):
        await until(lambda: has_consumed(world, plan, 1))
    go_on.set()
    assert await working is None
    assert await world.count(keeper) == 1
    rows = await read_runs(world.database, plan)
    assert RunState(rows[0]["state"]) is RunState.SUCCEEDED
