"""The rules of a plan's payload that need no network: from the shapes to the values (3.4)."""

from collections.abc import Sequence
from typing import Final, assert_never

from farebox.automation.limits import AutomationLimits
from farebox.automation.plans.effects import Effects, TokenAmount
from farebox.automation.plans.plan import (
    ContractCallPlan,
    DcaPlan,
    DisbursementPlan,
    Leg,
    MinimumRate,
    Plan,
    PriceFloor,
    RebalancePlan,
)
from farebox.automation.plans.wire import (
    BPS,
    ContractCallSpec,
    DcaSpec,
    DisbursementMode,
    DisbursementSpec,
    EffectsText,
    PlanSpec,
    RebalanceSpec,
    TokenAmountText,
    Venue,
)
from farebox.automation.refusal import limit_exceeded, spec_mismatch
from farebox.kernel.addresses import Address, parse_contract, parse_party
from farebox.kernel.amounts import MAX_BASE_UNITS, BaseUnits, parse_base_units

_PATH: Final = "spec.path"


def read_plan(spec: PlanSpec, account: Address, limits: AutomationLimits) -> Plan:
    """Read a payload for a plan of `account`.

    Raises:
        AutomationRefused: `spec_mismatch` or `limit_exceeded`, with the member.
    """
    match spec:
        case ContractCallSpec():
            return _read_call(spec, account)
        case DcaSpec():
            return _read_dca(spec, account)
        case RebalanceSpec():
            return _read_rebalance(spec)
        case DisbursementSpec():
            return _read_disbursement(spec, account, limits)
        case _:
            assert_never(spec)


def check_run_limit(plan: Plan, runs: int, limits: AutomationLimits) -> None:
    """Check the number of runs that a plan asks for.

    Raises:
        AutomationRefused: `limit_exceeded`.
    """
    if not 1 <= runs <= limits.runs:
        raise limit_exceeded("runLimit", f"A plan has 1 to {limits.runs} runs.")
    is_once = isinstance(plan, DisbursementPlan) and plan.mode is DisbursementMode.ONCE
    if is_once and runs != 1:
        raise limit_exceeded("runLimit", "A disbursement that pays once has one run.")


def _read_call(spec: ContractCallSpec, account: Address) -> ContractCallPlan:
    contract = _contract(spec.contract, "spec.contract")
    if contract == account:
        raise spec_mismatch("spec.contract", "A plan never calls its own account.")
    if spec.autolayer and (spec.function is not None or spec.args):
        raise spec_mismatch("spec.function", "With autolayer the function is fixed.")
    if not spec.autolayer and spec.function is None:
        raise spec_mismatch("spec.function", "Name the function, or set autolayer.")
    wasm_hash = spec.expected_wasm_hash
    return ContractCallPlan(
        contract,
        spec.function,
        tuple(spec.args),
        _read_effects(spec.effects),
        None if wasm_hash is None else bytes.fromhex(wasm_hash),
    )


def _read_dca(spec: DcaSpec, account: Address) -> DcaPlan:
    token_in = _contract(spec.token_in, "spec.tokenIn")
    token_out = _contract(spec.token_out, "spec.tokenOut")
    if token_in == token_out:
        raise spec_mismatch("spec.tokenOut", "It is another token than tokenIn.")
    if spec.receiver is not None and spec.receiver != account:
        raise spec_mismatch("spec.receiver", "What is bought goes to the plan's own account.")
    path = _read_path(spec, token_in, token_out)
    floor = spec.oracle_floor
    plan = DcaPlan(
        spec.venue,
        token_in,
        token_out,
        _amount(spec.amount_in, "spec.amountIn"),
        path,
        _read_pools(spec, len(path) - 1),
        spec.slippage_bps,
        MinimumRate(
            _amount(spec.min_rate.num, "spec.minRate.num"),
            _amount(spec.min_rate.den, "spec.minRate.den"),
        ),
        None
        if floor is None
        else PriceFloor(
            _contract(floor.oracle, "spec.oracleFloor.oracle"),
            floor.max_deviation_bps,
            floor.max_age_seconds,
        ),
    )
    if not 0 < plan.least_out <= MAX_BASE_UNITS:
        raise spec_mismatch("spec.minRate", "The least that a run gets does not fit an amount.")
    return plan


