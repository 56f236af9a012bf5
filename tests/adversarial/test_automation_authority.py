"""Cases of plans whose delegate, or whose target, reaches for more than the owner signed."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from farebox.automation.authority.planned_calls import (
    PlannedCall,
    PlannedCalls,
    RunContext,
    resolve,
)
from farebox.automation.authority.stored_calls import RunCalls, decode_calls, encode_calls
from farebox.automation.execution.simulate_run import RunSimulator
from farebox.automation.plans.policy_id import mandate_address
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.session_spec import AuthorityMode, SessionCall
from farebox.automation.plans.wire import PlanKind
from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.automation.sessions.delegate_signer import DelegateSigner, RunToSign
from farebox.kernel.addresses import Address
from farebox.local.devnet import Devnet
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.scval_writer import address_of
from farebox.stellar.simulation import Simulated, SimulationRefused
from farebox.stellar.simulation_slots import SimulationSlots
from farebox.stellar.transactions import AuthorizedCall
from farebox.storage.pool import Database
from support.automation import DELEGATES, read_plan, read_runs
from support.automation_world import (
    NET,
    AutomationWorld,
    automation_world,
    has_consumed,
    keeper_plan,
    until_state,
)
from support.promises import case
from support.session_desk import SOLD, SessionDesk
from support.session_runs import build_next
from testing.waiting import until


@pytest.fixture
async def world(devnet: Devnet, database: Database) -> AsyncIterator[AutomationWorld]:
    async with automation_world(devnet, database) as world:
        yield world


@pytest.fixture
async def desk(world: AutomationWorld) -> SessionDesk:
    return await SessionDesk.deploy(world)


@case("VA-010")
async def test_runs_and_authorizations_are_both_bounded(desk: SessionDesk) -> None:
    """Two legs a run: one run is bought, two authorizations are signed, and no third is made."""
    world = desk.world
    body = desk.disbursement()
    draft = desk.draft(PlanKind.DISBURSEMENT, body, AuthorityMode.MANDATE, runs=1, due=3)
    assert (draft.terms.run_limit, draft.terms.auth_limit) == (1, 2)
    plan = await desk.with_mandate(draft)
    async with world.running(world.network()):
        await until(lambda: has_consumed(world, plan, 1), 60)
    after = await read_plan(world.database, plan)
    counters = after.counters
    assert (counters.runs_consumed, counters.auths_used) == (1, 2)
    assert after.state is ProposalState.COMPLETED, "two more runs were due, and none was bought"
    async with world.database.connection() as db:
        for column in ("runs_credited", "auths_used"):
            with pytest.raises(asyncpg.CheckViolationError):
                await db.execute(f"UPDATE automation_proposals SET {column} = 3")

    async def simulate(index: int) -> Simulated | SimulationRefused:
        """A run that the delegate's own key signs past the service."""
        now = world.ledgers.now()
        mandate = mandate_address(NET, desk.at(ServiceContract.FACTORY), plan.terms.policy_id)
        planned = decode_calls(plan.terms.calls).planned
        time = int(now.close_at.timestamp())
        tree = resolve(planned, RunContext(mandate, index, time, row=0))
        run = RunToSign(plan.terms.id, index, 0, tree, now.sequence + 24)
        signer = DelegateSigner(NET, DELEGATES)
        call = signer.sign_mandate_run(plan, run, now, mandate=mandate)
        simulator = RunSimulator(SimulationSlots(NET, world.rpc, 16))
        found = await simulator.simulate(AuthorizedCall(call.call, ()), plan.terms.owner)
        assert isinstance(found.simulation, Simulated | SimulationRefused)
        return found.simulation

    once_too_often = await simulate(5)
    assert isinstance(once_too_often, SimulationRefused)
    assert once_too_often.contract_error == 4012, "the chain counts authorizations"
    paid = [await desk.balance(desk.scene.asset, each.address) for each in desk.scene.payees[:2]]
    assert paid == [100, 101]


def calls_as(desk: SessionDesk, holder: str) -> str:
    """The keeper is fed by `holder`, whose authority the call needs."""
    values = (
        address_of(Address(holder)),
        address_of(desk.scene.asset),
        ScNumber(ScKind.I128, SOLD),
    )
    planned = PlannedCall(SessionCall(desk.keeper, "feed", ()), values)
    return encode_calls(RunCalls(PlannedCalls((planned,))))


@case("VA-013")
async def test_target_never_gets_the_authority_of_the_service(desk: SessionDesk) -> None:
    """The calls ask for accounts of the service, which a recording would have granted."""
    world = desk.world
    network = world.network()
    channel = (await _channels(world))[0]
    holders = (network.paymaster.address, channel, network.paymaster.executor)
    held = await world.ledger.native_balance(network.paymaster.address)
    plans = [await keeper_plan(world, desk.keeper, calls=calls_as(desk, each)) for each in holders]
    async with world.running(network):
        rows = [await until_state(world, plan, "failed") for plan in plans]
    assert [row["tx_hash"] for row in rows] == [None] * 3, "nothing is sent"
    assert await world.ledger.native_balance(network.paymaster.address) == held
    assert await world.count(desk.keeper) == 0
    runs = [run for plan in plans for run in await read_runs(world.database, plan)]
    assert {each["channel"] for each in runs} == {None}


@case("VA-013")
async def test_mandate_of_the_same_target_needs_no_authority_of_the_service(
    desk: SessionDesk,
) -> None:
    """The control: the target gets the authority of the mandate, and its run is made."""
    world = desk.world
    draft = desk.draft(PlanKind.CONTRACT_CALL, desk.feed(), AuthorityMode.MANDATE)
    plan = await desk.with_mandate(draft)
    built = await build_next(world, plan)
    assert built.prepared.call.entries == ()
    async with world.running(world.network()):
        await until(lambda: has_consumed(world, plan, 1), 60)
    assert await world.count(desk.keeper) == 1


async def _channels(world: AutomationWorld) -> list[Address]:
    async with world.database.connection() as db:
        rows = await db.fetch("SELECT address FROM automation_channels")
    return [Address(row["address"]) for row in rows]
