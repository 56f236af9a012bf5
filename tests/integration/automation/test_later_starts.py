"""Plans that begin later: what is sold and installed runs, and what cannot is not installed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from e2e.owner_calls import Sign
from farebox.app.automation_network import AutomationNetwork
from farebox.automation.execution.build_run import BuiltRun, RunNotBuilt
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.plans.wire import PlanKind
from farebox.automation.proposing.preflight import require
from farebox.automation.refusal import AutomationRefused
from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.automation.sessions.contracts_watch import AutomationContracts
from farebox.kernel.amounts import Stroops
from farebox.kernel.error_codes import ErrorCode
from farebox.stellar.fees import FeePolicy
from support.automation import PlanDraft, read_plan, read_runs
from support.automation_world import LIMITS, has_consumed, soon
from support.installing import paid
from support.plan_desk import (
    activate_signed,
    activation_of,
    owner_of,
    preflight_of,
    sign_and_activate,
    starting,
    try_now,
)
from support.session_desk import PRICE, DeskAccount, SessionDesk, by_key
from support.waiting import until

MANDATE, SESSION = AuthorityMode.MANDATE, AuthorityMode.SESSION
BODIES: dict[PlanKind, Callable[[SessionDesk], dict[str, Any]]] = {
    PlanKind.CONTRACT_CALL: lambda desk: desk.feed(),
    PlanKind.DISBURSEMENT: lambda desk: desk.disbursement(),
    PlanKind.DCA: lambda desk: desk.dca(),
    PlanKind.REBALANCE: lambda desk: desk.rebalance(),
}
PLANS = [
    *((kind, MANDATE) for kind in BODIES),
    *((kind, SESSION) for kind in BODIES if kind is not PlanKind.REBALANCE),
]
SOON = timedelta(seconds=12)  # time enough to sign and activate a plan on a busy machine
STARTS = [timedelta(hours=1), timedelta(days=2)]


def draft_of(
    desk: SessionDesk, account: DeskAccount, kind: PlanKind, mode: AuthorityMode
) -> PlanDraft:
    address = account.address if mode is SESSION else None
    return desk.draft(kind, BODIES[kind](desk), mode, account=address, runs=2)


async def sponsored(desk: SessionDesk) -> list[str]:
    """What the paymaster has sent besides runs."""
    async with desk.world.database.connection() as db:
        rows = await db.fetch("SELECT outcome FROM automation_sponsored ORDER BY created_at")
    return [row["outcome"] for row in rows]


async def activated(
    desk: SessionDesk, network: AutomationNetwork, draft: PlanDraft, sign: Sign
) -> StoredPlan:
    """Activate a plan that nothing may run before its start."""
    plan, answer = await sign_and_activate(desk, network, draft, sign)
    assert not answer.is_pending
    assert (await read_plan(desk.world.database, plan)).state is ProposalState.ACTIVE
    (first, *_) = await read_runs(desk.world.database, plan)
    assert first["due_at"] == plan.terms.window.not_before
    refused = await try_now(desk.world, network, plan)
    assert isinstance(refused, RunNotBuilt), "the control: nothing may run before"
    assert refused.code == "too_early"
    return plan


@pytest.mark.parametrize(("kind", "mode"), PLANS)
async def test_plan_is_activated_before_its_start(
    desk: SessionDesk,
    account: DeskAccount,
    network: AutomationNetwork,
    kind: PlanKind,
    mode: AuthorityMode,
) -> None:
    """Every kind in every mode that installs, for starts in an hour and in days."""
    sign = account.by_owner if mode is SESSION else by_key(desk.payer)
    for start in STARTS:
        draft = starting(draft_of(desk, account, kind, mode), soon() + start)
        await activated(desk, network, draft, sign)
    assert await sponsored(desk) == ["success"] * len(STARTS)


@pytest.mark.parametrize("mode", [MANDATE, SESSION])
async def test_plan_runs_at_its_start(
    desk: SessionDesk, account: DeskAccount, network: AutomationNetwork, mode: AuthorityMode
) -> None:
    sign = account.by_owner if mode is SESSION else by_key(desk.payer)
    draft = starting(draft_of(desk, account, PlanKind.CONTRACT_CALL, mode), soon() + SOON)
    plan = await activated(desk, network, draft, sign)
    async with desk.world.running(network):
        await until(lambda: has_consumed(desk.world, plan, 1), 60)


@pytest.mark.parametrize(("kind", "mode"), PLANS)
async def test_fee_before_the_installation_covers_that_of_the_run(
    desk: SessionDesk,
    account: DeskAccount,
    network: AutomationNetwork,
    kind: PlanKind,
    mode: AuthorityMode,
) -> None:
    """A limit between the two fees would be found only once the session is paid and installed."""
    plan = await paid(desk, draft_of(desk, account, kind, mode))
    report = await preflight_of(desk.world, network).judge(plan, soon())
    assert report.is_ok
    assert report.fee is not None
    await activate_signed(
        desk, network, plan, account.by_owner if mode is SESSION else by_key(desk.payer)
    )
    built = await try_now(desk.world, network, plan)
    assert isinstance(built, BuiltRun)
    assert built.fee.highest_charge <= report.fee <= 2 * built.fee.highest_charge
    limited = replace(plan, terms=replace(plan.terms, max_fee=Stroops(built.fee.resource_fee - 1)))
    refused = await preflight_of(desk.world, network).judge(limited, soon())
    assert [each.code for each in refused.checks if not each.is_ok] == ["fee_ceiling"]


@pytest.mark.parametrize("mode", [MANDATE, SESSION])
async def test_plan_that_would_fail_is_not_installed(
    desk: SessionDesk, account: DeskAccount, network: AutomationNetwork, mode: AuthorityMode
) -> None:
    """The account lacks what one run takes: that is found before the paymaster pays anything."""
    world, scene = desk.world, desk.scene
    amount = 2 * await desk.balance(scene.asset, desk.payer.public_key)
    legs = [{"to": scene.payees[0].address, "amount": "1"}]
    legs.append({"to": scene.payees[1].address, "amount": str(amount)})
    sign = account.by_owner if mode is SESSION else by_key(desk.payer)
    address = account.address if mode is SESSION else None
    body = desk.disbursement(legs=legs)
    draft = desk.draft(PlanKind.DISBURSEMENT, body, mode, account=address, runs=2)
    plan = await paid(desk, starting(draft, soon(3_600)))
    with pytest.raises(AutomationRefused) as refused:
        await activate_signed(desk, network, plan, sign)
    assert refused.value.code is ErrorCode.PREFLIGHT_FAILED
    assert "takes" in refused.value.why
    assert await sponsored(desk) == []
    assert (await read_plan(world.database, plan)).state is ProposalState.PAID
    control = starting(draft_of(desk, account, PlanKind.DISBURSEMENT, mode), soon(3_600))
    await sign_and_activate(desk, network, control, sign)
    assert await sponsored(desk) == ["success"]


async def test_rebalance_whose_oracle_knows_no_price_is_not_installed(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    """Its trade is chosen when it runs, and so it is when it is tried."""
    await desk.set_price(desk.scene.native, 0)
    draft = starting(desk.draft(PlanKind.REBALANCE, desk.rebalance(), MANDATE), soon(3_600))
    plan = await paid(desk, draft)
    with pytest.raises(AutomationRefused) as refused:
        await activate_signed(desk, network, plan, by_key(desk.payer))
    assert refused.value.code is ErrorCode.PREFLIGHT_FAILED
    assert await sponsored(desk) == []
    await desk.set_price(desk.scene.native, PRICE)
    await activate_signed(desk, network, plan, by_key(desk.payer))
    assert await sponsored(desk) == ["success"], "the control"


@pytest.mark.parametrize("cause", ["installation", "installation_fee"])
async def test_plan_whose_installation_would_not_be_sent_is_not_sold(
    desk: SessionDesk, network: AutomationNetwork, cause: str
) -> None:
    """Sold at the highest price, it would stay paid and could not be activated."""
    world, named = desk.world, desk.contracts
    plan = await paid(desk, desk.draft(PlanKind.CONTRACT_CALL, desk.feed(), MANDATE))
    plan = replace(plan, state=ProposalState.PROPOSED)
    report = await preflight_of(world, network).judge(plan, soon())
    require(report)
    assert report.install is not None, "the control"
    if cause == "installation":
        wrong = {**named.contracts, ServiceContract.FACTORY: desk.at(ServiceContract.VERIFIER)}
        hindered = world.network(contracts=AutomationContracts(wrong, named.routers))
    else:
        fees = FeePolicy(Stroops(report.install // 2), Stroops(100))
        hindered = world.network(contracts=named, limits=replace(LIMITS, install_fees=fees))
    refused = await preflight_of(world, hindered).judge(plan, soon())
    assert [each.code for each in refused.checks if not each.is_ok] == [cause]
    with pytest.raises(AutomationRefused) as refusal:
        require(refused)
    is_fee = cause == "installation_fee"
    code = ErrorCode.FEE_CEILING if is_fee else ErrorCode.PREFLIGHT_FAILED
    assert refusal.value.code is code


async def test_mandate_that_failed_is_resumed_after_its_first_run(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    """The run that is tried is the next one: the index of the first is used."""
    world = desk.world
    draft = desk.draft(PlanKind.CONTRACT_CALL, desk.feed(), MANDATE, runs=3)
    plan, _ = await sign_and_activate(desk, network, draft, by_key(desk.payer))
    async with world.running(network):
        await until(lambda: has_consumed(world, plan, 1), 60)
    async with world.database.connection() as db:
        await db.execute(
            "UPDATE automation_proposals SET status = 'paused', status_reason = 'failed_runs'"
        )
    _, changes = activation_of(world, network)
    await changes.resume(owner_of(plan), "request", plan.terms.id, None)
    assert (await read_plan(world.database, plan)).state is ProposalState.ACTIVE
