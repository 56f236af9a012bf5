"""Simulations that get no slot: previews and polls take none of runs, and no attempt is lost."""

import asyncio
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest

from farebox.automation.execution import check_condition
from farebox.automation.execution.check_condition import CheckBroken, ConditionCheck
from farebox.automation.execution.fail_run import RunFailures
from farebox.automation.execution.simulate_run import NETWORK_UNAVAILABLE, NO_SLOT, RunSimulator
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_state import RunState, RunTrigger
from farebox.kernel.addresses import contract_address
from farebox.kernel.caller import OwnerId
from farebox.kernel.slots import SlotLimits
from farebox.stellar import simulation_slots
from farebox.stellar.rpc import RawSimulation
from farebox.stellar.simulation_slots import SimulationPurpose, SimulationSlots, simulating_for
from support.automation_world import NET
from support.fake_rpc import FakeRpc
from support.manual_clock import START, ManualClock
from support.waiting import until

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
    """A journal that takes every move."""

    trigger: RunTrigger | None = None

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
