"""Runs whose outcome nobody knows: an outage proves nothing, and they keep no other run waiting."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.runs import unresolved_runs
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_state import RunState
from farebox.automation.runs.unresolved_runs import NotEnded
from farebox.submission.fate import Fate, Indeterminate, SentEnvelope, Unproven
from farebox.submission.submit import Submitter
from integration.automation.test_recovery import die_at, lose_leases
from support.automation import read_plan, read_runs
from support.automation_world import NET, AutomationWorld, has_consumed, keeper_plan, soon
from support.plan_desk import activation_of, owner_of
from support.session_runs import make_due
from testing.waiting import until


class SilentNode:
    """Says this of envelopes that were sent long ago, and sends new ones."""

    def __init__(self, real: Submitter, fate: Fate) -> None:
        self._real, self._fate = real, fate

    async def submit(
        self,
        sent: SentEnvelope,
        *,
        until: float,
        on_taken: Callable[[], Awaitable[object]],
        may_be_sent: bool = False,
    ) -> Fate:
        if may_be_sent:
            return self._fate
        return await self._real.submit(sent, until=until, on_taken=on_taken)

    async def wait(self, sent: SentEnvelope, *, until: float) -> Fate:
        old = sent.max_time < soon()
        return self._fate if old else await self._real.wait(sent, until=until)


async def lose_track(world: AutomationWorld, *, hours: float) -> None:
    """Leave a run that has landed, and let its envelope's bound pass so long ago."""
    await die_at(world, "landed")
    async with world.database.connection() as db:
        await db.execute(
            "UPDATE automation_attempts SET max_time = now() - $1::interval",
            timedelta(hours=hours),
        )
    await lose_leases(world)


async def test_outage_of_hours_abandons_no_run_and_its_end_finds_it(world: AutomationWorld) -> None:
    keeper = await world.keeper()
    plan = await keeper_plan(world, keeper)
    await lose_track(world, hours=30)
    out = world.network(wrap=lambda real: SilentNode(real, Indeterminate()))

    async def is_left() -> Any:
        async with world.database.connection() as db:
            return await db.fetchval(
                "SELECT max(until) > now() + interval '50 m' FROM automation_leases"
            )

    async with world.running(out):
        await until(is_left, 20)
    (row, *_) = await read_runs(world.database, plan)
    assert (row["state"], row["state_reason"]) == ("reconciling", "outcome_unknown")
    assert (await read_plan(world.database, plan)).state is ProposalState.ACTIVE
    await lose_leases(world)
    async with world.running(world.network()):
        await until(lambda: has_consumed(world, plan, 1), 20)
    assert await world.count(keeper) == 1


async def test_undecided_run_leaves_its_place_to_other_runs(world: AutomationWorld) -> None:
    first = await keeper_plan(world, await world.keeper())
    await lose_track(world, hours=2)
    second = await keeper_plan(world, await world.keeper())
    out = world.network(wrap=lambda real: SilentNode(real, Indeterminate()), concurrency=1)
    async with world.running(out):
        await until(lambda: has_consumed(world, second, 1), 30)
    (row, *_) = await read_runs(world.database, first)
    assert row["state"] == "reconciling"


async def test_run_that_no_history_covers_is_abandoned_until_the_operator_ends_the_search(
    world: AutomationWorld,
) -> None:
    plan = await keeper_plan(world, await world.keeper())
    await lose_track(world, hours=2)
    network = world.network(wrap=lambda real: SilentNode(real, Unproven(1)))
    async with world.running(network):

        async def is_abandoned() -> bool:
            (row, *_) = await read_runs(world.database, plan)
            return RunState(row["state"]) is RunState.ABANDONED

        await until(is_abandoned, 20)
    assert await kept_channels(world) == 1, "nothing is known of it"
    (row, *_) = await read_runs(world.database, plan)
    async with world.database.connection() as db:
        (listed,) = await unresolved_runs.list_unresolved(db, NET, limit=9)
    assert (listed.run_id, listed.state) == (row["id"], "abandoned")
    assert listed.tx_hash is not None
    assert listed.tx_hash.hex() in listed.line
    assert isinstance(await end_search(world, row["id"]), Run)
    assert await kept_channels(world) == 0
    paused = await read_plan(world.database, plan)
    assert (paused.state, paused.reason) == (ProposalState.PAUSED, "owner")
    _, changes = activation_of(world, world.network())
    await changes.resume(owner_of(plan), "request", plan.terms.id, None)
    await make_due(world)
    async with world.running(world.network()):
        await until(lambda: has_consumed(world, plan, 1), 30)


async def test_search_is_ended_only_for_an_outcome_that_is_unknown(world: AutomationWorld) -> None:
    plan = await keeper_plan(world, await world.keeper())
    await die_at(world, "landed")
    (row, *_) = await read_runs(world.database, plan)
    assert await end_search(world, row["id"]) is NotEnded.MAY_LAND
    assert await end_search(world, "run_unknown") is NotEnded.NO_RUN
    async with world.database.connection() as db:
        await db.execute("UPDATE automation_attempts SET max_time = now() - interval '6 m'")
    ended = await end_search(world, row["id"])
    assert isinstance(ended, Run)
    (row, *_) = await read_runs(world.database, plan)
    assert (row["state"], row["state_reason"]) == ("abandoned", "ended_by_operator")
    after = await read_plan(world.database, plan)
    assert (after.state, after.reason) == (ProposalState.PAUSED, "owner")
    assert (after.counters.runs_consumed, await kept_channels(world)) == (0, 0)
    async with world.database.connection() as db:
        outcomes = await db.fetch("SELECT outcome, error_code FROM automation_attempts")
    assert [tuple(each) for each in outcomes] == [("unknown", "ended_by_operator")]


async def end_search(world: AutomationWorld, run_id: str) -> Run | NotEnded:
    async with world.database.transaction() as db:
        return await unresolved_runs.end_search(db, run_id, now=soon())


async def kept_channels(world: AutomationWorld) -> int:
    async with world.database.connection() as db:
        rows = await db.fetch("SELECT 1 FROM automation_channels WHERE run_id IS NOT NULL")
    return len(rows)
