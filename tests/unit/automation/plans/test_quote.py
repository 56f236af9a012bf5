"""Prices of runs in whole base units."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.automation.plans.quote import PriceList, make_quote, payment_identifier, price_run
from farebox.kernel.amounts import BaseUnits
from support.plans import START, USDC
from support.promises import promise

# one XLM is 0.25 USDC of seven decimals
PRICES: Final = PriceList(USDC, BaseUnits(1_000), BaseUnits(500), units_per_xlm=2_500_000)


@pytest.mark.parametrize(
    ("fee", "price"),
    [
        (0, 1_000),
        (1_333, 1_000),  # the floor
        (1_334, 1_001),  # three times the fee, rounded up
        (100_000, 75_000),
        (10_000_000, 7_500_000),
    ],
)
def test_price_of_a_run_is_three_times_its_fee_and_the_floor_at_least(fee: int, price: int) -> None:
    assert price_run(PRICES, fee) == price


@given(fee=st.integers(0, 10**12), rate=st.integers(0, 10**12))
def test_price_is_never_below_three_times_the_fee(fee: int, rate: int) -> None:
    price = price_run(replace(PRICES, units_per_xlm=rate), fee)
    assert price * 10_000_000 >= 3 * fee * rate
    assert price == 1_000 or (price - 1) * 10_000_000 < 3 * fee * rate


@promise("automation:finite-runs")
def test_quote_has_the_setup_once_and_lives_for_a_quarter_of_an_hour() -> None:
    quote = make_quote(PRICES, runs=12, fee_stroops=100_000, revision=3, now=START)
    assert (quote.per_run, quote.setup, quote.total) == (75_000, 500, 900_500)
    assert quote.is_current(START + timedelta(minutes=15))
    assert not quote.is_current(START + timedelta(minutes=15, seconds=1))
    more = make_quote(PRICES, runs=2, fee_stroops=100_000, revision=4, now=START, is_top_up=True)
    assert (more.setup, more.total, more.revision) == (0, 150_000, 4)


def test_network_where_runs_are_free_has_the_price_zero() -> None:
    free = replace(PRICES, is_free=True)
    assert make_quote(free, runs=12, fee_stroops=10**9, revision=1, now=START).total == 0


@pytest.mark.parametrize(
    ("credit", "used", "total"),
    [(0, 0, 900_500), (-1, 0, 900_500), (5, 5, 7 * 75_000 + 500), (12, 12, 0), (99, 12, 0)],
)
def test_credit_is_used_first_and_a_quote_that_it_covers_costs_nothing(
    credit: int, used: int, total: int
) -> None:
    quote = make_quote(PRICES, runs=12, fee_stroops=100_000, revision=1, now=START, credit=credit)
    assert (quote.from_credit, quote.bought, quote.total) == (used, 12 - used, total)


def test_credit_is_kept_where_runs_cost_nothing() -> None:
    free = replace(PRICES, is_free=True)
    quote = make_quote(free, runs=12, fee_stroops=1, revision=1, now=START, credit=5)
    assert (quote.from_credit, quote.total) == (0, 0)


def test_payment_identifier_has_plan_and_revision() -> None:
    assert payment_identifier("auto_x", 3) == "auto_x_3"
