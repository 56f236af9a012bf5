"""The calls that each kind of plan makes, in each mode (the table of 3.15)."""

from dataclasses import dataclass, field
from typing import Final

from farebox.automation.authority.planned_calls import (
    ACTOR,
    PlannedCall,
    PlannedCalls,
    RunCap,
    actor_rule,
    nested_transfer,
    row_transfer,
)
from farebox.automation.plans.call_check import (
    RUN_FUNCTION,
    CallValue,
    RunValue,
    RunValueKind,
)
from farebox.automation.plans.plan import (
    ContractCallPlan,
    DcaPlan,
    DisbursementPlan,
    Plan,
    RebalancePlan,
)
from farebox.automation.plans.session_spec import (
    TOKEN_FUNCTIONS,
    ArgumentRule,
    AuthorityMode,
    EqualTo,
    InRange,
    MinRate,
    OracleFloor,
    SessionCall,
    TimeWithin,
)
from farebox.automation.plans.wire import Venue
from farebox.automation.refusal import spec_mismatch
from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.amounts import MAX_BASE_UNITS, BaseUnits
from farebox.stellar.scval import ScBytes, ScKind, ScNumber, ScValue, ScVec
from farebox.stellar.scval_writer import address_of

SWAP: Final = "swap_exact_tokens_for_tokens"  # Soroswap's router, and ours of contracts/
SWAP_CHAINED: Final = "swap_chained"  # Aquarius
SWAP_DEADLINE_S: Final = 600
_MOST_REBALANCED: Final = 2  # tokens whose swaps fit the calls of one mandate
_MAX_U32: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class ResolvedPlan:
    """What a plan needs of the network besides itself.

    `values` are those of a contract call, checked against the interface. `router` is the venue's.
    `pools` are the pools of the first step of a swap, by (token paid, token received).
    """

    values: tuple[CallValue, ...] = ()
    router: Address | None = None
    pools: dict[tuple[Address, Address], Address] = field(default_factory=dict)


def plan_calls(plan: Plan, resolved: ResolvedPlan, mode: AuthorityMode) -> PlannedCalls:
    """The calls of a plan.

    Raises:
        AutomationRefused: `spec_mismatch`: the mode cannot bound such a plan.
    """
    match plan:
        case ContractCallPlan():
            return _contract_calls(plan, resolved, mode)
        case DcaPlan(venue=Venue.AQUARIUS):
            return _aquarius_calls(plan, _router(resolved), mode)
        case DcaPlan():
            return _soroswap_calls(plan, resolved, mode)
        case RebalancePlan():
            return _rebalance_calls(plan, resolved, mode)
        case DisbursementPlan():
            return _disbursement_calls(plan, mode)


def _contract_calls(
    plan: ContractCallPlan, resolved: ResolvedPlan, mode: AuthorityMode
) -> PlannedCalls:
    if plan.function is None:
        values: tuple[CallValue, ...] = (ACTOR,)
    else:
        values = resolved.values
    rules = tuple(_value_rule(value, plan, mode) for value in values)
    function = plan.function or RUN_FUNCTION
    debits = plan.effects.max_debit
    is_token = any(each.token == plan.contract for each in debits)
    _, amount = TOKEN_FUNCTIONS.get(function, (0, None)) if is_token else (0, None)
    root = PlannedCall(SessionCall(plan.contract, function, rules, amount=amount), values)
    if mode is AuthorityMode.OPEN:
        return PlannedCalls((root,))
    nested = tuple(
        nested_transfer(each.token, plan.contract, mode, under=0, amount=None, most=each.amount)
        for each in debits
        if each.token != plan.contract
    )
    paid = [each.token for each in debits]
    received = [each.token for each in plan.effects.min_credit if each.token not in paid]
    caps = [RunCap(each.token, each.amount, each.amount) for each in debits]
    if mode is AuthorityMode.MANDATE:
        caps += map(_received_cap, received)
    return PlannedCalls((root, *nested), tuple(caps), needs_recording=bool(nested))


def _value_rule(value: CallValue, plan: ContractCallPlan, mode: AuthorityMode) -> ArgumentRule:
    if not isinstance(value, RunValue):
        return EqualTo(value)
    if value.kind is RunValueKind.ACTOR:
        return actor_rule(mode)
    if value.kind is RunValueKind.DEADLINE:
        return TimeWithin(value.detail)
    if value.kind is RunValueKind.RUN_INDEX:
        return InRange(0, _MAX_U32)
    credits_ = plan.effects.min_credit
    if len(credits_) != 1:
        why = "$minOut needs exactly one minCredit."
        raise spec_mismatch("spec.effects.minCredit", why)
    return InRange(credits_[0].amount, MAX_BASE_UNITS)


def _soroswap_calls(plan: DcaPlan, resolved: ResolvedPlan, mode: AuthorityMode) -> PlannedCalls:
    swap = _swap(
        _router(resolved),
        plan.path,
        amount=EqualTo(ScNumber(ScKind.I128, plan.amount_in)),
        least=_least_rule(plan, in_argument=0),
        mode=mode,
    )
    pair = resolved.pools[plan.path[0], plan.path[1]]
    paid = nested_transfer(
        plan.token_in, pair, mode, under=0, amount=plan.amount_in, most=plan.amount_in
    )
    return PlannedCalls((swap, paid), _dca_caps(plan, mode))


