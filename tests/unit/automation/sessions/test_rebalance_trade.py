"""The trade of a portfolio against fractions, and what never happens."""

from fractions import Fraction
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from farebox.automation.plans.plan import RebalancePlan
from farebox.automation.plans.wire import PlanKind
from farebox.automation.sessions.prices import PairPrices
from farebox.automation.sessions.rebalance_trade import Trade, choose_trade
from support.plans import REBALANCE, USDC, XLM, changed, plan_of

amounts = st.integers(0, 10**15)
prices = st.integers(1, 10**15)


def portfolio(weight: int = 6_000, drift: int = 100, most: int = 10**18) -> RebalancePlan:
    body = changed(
        REBALANCE,
        assets=[{"token": USDC, "weightBps": weight}, {"token": XLM, "weightBps": 10_000 - weight}],
        driftBps=drift,
        maxTradePerRun=[{"token": token, "amount": str(most)} for token in (USDC, XLM)],
    )
    return cast(RebalancePlan, plan_of(PlanKind.REBALANCE, body))


def test_token_above_its_weight_is_sold_down_to_it() -> None:
    plan, even = portfolio(), {USDC: 1, XLM: 1}
    assert choose_trade(plan, {USDC: 700, XLM: 300}, even) == Trade(USDC, XLM, 100)
    assert choose_trade(plan, {USDC: 500, XLM: 500}, even) == Trade(XLM, USDC, 100)


def test_portfolio_rests_below_its_threshold() -> None:
    plan = portfolio(drift=1_000)
    assert choose_trade(plan, {USDC: 699, XLM: 301}, {USDC: 1, XLM: 1}) is None
    assert choose_trade(plan, {USDC: 700, XLM: 300}, {USDC: 1, XLM: 1}) is not None
    assert choose_trade(plan, {USDC: 0, XLM: 0}, {USDC: 1, XLM: 1}) is None


@given(usdc=amounts, xlm=amounts, price=prices, other=prices, weight=st.integers(1, 9_999))
def test_trade_moves_towards_the_weights_and_never_past_them(
    usdc: int, xlm: int, price: int, other: int, weight: int
) -> None:
    plan, held = portfolio(weight, most=10**12), {USDC: usdc, XLM: xlm}
    value = {USDC: price, XLM: other}
    trade = choose_trade(plan, held, value)
    if trade is None:
        return
    total = usdc * price + xlm * other
    share = Fraction(weight if trade.sold == USDC else 10_000 - weight, 10_000)
    left = (held[trade.sold] - trade.amount) * value[trade.sold]
    assert 0 < trade.amount <= min(held[trade.sold], 10**12)
    assert left >= total * share - 1
    drift = held[trade.sold] * value[trade.sold] - total * share
    assert drift * 10_000 >= (plan.drift_bps - 1) * total


@given(amount=st.integers(1, 10**18), sold=prices, bought=prices, bps=st.integers(0, 9_999))
def test_floor_is_what_the_contracts_compare_with(
    amount: int, sold: int, bought: int, bps: int
) -> None:
    """`is_above_floor` of contracts/session-rules: the floor passes, one less does not."""
    floor = PairPrices(sold, bought).floor(amount, bps)
    right = amount * sold * (10_000 - bps)
    assert floor * bought * 10_000 >= right
    assert (floor - 1) * bought * 10_000 < right
