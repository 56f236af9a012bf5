"""The calls of each kind of plan: allowed by their spec, and nothing else is."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

import pytest

from farebox.automation.authority.build_spec import build_spec
from farebox.automation.authority.plan_calls import ResolvedPlan, plan_calls
from farebox.automation.authority.planned_calls import (
    PlannedCalls,
    RunContext,
    ValueMissing,
    resolve,
)
from farebox.automation.authority.spec_check import (
    AllowedRun,
    OutsideSpec,
    acting_address,
    judge_run,
)
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans.call_check import RunValue, RunValueKind, check_call
from farebox.automation.plans.plan import ContractCallPlan, Plan
from farebox.automation.plans.session_spec import (
    AuthorityMode,
    EqualTo,
    InRange,
    IsAccount,
    IsActor,
    MinRate,
    OracleFloor,
    RowColumn,
    SessionSpec,
    TimeWithin,
)
from farebox.automation.plans.session_spec_xdr import read_spec, write_spec
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.error_codes import ErrorCode
from farebox.stellar.invocations import Invocation
from farebox.stellar.scval import ScAddress, ScBytes, ScKind, ScNumber, ScValue, ScVec
from farebox.stellar.scval_writer import VOID, address_of
from support.payments import Json
from support.plans import (
    AQUARIUS,
    CALL,
    DCA,
    DELEGATE,
    DISBURSEMENT,
    EURC,
    INTERFACE,
    KEEPER,
    MANDATE,
    PAIR,
    PAYEES,
    REBALANCE,
    ROUTER,
    TARGET,
    USDC,
    WALLET,
    WINDOW,
    XLM,
    changed,
    plan_of,
)

SESSION: Final = AuthorityMode.SESSION
MANDATED: Final = AuthorityMode.MANDATE
NOW: Final = int(WINDOW.not_before.timestamp()) + 60
POOLS: Final = {(USDC, XLM): PAIR, (XLM, USDC): PAIR, (USDC, EURC): PAIR}
RESOLVED: Final = ResolvedPlan(router=ROUTER, pools=POOLS)
CASES: Final[list[tuple[str, Json, AuthorityMode, int]]] = [
    ("contract_call", CALL, SESSION, 0),
    ("contract_call", CALL, MANDATED, 0),
    ("contract_call", KEEPER, SESSION, 0),
    ("contract_call", KEEPER, MANDATED, 0),
    ("dca", DCA, SESSION, 0),
    ("dca", DCA, MANDATED, 0),
    ("dca", changed(DCA, path=[USDC, EURC, XLM]), SESSION, 0),
    ("dca", AQUARIUS, SESSION, 0),
    ("rebalance", REBALANCE, MANDATED, 0),
    ("rebalance", REBALANCE, MANDATED, 2),
    ("rebalance", changed(REBALANCE, strategy=TARGET), SESSION, 0),
    ("disbursement", DISBURSEMENT, SESSION, 0),
    ("disbursement", DISBURSEMENT, MANDATED, 0),
]


def planned(kind: str, body: Json, mode: AuthorityMode) -> tuple[Plan, PlannedCalls]:
    """A plan and its calls."""
    plan = plan_of(kind, body)
    resolved = RESOLVED
    if isinstance(plan, ContractCallPlan) and plan.function is not None:
        values = check_call(INTERFACE, plan.function, plan.arguments)
        resolved = replace(resolved, values=values)
    return plan, plan_calls(plan, resolved, mode)


def spec_of(plan: Plan, calls: PlannedCalls, mode: AuthorityMode, runs: int = 12) -> SessionSpec:
    """The spec of a plan."""
    return build_spec(
        plan,
        calls,
        account=WALLET,
        mode=mode,
        delegate=DELEGATE,
        window=WINDOW,
        interval_s=3_600,
        runs=runs,
    )


def run_of(
    kind: str, body: Json, mode: AuthorityMode, root: int = 0
) -> tuple[SessionSpec, Invocation, Address]:
    """The spec of a plan, the calls of one of its runs, and who makes them."""
    plan, calls = planned(kind, body, mode)
    spec = spec_of(plan, calls, mode)
    actor = acting_address(spec, MANDATE)
    context = RunContext(actor, 4, NOW, root=root, row=1, min_out=100_000_000, amount=500)
    return spec, resolve(calls, context), actor


@pytest.mark.parametrize(("kind", "body", "mode", "root"), CASES)
def test_run_of_each_kind_is_inside_its_own_spec(
    kind: str, body: Json, mode: AuthorityMode, root: int
) -> None:
    spec, run, actor = run_of(kind, body, mode, root)
    found = judge_run(spec, run, actor=actor, ledger_time=NOW)
    assert isinstance(found, AllowedRun)
    assert found.calls[0] == root
    assert found.row == (1 if kind == "disbursement" else None)
    assert read_spec(write_spec(spec)) == spec


# of each kind a number that no rule of these plans takes
OUTSIDE: Final = {ScKind.I128: -1, ScKind.U128: 0, ScKind.U64: 2**31}


def other_values(value: ScValue) -> Iterator[ScValue]:
    """Values that differ from one in a single way."""
    yield VOID
    match value:
        case ScNumber(kind, number):
            yield ScNumber(kind, OUTSIDE[kind])
            yield ScNumber(ScKind.I64, number)
        case ScAddress():
            yield address_of(PAYEES[0])
            yield ScAddress(value.kind, bytes(32))
        case ScBytes(kind, raw):
            yield ScBytes(kind, raw + b"x")
        case ScVec(items):
            yield ScVec((items or ())[:-1])
            yield ScVec(tuple(reversed(items or ())))
        case _:
            pass


def mutations(run: Invocation) -> Iterator[Invocation]:
    """Trees that differ from one in a single way."""
    yield replace(run, contract=EURC)
    yield replace(run, function="drain")
    yield replace(run, arguments=run.arguments[:-1])
    yield replace(run, arguments=(*run.arguments, VOID))
    for place, value in enumerate(run.arguments):
        for other in other_values(value):
            if other != value:
                changed_ = (*run.arguments[:place], other, *run.arguments[place + 1 :])
                yield replace(run, arguments=changed_)
    for place, below in enumerate(run.nested):
        yield replace(run, nested=(*run.nested, below))
        for other_call in mutations(below):
            nested = (*run.nested[:place], other_call, *run.nested[place + 1 :])
            yield replace(run, nested=nested)


@pytest.mark.parametrize(("kind", "body", "mode", "root"), CASES)
def test_every_single_change_of_a_run_is_outside_its_spec(
    kind: str, body: Json, mode: AuthorityMode, root: int
) -> None:
    spec, run, actor = run_of(kind, body, mode, root)
    tried = list(mutations(run))
    assert len(tried) > 5
    for mutant in tried:
        assert isinstance(judge_run(spec, mutant, actor=actor, ledger_time=NOW), OutsideSpec)
    for below in run.nested:  # a nested call is no root
        assert judge_run(spec, below, actor=actor, ledger_time=NOW) == OutsideSpec(0)


@pytest.mark.parametrize("late", [-1, 1])
def test_run_before_or_after_the_window_is_outside_the_spec(late: int) -> None:
    spec, run, actor = run_of("disbursement", DISBURSEMENT, SESSION)
    edge = spec.not_before if late < 0 else spec.not_after
    assert isinstance(judge_run(spec, run, actor=actor, ledger_time=edge), AllowedRun)
    assert judge_run(spec, run, actor=actor, ledger_time=edge + late) == OutsideSpec(0)


def test_minimum_below_the_rate_or_late_deadline_is_outside_the_spec() -> None:
    spec, run, actor = run_of("dca", DCA, SESSION)
    for place, number in ((1, 99_999_999), (4, NOW + 601), (4, NOW - 1)):
        value = run.arguments[place]
        assert isinstance(value, ScNumber)
        arguments = list(run.arguments)
        arguments[place] = replace(value, value=number)
        wrong = replace(run, arguments=tuple(arguments))
        assert judge_run(spec, wrong, actor=actor, ledger_time=NOW) == OutsideSpec(0)


def test_amounts_of_a_run_are_capped_together() -> None:
    spec, run, actor = run_of("contract_call", CALL, SESSION)
    (cap,) = spec.caps
    tight = replace(spec, caps=(replace(cap, per_run=499),))  # type: ignore[arg-type]  # a number
    assert isinstance(judge_run(spec, run, actor=actor, ledger_time=NOW), AllowedRun)
    assert judge_run(tight, run, actor=actor, ledger_time=NOW) == OutsideSpec(0)


def test_dca_has_the_rules_of_the_design() -> None:
    plan, calls = planned("dca", DCA, SESSION)
    spec = spec_of(plan, calls, SESSION)
    swap, paid = spec.calls
    path = ScVec((address_of(USDC), address_of(XLM)))
    sold = ScNumber(ScKind.I128, 50_000_000)
    assert (swap.contract, swap.function) == (ROUTER, "swap_exact_tokens_for_tokens")
    assert swap.rules == (
        EqualTo(sold),
        MinRate(0, 20, 10),
        EqualTo(path),
        IsAccount(),
        TimeWithin(600),
    )
    assert (paid.contract, paid.amount, paid.under) == (USDC, 2, 0)
    assert paid.rules == (IsAccount(), EqualTo(address_of(PAIR)), EqualTo(sold))
    assert [(cap.token, cap.per_run, cap.total) for cap in spec.caps] == [
        (USDC, 50_000_000, 600_000_000)
    ]
    assert (spec.max_uses, spec.interval_s) == (12, 3_600)


def test_mandate_names_itself_as_the_caller_and_sends_on_what_it_gets() -> None:
    plan, calls = planned("dca", DCA, MANDATED)
    spec = spec_of(plan, calls, MANDATED)
    assert spec.calls[0].rules[3] == IsActor()
    assert [(cap.token, cap.total) for cap in spec.caps] == [(USDC, 600_000_000), (XLM, 0)]
    _, run, actor = run_of("dca", DCA, MANDATED)
    assert actor == MANDATE
    assert run.arguments[3] == address_of(MANDATE)


def test_aquarius_chain_has_the_tokens_of_each_pool_in_their_order() -> None:
    _, run, _ = run_of("dca", AQUARIUS, SESSION)
    assert run.function == "swap_chained"
    chain = run.arguments[1]
    assert isinstance(chain, ScVec)
    steps = chain.items or ()
    assert len(steps) == 2
    for step, (sold, bought), pool in zip(
        steps, pairwise([USDC, EURC, XLM]), (b"\xab", b"\xcd"), strict=True
    ):
        tokens = ScVec(tuple(map(address_of, sorted((sold, bought), key=raw_key))))
        assert step == ScVec((tokens, ScBytes(ScKind.BYTES, pool * 32), address_of(bought)))
    assert run.nested[0].arguments[1] == address_of(ROUTER)


def test_rebalance_of_two_tokens_has_a_swap_each_way_with_a_floor() -> None:
    _, calls = planned("rebalance", REBALANCE, MANDATED)
    floors = [call.rules[1] for call in calls.allowed if call.under is None]
    assert [(floor.sell, floor.buy) for floor in floors if isinstance(floor, OracleFloor)] == [
        (USDC, XLM),
        (XLM, USDC),
    ]
    assert [call.rules[0] for call in calls.allowed if call.under is None] == [
        InRange(1, 1_000),
        InRange(1, 2_000),
    ]


def test_disbursement_pays_only_its_rows_and_a_single_one_only_once() -> None:
    plan, calls = planned("disbursement", DISBURSEMENT, SESSION)
    spec = spec_of(plan, calls, SESSION)
    assert spec.calls[0].rules == (IsAccount(), RowColumn(0), RowColumn(1))
    assert [row[0] for row in spec.calls[0].rows] == [address_of(each) for each in PAYEES]
    assert (spec.max_uses, spec.caps[0].per_run, spec.caps[0].total) == (36, 250, 4_800)
    once, calls = planned("disbursement", changed(DISBURSEMENT, mode="once"), SESSION)
    spec = spec_of(once, calls, SESSION, runs=1)
    assert (spec.max_uses, spec.caps[0].total) == (3, 400)
    assert spec.interval_s > spec.not_after - spec.not_before


def test_call_of_a_token_itself_counts_its_amount() -> None:
    body = changed(
        CALL,
        contract=USDC,
        function="transfer",
        args=[
            {"type": "address", "value": "$account"},
            {"type": "address", "value": TARGET},
            {"type": "i128", "value": "500"},
        ],
    )
    plan = plan_of("contract_call", body)
    assert isinstance(plan, ContractCallPlan)
    feed = INTERFACE.functions[0]
    interface = replace(INTERFACE, functions=(replace(feed, name="transfer"),))
    values = check_call(interface, "transfer", plan.arguments)
    calls = plan_calls(plan, replace(RESOLVED, values=values), SESSION)
    (only,) = spec_of(plan, calls, SESSION).calls
    assert only.amount == 2
    undeclared = replace(plan, effects=replace(plan.effects, max_debit=()))
    calls = plan_calls(undeclared, replace(RESOLVED, values=values), SESSION)
    with pytest.raises(AutomationRefused):
        spec_of(undeclared, calls, SESSION)


@pytest.mark.parametrize(
    ("kind", "body", "mode", "resolved", "field"),
    [
        ("dca", DCA, SESSION, ResolvedPlan(), "spec.venue"),
        ("rebalance", REBALANCE, SESSION, RESOLVED, "spec.strategy"),
        (
            "rebalance",
            changed(
                REBALANCE,
                assets=[
                    {"token": USDC, "weightBps": 5_000},
                    {"token": XLM, "weightBps": 4_000},
                    {"token": EURC, "weightBps": 1_000},
                ],
                maxTradePerRun=[{"token": each, "amount": "1"} for each in (USDC, XLM, EURC)],
            ),
            MANDATED,
            RESOLVED,
            "spec.strategy",
        ),
        ("disbursement", changed(DISBURSEMENT, batch=True), MANDATED, RESOLVED, "spec.batch"),
    ],
)
def test_plan_that_no_spec_bounds_is_refused(
    kind: str, body: Json, mode: AuthorityMode, resolved: ResolvedPlan, field: str
) -> None:
    with pytest.raises(AutomationRefused) as refused:
        plan_calls(plan_of(kind, body), resolved, mode)
    assert (refused.value.code, refused.value.field) == (ErrorCode.SPEC_MISMATCH, field)


def test_minimum_of_a_call_needs_one_declared_credit() -> None:
    body = changed(CALL, function="forms")
    body["args"] = []
    plan = plan_of("contract_call", body)
    assert isinstance(plan, ContractCallPlan)

    values = (RunValue(RunValueKind.MIN_OUT, ScKind.I128),)
    with pytest.raises(AutomationRefused):
        plan_calls(plan, replace(RESOLVED, values=values), SESSION)
    credit = {"minCredit": [{"token": XLM, "amount": "7"}], "maxDebit": []}
    credited = plan_of("contract_call", changed(body, effects=credit))
    calls = plan_calls(credited, replace(RESOLVED, values=values), SESSION)
    assert calls.allowed[0].rules == (InRange(7, 2**127 - 1),)


def test_run_without_a_value_that_its_call_needs_is_not_made() -> None:
    _, calls = planned("dca", DCA, SESSION)
    with pytest.raises(ValueMissing):
        resolve(calls, RunContext(WALLET, 0, NOW))


def test_end_of_the_window_counts_as_its_whole_second() -> None:
    plan, calls = planned("disbursement", DISBURSEMENT, SESSION)
    half = PlanWindow(
        WINDOW.not_before.replace(microsecond=500_000),
        WINDOW.not_after.replace(microsecond=500_000),
    )
    spec = build_spec(
        plan,
        calls,
        account=WALLET,
        mode=SESSION,
        delegate=DELEGATE,
        window=half,
        interval_s=60,
        runs=1,
    )
    assert spec.not_before == int(WINDOW.not_before.timestamp())
    assert spec.not_after == int(WINDOW.not_after.timestamp()) + 1


def test_mandate_without_an_address_cannot_act() -> None:
    plan, calls = planned("dca", DCA, MANDATED)
    with pytest.raises(ValueError, match="address"):
        acting_address(spec_of(plan, calls, MANDATED), None)
