"""Payloads of plans: what is read, and what is refused with its member."""

from dataclasses import replace
from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.automation.limits import LIMITS
from farebox.automation.plans.effects import Effects, TokenAmount
from farebox.automation.plans.plan import (
    ContractCallPlan,
    DcaPlan,
    DisbursementPlan,
    RebalancePlan,
    authorization_limit,
    run_effects,
    transactions_per_run,
)
from farebox.automation.plans.plan_rules import check_run_limit, read_plan
from farebox.automation.plans.wire import SPECS, PlanKind
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.error_codes import ErrorCode
from support.payments import Json
from support.plans import (
    AQUARIUS,
    CALL,
    DCA,
    DISBURSEMENT,
    EURC,
    KEEPER,
    OWNER,
    PAYEES,
    REBALANCE,
    TARGET,
    USDC,
    WALLET,
    XLM,
    account,
    changed,
    plan_of,
)
from support.promises import promise

OVER: Final = ErrorCode.LIMIT_EXCEEDED
UNFIT: Final = ErrorCode.SPEC_MISMATCH
MUXED: Final = "M" + "A" * 68


def amount(token: str, units: str) -> Json:
    """An amount of a token."""
    return {"token": token, "amount": units}


def legs(count: int) -> list[Json]:
    """So many legs to different recipients."""
    return [{"to": account(n + 1), "amount": "1"} for n in range(count)]


REFUSED: Final[list[tuple[str, Json, str]]] = [
    ("contract_call", changed(CALL, contract=OWNER), "contract"),
    ("contract_call", changed(CALL, contract=WALLET), "contract"),
    ("contract_call", changed(CALL, function=None), "function"),
    ("contract_call", changed(KEEPER, function="feed"), "function"),
    ("contract_call", changed(KEEPER, args=CALL["args"]), "function"),
    (
        "contract_call",
        changed(CALL, effects={"maxDebit": [amount(USDC, "0")]}),
        "effects.maxDebit[0].amount",
    ),
    (
        "contract_call",
        changed(CALL, effects={"minCredit": [amount(USDC, "1"), amount(USDC, "2")]}),
        "effects.minCredit",
    ),
    ("dca", changed(DCA, tokenIn=OWNER), "tokenIn"),
    ("dca", changed(DCA, tokenOut=USDC), "tokenOut"),
    ("dca", changed(DCA, amountIn="0"), "amountIn"),
    ("dca", changed(DCA, amountIn="1.5"), "amountIn"),
    ("dca", changed(DCA, amountIn=str(2**127)), "amountIn"),
    ("dca", changed(DCA, minRate={"num": "0", "den": "1"}), "minRate.num"),
    ("dca", changed(DCA, minRate={"num": "1", "den": "0"}), "minRate.den"),
    ("dca", changed(DCA, minRate={"num": str(2**127 - 1), "den": "1"}), "minRate"),
    ("dca", changed(DCA, receiver=OWNER), "receiver"),
    ("dca", changed(DCA, path=[USDC, EURC]), "path"),
    ("dca", changed(DCA, path=[XLM, USDC]), "path"),
    ("dca", changed(DCA, path=[USDC, EURC, EURC, XLM]), "path"),
    ("dca", changed(DCA, path=[USDC, OWNER, XLM]), "path[1]"),
    ("dca", changed(DCA, pools=["ab" * 32]), "pools"),
    ("dca", changed(AQUARIUS, pools=["ab" * 32]), "pools"),
    (
        "rebalance",
        changed(REBALANCE, assets=[*REBALANCE["assets"][:1], REBALANCE["assets"][0]]),
        "assets",
    ),
    (
        "rebalance",
        changed(REBALANCE, assets=[{"token": USDC, "weightBps": 1}, REBALANCE["assets"][1]]),
        "assets",
    ),
    ("rebalance", changed(REBALANCE, maxTradePerRun=[amount(USDC, "1")]), "maxTradePerRun"),
    (
        "rebalance",
        changed(REBALANCE, maxTradePerRun=[amount(USDC, "1"), amount(EURC, "1")]),
        "maxTradePerRun",
    ),
    ("disbursement", changed(DISBURSEMENT, legs=legs(1) * 2), "legs"),
    ("disbursement", changed(DISBURSEMENT, legs=[{"to": WALLET, "amount": "1"}]), "legs[0].to"),
    ("disbursement", changed(DISBURSEMENT, legs=[{"to": MUXED[:56], "amount": "1"}]), "legs[0].to"),
    (
        "disbursement",
        changed(DISBURSEMENT, legs=[{"to": each, "amount": str(2**127 - 1)} for each in PAYEES]),
        "legs",
    ),
]


@pytest.mark.parametrize(("kind", "body", "field"), REFUSED)
def test_payload_is_refused_with_code_and_member(kind: str, body: Json, field: str) -> None:
    with pytest.raises(AutomationRefused) as refused:
        plan_of(kind, body)
    assert (refused.value.code, refused.value.field) == (UNFIT, f"spec.{field}")


