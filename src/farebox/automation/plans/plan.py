"""The four kinds of plans as values, after every rule that needs no network."""

from dataclasses import dataclass

from farebox.automation.plans.effects import Effects, TokenAmount
from farebox.automation.plans.wire import (
    DisbursementMode,
    OnLegError,
    PlanKind,
    TypedArgument,
    Venue,
)
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits


@dataclass(frozen=True, slots=True)
class ContractCallPlan:
    """A call of any function; `call_check.py` holds the arguments against the interface.

    `function` is None for a target of the convention (3.14), which takes the executor alone.
    """

    contract: Address
    function: str | None
    arguments: tuple[TypedArgument, ...]
    effects: Effects
    expected_wasm_hash: bytes | None = None

    @property
    def kind(self) -> PlanKind:
        """The kind of plan."""
        return PlanKind.CONTRACT_CALL


@dataclass(frozen=True, slots=True)
class MinimumRate:
    """Base units received, at least, for base units paid."""

    received: BaseUnits
    paid: BaseUnits


@dataclass(frozen=True, slots=True)
class PriceFloor:
    """A floor by the price of an oracle, which may deviate by `bps` and be `max_age_s` old."""

    oracle: Address
    bps: int
    max_age_s: int


@dataclass(frozen=True, slots=True)
class DcaPlan:
    """Buy `token_out` with `amount_in` of `token_in`.

    `path` is every token of the way, both ends included; `pools` are the pool hashes of Aquarius,
    one for each step.
    """

    venue: Venue
    token_in: Address
    token_out: Address
    amount_in: BaseUnits
    path: tuple[Address, ...]
    pools: tuple[bytes, ...]
    slippage_bps: int
    min_rate: MinimumRate
    floor: PriceFloor | None = None

    @property
    def kind(self) -> PlanKind:
        """The kind of plan."""
        return PlanKind.DCA

    @property
    def least_out(self) -> BaseUnits:
        """The least that a run gets: the minimum rate, rounded up."""
        return BaseUnits(-(-self.amount_in * self.min_rate.received // self.min_rate.paid))


@dataclass(frozen=True, slots=True)
class RebalancePlan:
    """Trade towards `weights` (token, basis points) when a token drifts by `drift_bps`."""

    weights: tuple[tuple[Address, int], ...]
    drift_bps: int
    max_trades: tuple[TokenAmount, ...]
    oracle: Address
    max_slippage_bps: int
    venue: Venue
    strategy: Address | None = None

    @property
    def kind(self) -> PlanKind:
        """The kind of plan."""
        return PlanKind.REBALANCE


@dataclass(frozen=True, slots=True)
class Leg:
    """A payment of a disbursement."""

    to: Address
    amount: BaseUnits
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class DisbursementPlan:
    """Pay every leg, in one transaction (`is_batch`) or in one each, in their order."""

    token: Address
    legs: tuple[Leg, ...]
    mode: DisbursementMode
    on_leg_error: OnLegError
    is_batch: bool

    @property
    def kind(self) -> PlanKind:
        """The kind of plan."""
        return PlanKind.DISBURSEMENT

    @property
    def total(self) -> BaseUnits:
        """The sum of the legs."""
        return BaseUnits(sum(leg.amount for leg in self.legs))


Plan = ContractCallPlan | DcaPlan | RebalancePlan | DisbursementPlan


def transactions_per_run(plan: Plan) -> int:
    """How many transactions, and so authorizations, one run needs."""
    if isinstance(plan, DisbursementPlan) and not plan.is_batch:
        return len(plan.legs)
    return 1


def authorization_limit(plan: Plan, runs: int) -> int:
    """The authorizations of so many runs: what the session may sign, not what is bought."""
    return runs * transactions_per_run(plan)


def run_effects(plan: Plan, leg_index: int = 0) -> Effects:
    """The bounds of one transaction of a run."""
    match plan:
        case ContractCallPlan(effects=effects):
            return effects
        case DcaPlan(token_in=paid, token_out=bought):
            debit = TokenAmount(paid, plan.amount_in)
            return Effects((debit,), (TokenAmount(bought, plan.least_out),))
        case RebalancePlan(max_trades=trades):
            return Effects(trades)
        case DisbursementPlan():
            amount = plan.total if plan.is_batch else plan.legs[leg_index].amount
            return Effects((TokenAmount(plan.token, amount),))
