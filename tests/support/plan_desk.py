"""Activation of plans on the devnet by what their owners sign, with the service's preflight."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from farebox.app.automation_network import AutomationNetwork
from farebox.automation.authority.stored_calls import decode_calls
from farebox.automation.execution.simulate_run import RunSimulator
from farebox.automation.lifecycle.activate import Activated, Activation, ActivationRequest
from farebox.automation.lifecycle.change_plan import PlanChanges
from farebox.automation.lifecycle.lifecycle_network import LifecycleNetwork
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans.policy_id import compute_policy_id
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.session_spec_xdr import read_spec, write_spec
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.proposing.availability import Availability
from farebox.automation.proposing.first_run_trial import FirstRunTrial, trial_run
from farebox.automation.proposing.funds_check import FundsCheck
from farebox.automation.proposing.preflight import Preflight, PreflightParts
from farebox.automation.proposing.target_code import TargetReader
from farebox.automation.schedules.schedule import IntervalSchedule
from farebox.kernel.caller import Caller, CallerKind
from farebox.stellar.simulation_slots import SimulationSlots
from support.automation import PlanDraft
from support.automation_world import LIMITS, NET, SEALERS, AutomationWorld, soon
from support.installing import paid, signed
from support.session_desk import SessionDesk
from testing.owner_calls import Sign


def preflight_of(world: AutomationWorld, network: AutomationNetwork) -> Preflight:
    """What judges plans before they are sold or installed, as the service builds it."""
    trial = FirstRunTrial(
        network.steps.builder,
        RunSimulator(SimulationSlots(NET, world.rpc, 16)),
        LIMITS.fees,
        world.database,
        network.trees.try_as_account,
        ledger_now=world.ledgers.now,
        fee_stats=lambda: None,
    )
    funds = FundsCheck(TargetReader(NET, world.rpc), world.rpc)
    costs = network.sessions.costs
    parts = PreflightParts(
        world.rpc, network.steps.check, funds, trial, costs, world.database, network.steps.journal
    )
    return Preflight(NET, parts)


def lifecycle_of(world: AutomationWorld, network: AutomationNetwork) -> LifecycleNetwork:
    """A network of a process, as the life of its plans needs it."""
    return LifecycleNetwork(
        network=NET,
        availability=Availability(outages=lambda: (), is_funded=lambda: True),
        preflight=preflight_of(world, network),
        builder=network.steps.builder,
        check=network.steps.check,
        ledger=world.rpc,
        ledgers=world.ledgers,
        nonce_key=network.paymaster.nonce_key,
    )


def activation_of(
    world: AutomationWorld, network: AutomationNetwork
) -> tuple[Activation, PlanChanges]:
    """Activation and changes of plans by a process."""
    networks = {NET: lifecycle_of(world, network)}
    installations = network.sessions.installations
    by_mode = dict.fromkeys((AuthorityMode.MANDATE, AuthorityMode.SESSION), installations)
    database, clock = world.database, world.clock
    return (
        Activation(database, clock, networks, SEALERS.entries, by_mode),
        PlanChanges(database, clock, networks, by_mode),
    )


def starting(draft: PlanDraft, start: datetime, *, days: float = 1) -> PlanDraft:
    """The same plan, which begins at `start`: its session allows nothing before."""
    raw = draft.terms.session_spec
    assert raw is not None
    window = PlanWindow(start, start + timedelta(days=days))
    spec = replace(
        read_spec(raw),
        not_before=int(window.not_before.timestamp()),
        not_after=-int(-window.not_after.timestamp() // 1),
    )
    schedule = IntervalSchedule(every_seconds=60, start_at=start)
    changed = draft.but(
        window=window,
        schedule=schedule,
        session_spec=write_spec(spec),
        policy_id=compute_policy_id(NET, write_spec(spec)),
    )
    return replace(changed, runs=draft.runs)


async def sign_and_activate(
    desk: SessionDesk, network: AutomationNetwork, draft: PlanDraft, sign: Sign
) -> tuple[StoredPlan, Activated]:
    """Pay for a plan, have its owner sign the issued material, and activate it."""
    plan = await paid(desk, draft)
    return plan, await activate_signed(desk, network, plan, sign)


async def activate_signed(
    desk: SessionDesk, network: AutomationNetwork, plan: StoredPlan, sign: Sign
) -> Activated:
    """Activate a paid plan by the entry that its owner signs."""
    material = await network.sessions.materials.material(plan, soon())
    return await activate_by(desk.world, network, plan, signed(material, sign))


async def activate_by(
    world: AutomationWorld, network: AutomationNetwork, plan: StoredPlan, request: ActivationRequest
) -> Activated:
    """Activate a paid plan by what is sent for it."""
    activation, _ = activation_of(world, network)
    return await activation.activate(owner_of(plan), "request", plan.terms.id, request)


def owner_of(plan: StoredPlan) -> Caller:
    """The plan's owner, signed in."""
    return Caller(plan.terms.owner, CallerKind.SESSION)


async def try_now(world: AutomationWorld, network: AutomationNetwork, plan: StoredPlan) -> Any:
    """The plan's first run as it would be sent now."""
    calls = decode_calls(plan.terms.calls)
    return await network.steps.builder.build(
        plan.terms, calls, trial_run(plan.terms, (0, 0), soon())
    )