def _aquarius_calls(plan: DcaPlan, router: Address, mode: AuthorityMode) -> PlannedCalls:
    chain = ScVec(
        tuple(
            _aquarius_step(sold, bought, pool)
            for sold, bought, pool in zip(plan.path, plan.path[1:], plan.pools, strict=False)
        )
    )
    token, amount = address_of(plan.token_in), ScNumber(ScKind.U128, plan.amount_in)
    rules = (
        actor_rule(mode),
        EqualTo(chain),
        EqualTo(token),
        EqualTo(amount),
        _least_rule(plan, in_argument=3),
    )
    least = RunValue(RunValueKind.MIN_OUT, ScKind.U128)
    swap = PlannedCall(
        SessionCall(router, SWAP_CHAINED, rules), (ACTOR, chain, token, amount, least)
    )
    paid = nested_transfer(
        plan.token_in, router, mode, under=0, amount=plan.amount_in, most=plan.amount_in
    )
    return PlannedCalls((swap, paid), _dca_caps(plan, mode))


def _aquarius_step(sold: Address, bought: Address, pool: bytes) -> ScVec:
    """One step of `swaps_chain`: the pool's tokens in their order, its hash, the token received."""
    tokens: tuple[ScValue, ...] = tuple(map(address_of, sorted((sold, bought), key=raw_key)))
    return ScVec((ScVec(tokens), ScBytes(ScKind.BYTES, pool), address_of(bought)))


def _rebalance_calls(
    plan: RebalancePlan, resolved: ResolvedPlan, mode: AuthorityMode
) -> PlannedCalls:
    if plan.strategy is not None:
        rules = (actor_rule(mode),)
        return PlannedCalls(
            (PlannedCall(SessionCall(plan.strategy, RUN_FUNCTION, rules), (ACTOR,)),)
        )
    if mode is not AuthorityMode.MANDATE or len(plan.weights) > _MOST_REBALANCED:
        why = f"Name a strategy, or use a mandate and {_MOST_REBALANCED} tokens."
        raise spec_mismatch("spec.strategy", why)
    calls: list[PlannedCall] = []
    most = {trade.token: trade.amount for trade in plan.max_trades}
    tokens = [token for token, _ in plan.weights]
    for sold, bought in (tokens, tokens[::-1]):
        floor = OracleFloor(0, plan.oracle, sold, bought, plan.max_slippage_bps, 3_600)
        root = len(calls)
        amount = InRange(1, most[sold])
        router = _router(resolved)
        calls.append(_swap(router, (sold, bought), amount=amount, least=floor, mode=mode))
        pair = resolved.pools[sold, bought]
        paid = nested_transfer(sold, pair, mode, under=root, amount=None, most=most[sold])
        calls.append(paid)
    caps = tuple(RunCap(token, amount, amount) for token, amount in most.items())
    return PlannedCalls(tuple(calls), caps)


def _swap(
    router: Address,
    path: tuple[Address, ...],
    *,
    amount: ArgumentRule,
    least: ArgumentRule,
    mode: AuthorityMode,
) -> PlannedCall:
    way: ScValue = ScVec(tuple(address_of(token) for token in path))
    rules = (amount, least, EqualTo(way), actor_rule(mode), TimeWithin(SWAP_DEADLINE_S))
    sold: CallValue = RunValue(RunValueKind.AMOUNT, ScKind.I128)
    if isinstance(amount, EqualTo):
        sold = amount.value
    values = (
        sold,
        RunValue(RunValueKind.MIN_OUT, ScKind.I128),
        way,
        ACTOR,
        RunValue(RunValueKind.DEADLINE, ScKind.U64, SWAP_DEADLINE_S),
    )
    return PlannedCall(SessionCall(router, SWAP, rules), values)


def _least_rule(plan: DcaPlan, *, in_argument: int) -> ArgumentRule:
    """The floor that the chain enforces: the owner's minimum rate.

    An argument has one rule. The oracle's floor of a plan is judged by the service at each run, and
    raises the minimum that it passes.
    """
    return MinRate(in_argument, plan.min_rate.received, plan.min_rate.paid)


def _dca_caps(plan: DcaPlan, mode: AuthorityMode) -> tuple[RunCap, ...]:
    paid = RunCap(plan.token_in, plan.amount_in, plan.amount_in)
    return (paid, _received_cap(plan.token_out)) if mode is AuthorityMode.MANDATE else (paid,)


def _received_cap(token: Address) -> RunCap:
    """A mandate sends its balance of every token with a cap to the owner; 0 is never spent."""
    return RunCap(token, BaseUnits(0), BaseUnits(0))


def _disbursement_calls(plan: DisbursementPlan, mode: AuthorityMode) -> PlannedCalls:
    if plan.is_batch:
        why = "One transaction for all legs needs a batch target, and there is none."
        raise spec_mismatch("spec.batch", why)
    rows = tuple((address_of(leg.to), ScNumber(ScKind.I128, leg.amount)) for leg in plan.legs)
    highest = BaseUnits(max(leg.amount for leg in plan.legs))
    cap = RunCap(plan.token, highest, plan.total)
    return PlannedCalls((row_transfer(plan.token, rows, mode),), (cap,))


def _router(resolved: ResolvedPlan) -> Address:
    if resolved.router is None:
        why = "The operator has configured no router of this venue for the network."
        raise spec_mismatch("spec.venue", why)
    return resolved.router
