"""Simulations that get no slot: previews and polls take none of runs, and no attempt is lost."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from farebox.automation.authority.stored_calls import encode_calls
from farebox.automation.execution import check_condition
from farebox.automation.execution.check_condition import CheckBroken, ConditionCheck
from farebox.automation.execution.execute_run import RunExecution, RunExecutor
from farebox.automation.execution.fail_run import RunFailures
from farebox.automation.execution.simulate_run import NETWORK_UNAVAILABLE, NO_SLOT, RunSimulator
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.stored_plan import PlanCounters, StoredPlan
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_state import RunState, RunTrigger
from farebox.automation.schedules.schedule import ConditionSchedule
from farebox.kernel.addresses import contract_address
from farebox.kernel.caller import OwnerId
from farebox.kernel.slots import SlotLimits
from farebox.stellar import simulation_slots
from farebox.stellar.rpc import RawSimulation
from farebox.stellar.simulation_slots import SimulationPurpose, SimulationSlots, simulating_for
from support.automation import RUNS, draft_plan, open_calls
from support.automation_world import NET
from support.fake_rpc import FakeRpc
from support.manual_clock import START, ManualClock
from testing.waiting import until

TARGET, OWNER = contract_address(bytes(32)), OwnerId("user")
RUN = Run(
    id="run",
    proposal_id="auto",
    run_index=0,
    leg_index=0,
    network=NET,
    owner=OWNER,
    account=None,
    scheduled_for=START,
    deadline_at=START + timedelta(days=1),
    state=RunState.CHECKING,
    due_at=None,
)


class HeldNode(FakeRpc):
    """Answers no simulation."""

    asked = 0

    async def simulate(self, envelope: str) -> RawSimulation:
        self.asked += 1
        await asyncio.Event().wait()
        return RawSimulation({})

    async def simulate_to_send(self, envelope: str) -> RawSimulation:
        return await self.simulate(envelope)


class Moves:
    """A journal that takes every move, of runs of one plan."""

    trigger: RunTrigger | None = None

    def __init__(self, plan: StoredPlan | None = None) -> None:
        self._plan = plan

    async def begin(self, run: Run) -> tuple[Run, StoredPlan | None]:
        return run, self._plan

    async def move(self, run: Run, trigger: RunTrigger, after: Run, end: object = None) -> Run:
        self.trigger = trigger
        return after


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> HeldNode:
    limits = simulation_slots.limits_of_purposes(64)
    soon = {
        purpose: SlotLimits(each.total, each.per_client, 0.0, 0.0)
        for purpose, each in limits.items()
    }
    monkeypatch.setattr(simulation_slots, "limits_of_purposes", lambda total: soon)
    return HeldNode()


async def _ask(check: ConditionCheck, purpose: SimulationPurpose | None) -> Any:
    for_whom = nullcontext() if purpose is None else simulating_for(purpose, OWNER)
    with for_whom:
        return await check.ask(TARGET, OWNER)


def _polled_plan(client: str | None) -> StoredPlan:
    """A plan with a condition, of an owner of its own; `client` is a free account's site."""
    calls = encode_calls(open_calls(check=True))
    terms = draft_plan().but(schedule=ConditionSchedule(30), calls=calls).terms
    counters = PlanCounters(runs_credited=RUNS)
    return StoredPlan(terms, ProposalState.ACTIVE, counters, client=client)


@asynccontextmanager
async def _polling(
    node: HeldNode, *clients: str | None
) -> AsyncIterator[Callable[[str | None], None]]:
    """Poll for a plan of each client, each of another owner; the function polls for another."""
    check = ConditionCheck(RunSimulator(SimulationSlots(NET, node, 64)))
    polls: list[asyncio.Future[Run | None]] = []

    def poll(client: str | None) -> None:
        journal: Any = Moves(_polled_plan(client))
        unused: Any = None
        failures = RunFailures(journal, ManualClock())
        steps = RunExecution(
            journal, check, unused, unused, failures, unused, unused, unused, unused
        )
        run = RunExecutor(steps, ManualClock()).execute(replace(RUN, state=RunState.CLAIMED))
        polls.append(asyncio.ensure_future(run))

    for client in clients:
        poll(client)
    try:
        yield poll
    finally:
        for each in polls:
            each.cancel()
        await asyncio.gather(*polls, return_exceptions=True)