def test_disbursement_with_too_many_legs_is_beyond_the_limit() -> None:
    with pytest.raises(AutomationRefused) as refused:
        plan_of("disbursement", changed(DISBURSEMENT, legs=legs(33)))
    assert (refused.value.code, refused.value.field) == (OVER, "spec.legs")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("contract_call", {"contract": TARGET}),
        ("contract_call", changed(CALL, function="two words")),
        ("contract_call", changed(CALL, args=CALL["args"] * 5)),
        ("contract_call", changed(CALL, expectedWasmHash="AB" * 32)),
        ("contract_call", changed(CALL, gasLimit=1)),
        ("dca", changed(DCA, slippageBps=501)),
        ("dca", changed(DCA, venue="uniswap")),
        ("dca", changed(DCA, path=[USDC])),
        ("dca", {name: DCA[name] for name in DCA if name != "minRate"}),
        ("rebalance", changed(REBALANCE, driftBps=49)),
        ("rebalance", changed(REBALANCE, assets=REBALANCE["assets"][:1])),
        ("disbursement", changed(DISBURSEMENT, legs=[])),
        ("disbursement", changed(DISBURSEMENT, legs=legs(101))),
        ("disbursement", changed(DISBURSEMENT, legs=[{"to": MUXED, "amount": "1"}])),
        ("disbursement", changed(DISBURSEMENT, mode="twice")),
    ],
)
def test_payload_of_another_shape_is_not_read(kind: str, body: Json) -> None:
    with pytest.raises(msgspec.ValidationError):
        plan_of(kind, body)


def test_plans_of_each_kind_are_read() -> None:
    call = plan_of("contract_call", changed(CALL, expectedWasmHash="ab" * 32))
    assert isinstance(call, ContractCallPlan)
    assert call.expected_wasm_hash == b"\xab" * 32
    assert call.effects == Effects((TokenAmount(USDC, BaseUnits(500)),))
    dca, chained = plan_of("dca", DCA), plan_of("dca", changed(AQUARIUS, receiver=WALLET))
    assert isinstance(dca, DcaPlan)
    assert isinstance(chained, DcaPlan)
    assert (dca.path, dca.pools, dca.least_out) == ((USDC, XLM), (), 100_000_000)
    assert chained.pools == (b"\xab" * 32, b"\xcd" * 32)
    rebalance = plan_of("rebalance", REBALANCE)
    assert isinstance(rebalance, RebalancePlan)
    assert rebalance.weights == ((USDC, 6_000), (XLM, 4_000))
    paid = plan_of("disbursement", DISBURSEMENT)
    assert isinstance(paid, DisbursementPlan)
    assert paid.total == 400
    assert paid.legs[1].reference == "rent"
    assert {each.kind for each in (call, dca, rebalance, paid)} == set(PlanKind)


def test_batch_may_have_more_recipients() -> None:
    batch = plan_of("disbursement", changed(DISBURSEMENT, legs=legs(100), batch=True))
    assert transactions_per_run(batch) == 1
    assert run_effects(batch).max_debit == (TokenAmount(USDC, BaseUnits(100)),)


@promise("automation:two-limits")
def test_authorizations_are_counted_by_transactions_and_runs_by_purchase() -> None:
    assert authorization_limit(plan_of("disbursement", DISBURSEMENT), 12) == 36
    assert authorization_limit(plan_of("dca", DCA), 12) == 12


def test_effects_of_a_run_follow_from_the_plan() -> None:
    paid, bought = TokenAmount(USDC, BaseUnits(50_000_000)), TokenAmount(XLM, BaseUnits(10**8))
    assert run_effects(plan_of("dca", DCA)) == Effects((paid,), (bought,))
    second = run_effects(plan_of("disbursement", DISBURSEMENT), leg_index=1)
    assert second == Effects((TokenAmount(USDC, BaseUnits(250)),))
    trades = TokenAmount(USDC, BaseUnits(1_000)), TokenAmount(XLM, BaseUnits(2_000))
    assert run_effects(plan_of("rebalance", REBALANCE)) == Effects(trades)
    assert run_effects(plan_of("contract_call", CALL)).max_debit[0].amount == 500


@promise("automation:finite-runs")
@pytest.mark.parametrize("runs", [0, 1_001, -1])
def test_run_limit_is_one_to_a_thousand(runs: int) -> None:
    plan = plan_of("dca", DCA)
    check_run_limit(plan, 1, LIMITS)
    check_run_limit(plan, 1_000, LIMITS)
    with pytest.raises(AutomationRefused) as refused:
        check_run_limit(plan, runs, LIMITS)
    assert (refused.value.code, refused.value.field) == (OVER, "runLimit")


def test_disbursement_that_pays_once_has_one_run() -> None:
    once = plan_of("disbursement", changed(DISBURSEMENT, mode="once"))
    check_run_limit(once, 1, LIMITS)
    with pytest.raises(AutomationRefused):
        check_run_limit(once, 2, LIMITS)


def test_least_amount_of_a_rate_is_rounded_up() -> None:
    plan = plan_of("dca", changed(DCA, amountIn="10", minRate={"num": "1", "den": "3"}))
    assert isinstance(plan, DcaPlan)
    assert plan.least_out == 4
    assert replace(plan, amount_in=BaseUnits(9)).least_out == 3


bodies = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([USDC, "1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*CALL, *DCA, *REBALANCE, *DISBURSEMENT, "to", "token", "amount"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(
    kind=st.sampled_from(PlanKind), change=st.dictionaries(st.text(max_size=3), bodies), body=bodies
)
def test_every_payload_is_read_or_refused(kind: PlanKind, change: Json, body: object) -> None:
    whole = {
        PlanKind.CONTRACT_CALL: CALL,
        PlanKind.DCA: DCA,
        PlanKind.REBALANCE: REBALANCE,
        PlanKind.DISBURSEMENT: DISBURSEMENT,
    }[kind]
    for given_body in (body, changed(whole, **change), *({**whole, name: body} for name in whole)):
        try:
            read_plan(msgspec.convert(given_body, SPECS[kind]), WALLET, LIMITS)
        except (msgspec.ValidationError, AutomationRefused):
            continue
