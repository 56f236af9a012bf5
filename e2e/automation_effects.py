"""What the runs of a plan did, read from the ledger, and held against what the service says."""

from collections.abc import Sequence
from dataclasses import dataclass

from stellar_sdk import scval

from e2e.automation_life import ActivePlan, expect
from farebox.automation.plans.wire import PlanKind
from testing.automation_cases import LEGS, OPEN, PRESIGNED, RUNS, SOLD, Case
from testing.automation_chain import AutomationChain
from testing.machine import RunFailed


@dataclass(frozen=True, slots=True)
class Holdings:
    """Balances of a plan's owner and of those that its runs pay, and its keeper's counter."""

    asset: int
    native: int
    paid: tuple[int, ...]
    fed: int
    count: int


async def read_holdings(chain: AutomationChain, plan: ActivePlan) -> Holdings:
    """Read them from the ledger."""
    place, account = plan.place, plan.client.owner.account
    state = scval.from_struct(await chain.read(place.keeper, "state"))
    return Holdings(
        await chain.balance(place.asset, account),
        await chain.balance(place.native, account),
        tuple([await chain.balance(place.asset, each) for each in place.recipients]),
        await chain.balance(place.asset, place.keeper),
        int(scval.from_uint32(state["count"])),
    )


async def check_effects(
    chain: AutomationChain, plan: ActivePlan, before: Holdings, *, mandate: str
) -> None:
    """Check what the plan's runs have moved, and that its mandate keeps nothing.

    Raises:
        RunFailed: the ledger has something else, or the service shows something else.
    """
    case, after = plan.case, await read_holdings(chain, plan)
    for leg in (leg for run in plan.runs for leg in run["legs"]):
        expect(case, "a run's transaction", await chain.status(leg["transaction"]), "SUCCESS")
    spent = 0 if case.mode is OPEN else RUNS * _units(case.kind)
    expect(case, "asset of the owner", after.asset - before.asset, -spent)
    shown = _shown(plan, plan.place.asset)
    expect(case, "effects that the service shows", shown, -spent)
    fed = case.kind is PlanKind.CONTRACT_CALL and case.has_delegate
    expect(case, "asset of the keeper", after.fed - before.fed, RUNS * SOLD if fed else 0)
    has_counted = fed or case.mode is OPEN
    expect(case, "runs of the keeper", after.count - before.count, RUNS if has_counted else 0)
    paid = [new - old for new, old in zip(after.paid, before.paid, strict=True)]
    expect(case, "paid to the recipients", paid, [RUNS * units for units in _paid_a_run(case)])
    bought = after.native - before.native
    if case.kind in (PlanKind.DCA, PlanKind.REBALANCE) and case.mode is not OPEN:
        if bought < RUNS * SOLD // 2:
            raise RunFailed(f"{case.name}: {bought} bought for {spent}")
        expect(case, "bought, as the service shows it", _shown(plan, plan.place.native), bought)
    if mandate:
        for token in (plan.place.asset, plan.place.native):
            expect(case, "kept by the mandate", await chain.balance(token, mandate), 0)


def _paid_a_run(case: Case) -> Sequence[int]:
    """What each of the two recipients gets in a run."""
    if case.kind is PlanKind.DISBURSEMENT:
        return LEGS
    is_transfer = case.kind is PlanKind.CONTRACT_CALL and case.mode is PRESIGNED
    return (SOLD, 0) if is_transfer else (0, 0)


def _units(kind: PlanKind) -> int:
    return sum(LEGS) if kind is PlanKind.DISBURSEMENT else SOLD


def _shown(plan: ActivePlan, token: str) -> int:
    """The sum of a token's effects that the service shows for the runs."""
    return sum(
        int(effect["amount"])
        for run in plan.runs
        for leg in run["legs"]
        for effect in leg["effects"]
        if effect["token"] == token
    )