@pytest.mark.parametrize("purpose", [SimulationPurpose.POLL, SimulationPurpose.PREVIEW])
async def test_polls_and_previews_take_a_share_and_none_of_the_slots_of_runs(
    node: HeldNode, purpose: SimulationPurpose
) -> None:
    check = ConditionCheck(RunSimulator(SimulationSlots(NET, node, 64)))
    share = simulation_slots.limits_of_purposes(64)[purpose].per_client
    flood = [asyncio.ensure_future(_ask(check, purpose)) for _ in range(40)]
    await until(lambda: node.asked == share)
    await until(lambda: sum(each.done() for each in flood) == 40 - share)
    assert {each.result() for each in flood if each.done()} == {
        CheckBroken(ErrorClass.TRANSPORT, NO_SLOT)
    }
    flood.append(asyncio.ensure_future(_ask(check, None)))  # of a run
    await until(lambda: node.asked == share + 1)
    for each in flood:
        each.cancel()
    await asyncio.gather(*flood, return_exceptions=True)


async def test_control_polls_in_the_slots_of_runs_take_more_than_their_share(
    node: HeldNode,
) -> None:
    check = ConditionCheck(RunSimulator(SimulationSlots(NET, node, 64)))
    share = simulation_slots.limits_of_purposes(64)[SimulationPurpose.POLL].per_client
    flood = [asyncio.ensure_future(_ask(check, None)) for _ in range(40)]  # no purpose is named
    await until(lambda: node.asked > share)
    for each in flood:
        each.cancel()
    await asyncio.gather(*flood, return_exceptions=True)


async def test_polls_of_free_accounts_at_one_site_take_one_share(node: HeldNode) -> None:
    """An account costs nothing: as many as there are have a place of one neighbour."""
    polls = simulation_slots.limits_of_purposes(64)[SimulationPurpose.POLL]
    async with _polling(node, *["2001:db8::/48"] * 40) as poll:
        await until(lambda: node.asked == polls.per_client)
        poll("2001:db8:1::/48")
        await until(lambda: node.asked == polls.per_client + 1)
        poll(None)  # an established owner
        await until(lambda: node.asked == polls.per_client + 2)


async def test_control_polls_that_each_account_has_a_share_of_leave_none_to_others(
    node: HeldNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StoredPlan, "share", property(lambda self: self.terms.owner))
    polls = simulation_slots.limits_of_purposes(64)[SimulationPurpose.POLL]
    async with _polling(node, *["2001:db8::/48"] * 40) as poll:
        await until(lambda: node.asked == polls.total)
        poll(None)
        with pytest.raises(TimeoutError):
            await until(lambda: node.asked > polls.total, 0.1)


async def test_check_that_takes_too_long_is_the_target_s_fault_only_once_it_has_a_slot(
    node: HeldNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_condition, "_CHECK_S", 0.01)
    check = ConditionCheck(RunSimulator(SimulationSlots(NET, node, 64)))
    slow = CheckBroken(ErrorClass.PROGRAM, "check_timeout")
    assert await _ask(check, SimulationPurpose.POLL) == slow


@pytest.mark.parametrize(
    ("code", "attempts"), [(NO_SLOT, RUN.attempts), (NETWORK_UNAVAILABLE, RUN.attempts + 1)]
)
async def test_run_without_a_simulation_slot_waits_and_loses_no_attempt(
    code: str, attempts: int
) -> None:
    journal = Moves()
    failures = RunFailures(journal, ManualClock())  # type: ignore[arg-type]  # a part of a journal
    after = await failures.fail(RUN, ErrorClass.TRANSPORT, code)
    assert journal.trigger is RunTrigger.RETRY
    assert after is not None
    assert (after.attempts, after.reason) == (attempts, code)
    assert after.due_at is not None
    assert after.due_at > START
