"""Prices of runs in whole base units."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.automation.plans.quote import (
    PriceList,
    Quote,
    QuotedFees,
    install_limit,
    make_quote,
    payment_identifier,
    price_run,
)
from farebox.kernel.amounts import BaseUnits, Stroops
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


def quoted(prices: PriceList = PRICES, *, fee: int = 100_000, **changes: Any) -> Quote:
    given: dict[str, Any] = {
        "runs": 12,
        "legs": 1,
        "fees": QuotedFees(Stroops(fee)),
        "revision": 1,
        "now": START,
    }
    return make_quote(prices, **(given | changes))


@promise("automation:finite-runs")
def test_quote_has_the_setup_once_and_lives_for_a_quarter_of_an_hour() -> None:
    quote = quoted(revision=3)
    assert (quote.per_run, quote.setup, quote.total) == (75_000, 500, 900_500)
    assert quote.is_current(START + timedelta(minutes=15))
    assert not quote.is_current(START + timedelta(minutes=15, seconds=1))
    more = quoted(runs=2, revision=4, is_top_up=True)
    assert (more.setup, more.total, more.revision) == (0, 150_000, 4)


def test_run_of_several_transactions_costs_the_fee_of_each() -> None:
    assert quoted(legs=3).per_run == 3 * 75_000


def test_network_where_runs_are_free_has_the_price_zero() -> None:
    free = replace(PRICES, is_free=True)
    assert quoted(free, fee=10**9).total == 0
    assert quoted(free, fees=QuotedFees(Stroops(1), Stroops(10**7))).total == 0


@pytest.mark.parametrize(
    ("floor", "rate", "setup"),
    [
        (1_000, 2_500_000, 3_750_000),  # half as much again as one XLM
        (1_000, 0, 1_000),  # without a rate the floor of a run
        (10**7, 2_500_000, 10**7),
    ],
)
def test_installation_is_always_charged_with_more_than_it_costs(
    floor: int, rate: int, setup: int
) -> None:
    prices = PriceList(USDC, BaseUnits(floor), BaseUnits(0), rate)
    quote = quoted(prices, fees=QuotedFees(Stroops(100_000), Stroops(10_000_000)))
    assert quote.setup == setup
    assert install_limit(quote.fees.install) == 15_000_000


def test_plan_that_installs_nothing_pays_the_operators_setup_price() -> None:
    assert quoted(replace(PRICES, setup=BaseUnits(0))).setup == 0


@pytest.mark.parametrize(
    ("credit", "runs", "total"),
    [
        (0, 0, 900_500),
        (-1, 0, 900_500),
        (5 * 75_000, 5, 7 * 75_000 + 500),
        (5 * 75_000 - 1, 4, 7 * 75_000 + 501),
        (900_499, 12, 1),
        (10**9, 12, 0),
    ],
)
def test_credit_is_an_amount_that_is_used_first(credit: int, runs: int, total: int) -> None:
    quote = quoted(credit=credit)
    assert (quote.from_credit, quote.total) == (runs, total)
    assert quote.credit == 900_500 - total


def test_credit_is_kept_where_runs_cost_nothing() -> None:
    quote = quoted(replace(PRICES, is_free=True), credit=5)
    assert (quote.from_credit, quote.credit, quote.total) == (0, 0, 0)


def test_payment_identifier_has_plan_and_revision() -> None:
    assert payment_identifier("auto_x", 3) == "auto_x_3"