def _read_path(spec: DcaSpec, token_in: Address, token_out: Address) -> tuple[Address, ...]:
    if spec.path is None:
        return token_in, token_out
    path = tuple(_contract(each, f"{_PATH}[{n}]") for n, each in enumerate(spec.path))
    if (path[0], path[-1]) != (token_in, token_out):
        raise spec_mismatch(_PATH, "It leads from tokenIn to tokenOut.")
    if len(set(path)) < len(path):
        raise spec_mismatch(_PATH, "It has a token twice.")
    return path


def _read_pools(spec: DcaSpec, steps: int) -> tuple[bytes, ...]:
    needed = steps if spec.venue is Venue.AQUARIUS else 0
    pools = tuple(bytes.fromhex(each) for each in spec.pools or ())
    if len(pools) != needed:
        why = f"{spec.venue} takes a pool for each step of the path: {needed}."
        raise spec_mismatch("spec.pools", why)
    return pools


def _read_rebalance(spec: RebalanceSpec) -> RebalancePlan:
    weights = tuple(
        (_contract(each.token, f"spec.assets[{n}].token"), each.weight_bps)
        for n, each in enumerate(spec.assets)
    )
    tokens = {token for token, _ in weights}
    if len(tokens) < len(weights):
        raise spec_mismatch("spec.assets", "A token is there twice.")
    if sum(bps for _, bps in weights) != BPS:
        raise spec_mismatch("spec.assets", f"The weights are {BPS} together.")
    trades = _amounts(spec.max_trade_per_run, "spec.maxTradePerRun")
    if {trade.token for trade in trades} != tokens:
        raise spec_mismatch("spec.maxTradePerRun", "It names each token of assets, and no other.")
    strategy = spec.strategy
    return RebalancePlan(
        weights,
        spec.drift_bps,
        trades,
        _contract(spec.oracle, "spec.oracle"),
        spec.max_slippage_bps,
        spec.venue,
        None if strategy is None else _contract(strategy, "spec.strategy"),
    )


def _read_disbursement(
    spec: DisbursementSpec, account: Address, limits: AutomationLimits
) -> DisbursementPlan:
    most = limits.receivers_per_batch if spec.batch else limits.receivers_per_session
    if len(spec.legs) > most:
        raise limit_exceeded("spec.legs", f"It has {most} recipients at most.")
    legs = []
    for number, leg in enumerate(spec.legs):
        to = parse_party(leg.to)
        if to is None:
            raise spec_mismatch(f"spec.legs[{number}].to", "It is an address (G… or C…).")
        if to == account:
            raise spec_mismatch(f"spec.legs[{number}].to", "A plan does not pay its own account.")
        legs.append(Leg(to, _amount(leg.amount, f"spec.legs[{number}].amount"), leg.ref))
    if len({leg.to for leg in legs}) < len(legs):
        raise spec_mismatch("spec.legs", "A recipient is there twice.")
    token = _contract(spec.token, "spec.token")
    plan = DisbursementPlan(token, tuple(legs), spec.mode, spec.on_leg_error, spec.batch)
    if plan.total > MAX_BASE_UNITS:
        raise spec_mismatch("spec.legs", "The sum of the legs does not fit an amount.")
    return plan


def _read_effects(effects: EffectsText) -> Effects:
    return Effects(
        _amounts(effects.max_debit, "spec.effects.maxDebit"),
        _amounts(effects.min_credit, "spec.effects.minCredit"),
    )


def _amounts(texts: Sequence[TokenAmountText], field: str) -> tuple[TokenAmount, ...]:
    found = tuple(
        TokenAmount(
            _contract(each.token, f"{field}[{n}].token"),
            _amount(each.amount, f"{field}[{n}].amount"),
        )
        for n, each in enumerate(texts)
    )
    if len({each.token for each in found}) < len(found):
        raise spec_mismatch(field, "A token is there twice.")
    return found


def _contract(text: str, field: str) -> Address:
    found = parse_contract(text)
    if found is None:
        raise spec_mismatch(field, "It is the address of a contract (C…).")
    return found


def _amount(text: str, field: str) -> BaseUnits:
    found = parse_base_units(text)
    if not found:
        raise spec_mismatch(field, "It is a whole number of base units above 0, as decimal text.")
    return found
