"""Plans that begin later: what is sold and installed runs, and what cannot is not installed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import product
from typing import Any

import pytest

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
from support.session_desk import PRICE, SessionDesk, by_key
from support.table_rows import in_row
from testing.owner_calls import Sign
from testing.waiting import until

MANDATE, SESSION = AuthorityMode.MANDATE, AuthorityMode.SESSION
BODIES: dict[PlanKind, Callable[[SessionDesk], dict[str, Any]]] = {
    PlanKind.CONTRACT_CALL: lambda desk: desk.feed(),
    PlanKind.DISBURSEMENT: lambda desk: desk.disbursement(),
    PlanKind.DCA: lambda desk: desk.dca(),
    PlanKind.REBALANCE: lambda desk: desk.rebalance(),
}
KINDS = {
    MANDATE: tuple(BODIES),
    SESSION: tuple(kind for kind in BODIES if kind is not PlanKind.REBALANCE),
}
SOON = timedelta(seconds=12)  # time enough to sign and activate a plan on a busy machine
STARTS = (timedelta(hours=1), timedelta(days=2))


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose plans they are: the payer, or a smart account for those with a session."""

    mode: AuthorityMode
    account: str | None
    sign: Sign

    @classmethod
    async def of(cls, desk: SessionDesk, mode: AuthorityMode) -> "Owner":
        if mode is MANDATE:
            return cls(mode, None, by_key(desk.payer))
        smart = await desk.smart_account("c")
        return cls(mode, smart.account, smart.sign_entry)

    def draft(self, desk: SessionDesk, kind: PlanKind) -> PlanDraft:
        return desk.draft(kind, BODIES[kind](desk), self.mode, account=self.account, runs=2)


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


@pytest.mark.parametrize("mode", KINDS)
async def test_plan_is_activated_before_its_start(
    desk: SessionDesk, network: AutomationNetwork, mode: AuthorityMode
) -> None:
    """Every kind in every mode that installs, for starts in an hour and in days."""
    owner, rows = await Owner.of(desk, mode), list(product(KINDS[mode], STARTS))
    for kind, start in rows:
        with in_row((kind, start)):
            draft = starting(owner.draft(desk, kind), soon() + start)
            await activated(desk, network, draft, owner.sign)
    assert await sponsored(desk) == ["success"] * len(rows)


async def test_plan_runs_at_its_start(desk: SessionDesk, network: AutomationNetwork) -> None:
    """One with a mandate and one with a session: most of the wait is that of both."""
    plans: dict[AuthorityMode, StoredPlan] = {}
    for owner in [await Owner.of(desk, mode) for mode in KINDS]:
        with in_row(owner.mode):
            draft = starting(owner.draft(desk, PlanKind.CONTRACT_CALL), soon() + SOON)
            plans[owner.mode] = await activated(desk, network, draft, owner.sign)
    async with desk.world.running(network):
        for mode, plan in plans.items():
            with in_row(mode):
                await until(partial(has_consumed, desk.world, plan, 1), 60)


@pytest.mark.parametrize("mode", KINDS)
async def test_fee_before_the_installation_covers_that_of_the_run(
    desk: SessionDesk, network: AutomationNetwork, mode: AuthorityMode
) -> None:
    """A limit between the two fees would be found only once the session is paid and installed."""
    owner, preflight = await Owner.of(desk, mode), preflight_of(desk.world, network)
    for kind in KINDS[mode]:
        with in_row(kind):
            plan = await paid(desk, owner.draft(desk, kind))
            report = await preflight.judge(plan, soon())
            assert report.is_ok
            assert report.fee is not None
            await activate_signed(desk, network, plan, owner.sign)
            built = await try_now(desk.world, network, plan)
            assert isinstance(built, BuiltRun)
            assert built.fee.highest_charge <= report.fee <= 2 * built.fee.highest_charge
            below = replace(plan.terms, max_fee=Stroops(built.fee.resource_fee - 1))
            refused = await preflight.judge(replace(plan, terms=below), soon())
            assert [each.code for each in refused.checks if not each.is_ok] == ["fee_ceiling"]


@pytest.mark.parametrize("mode", KINDS)
async def test_plan_that_would_fail_is_not_installed(
    desk: SessionDesk, network: AutomationNetwork, mode: AuthorityMode
) -> None:
    """The account lacks what one run takes: that is found before the paymaster pays anything."""
    scene, owner = desk.scene, await Owner.of(desk, mode)
    amount = 2 * await desk.balance(scene.asset, desk.payer.public_key)
    legs = [{"to": scene.payees[0].address, "amount": "1"}]
    legs.append({"to": scene.payees[1].address, "amount": str(amount)})
    body = desk.disbursement(legs=legs)
    draft = desk.draft(PlanKind.DISBURSEMENT, body, mode, account=owner.account, runs=2)
    plan = await paid(desk, starting(draft, soon(3_600)))
    with pytest.raises(AutomationRefused) as refused:
        await activate_signed(desk, network, plan, owner.sign)
    assert refused.value.code is ErrorCode.PREFLIGHT_FAILED
    assert "takes" in refused.value.why
    assert await sponsored(desk) == []
    assert (await read_plan(desk.world.database, plan)).state is ProposalState.PAID
    control = starting(owner.draft(desk, PlanKind.DISBURSEMENT), soon(3_600))
    await sign_and_activate(desk, network, control, owner.sign)
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


async def test_plan_whose_installation_would_not_be_sent_is_not_sold(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    """Sold at the highest price, it would stay paid and could not be activated."""
    world, named = desk.world, desk.contracts
    plan = await paid(desk, desk.draft(PlanKind.CONTRACT_CALL, desk.feed(), MANDATE))
    plan = replace(plan, state=ProposalState.PROPOSED)
    report = await preflight_of(world, network).judge(plan, soon())
    require(report)
    assert report.install is not None, "the control"
    wrong = {**named.contracts, ServiceContract.FACTORY: desk.at(ServiceContract.VERIFIER)}
    fees = FeePolicy(Stroops(report.install // 2), Stroops(100))
    hindered = {
        "installation": world.network(contracts=AutomationContracts(wrong, named.routers)),
        "installation_fee": world.network(
            contracts=named, limits=replace(LIMITS, install_fees=fees)
        ),
    }
    codes = {}
    for cause, by in hindered.items():
        refused = await preflight_of(world, by).judge(plan, soon())
        assert [each.code for each in refused.checks if not each.is_ok] == [cause]
        with pytest.raises(AutomationRefused) as refusal:
            require(refused)
        codes[cause] = refusal.value.code
    assert codes == {
        "installation": ErrorCode.PREFLIGHT_FAILED,
        "installation_fee": ErrorCode.FEE_CEILING,
    }


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
