"""Bids and ceilings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.kernel.amounts import Stroops
from farebox.stellar.fees import (
    FeeOverCeiling,
    FeePlan,
    FeePolicy,
    inclusion_bid,
    plan_fees,
)
from farebox.stellar.rpc import FeeStats, InclusionFees


def market(*, p90: int = 0, p99: int = 0, maximum: int = 0) -> FeeStats:
    fees = InclusionFees(0, maximum, 0, 0, p90, p90, p99, 5, 50)
    return FeeStats(fees, latest_ledger=9)


def policy(*, ceiling: int = 500_000, cap: int = 100_000) -> FeePolicy:
    return FeePolicy(Stroops(ceiling), Stroops(cap))


@pytest.mark.parametrize(
    ("attempt", "bid"), [(0, 400), (1, 900), (2, 1_600), (3, 3_200), (4, 5_000), (400, 5_000)]
)
def test_each_attempt_bids_more_up_to_the_cap(attempt: int, bid: int) -> None:
    stats = market(p99=200, maximum=900)
    assert inclusion_bid(stats, attempt=attempt, cap=Stroops(5_000)) == bid


def test_an_idle_network_is_bid_its_minimum() -> None:
    assert inclusion_bid(market(), attempt=0, cap=Stroops(5_000)) == 100


def test_a_cap_below_the_networks_minimum_cannot_push_the_bid_under_it() -> None:
    assert inclusion_bid(market(p99=900), attempt=0, cap=Stroops(1)) == 100


def test_an_unknown_market_is_bid_more_than_the_minimum_and_more_each_time() -> None:
    bids = [inclusion_bid(None, attempt=n, cap=Stroops(100_000)) for n in range(3)]
    assert bids == [1_000, 2_000, 4_000]


def test_a_plain_settlement_pays_resources_and_bid() -> None:
    plan = plan_fees(23_000, market(p99=75), policy(), fee_bumped=False)
    assert plan == FeePlan(Stroops(150), Stroops(23_000), Stroops(23_150), None)
    assert plan.highest_charge == 23_150


def test_a_fee_bump_bids_for_two_operations() -> None:
    plan = plan_fees(23_000, market(p99=75), policy(), fee_bumped=True)
    assert plan == FeePlan(Stroops(150), Stroops(23_000), Stroops(23_150), Stroops(23_300))
    assert plan.highest_charge == 23_300


def test_the_bid_gives_way_to_the_ceiling_down_to_the_minimum() -> None:
    busy = market(p99=50_000)
    plan = plan_fees(23_000, busy, policy(ceiling=24_000), fee_bumped=False)
    assert isinstance(plan, FeePlan)
    assert (plan.inclusion_bid, plan.highest_charge) == (1_000, 24_000)


@pytest.mark.parametrize(("fee_bumped", "most"), [(False, 499_900), (True, 499_800)])
def test_resources_over_the_ceiling_are_refused_with_what_they_would_cost(
    fee_bumped: bool, most: int
) -> None:
    assert isinstance(plan_fees(most, None, policy(), fee_bumped=fee_bumped), FeePlan)
    refused = plan_fees(most + 1, None, policy(), fee_bumped=fee_bumped)
    assert refused == FeeOverCeiling(Stroops(500_001), Stroops(500_000))


def test_the_rent_of_a_days_first_settlement_is_paid_under_the_default_ceiling() -> None:
    plan = plan_fees(151_550, market(p99=200), FeePolicy(), fee_bumped=True)
    assert isinstance(plan, FeePlan)
    assert plan.highest_charge == 151_550 + 2 * 400
    assert isinstance(
        plan_fees(151_550, None, policy(ceiling=151_749), fee_bumped=True), FeeOverCeiling
    )


@pytest.mark.parametrize(("wanted", "bid"), [(23_300, 400), (24_000, 500), (24_001, 501)])
def test_the_fee_a_node_wants_is_the_least_that_is_offered(wanted: int, bid: int) -> None:
    plan = plan_fees(23_000, market(p99=200), policy(), fee_bumped=True, floor=Stroops(wanted))
    assert isinstance(plan, FeePlan)
    assert plan.inclusion_bid == bid
    assert plan.highest_charge >= wanted


@pytest.mark.parametrize("limits", [policy(ceiling=24_001), policy(cap=500)])
def test_a_fee_wanted_beyond_the_operators_limits_is_not_offered(limits: FeePolicy) -> None:
    refused = plan_fees(23_000, None, limits, fee_bumped=True, floor=Stroops(24_002))
    assert refused == FeeOverCeiling(Stroops(24_002), limits.ceiling)


def test_a_fee_no_envelope_can_hold_is_refused_whatever_the_ceiling() -> None:
    most = 2**32 - 1
    generous = policy(ceiling=2**40)
    assert isinstance(plan_fees(most - 100, None, generous, fee_bumped=False), FeePlan)
    assert isinstance(plan_fees(most - 99, None, generous, fee_bumped=False), FeeOverCeiling)


def test_a_resource_fee_that_cannot_be_is_refused() -> None:
    assert plan_fees(-1, None, policy(), fee_bumped=False) == FeeOverCeiling(
        Stroops(100), Stroops(500_000)
    )


@given(
    resource_fee=st.integers(-(2**63), 2**63),
    ceiling=st.integers(0, 2**40),
    cap=st.integers(0, 2**40),
    attempt=st.integers(0, 100),
    p90=st.integers(0, 10**12),
    fee_bumped=st.booleans(),
)
def test_no_plan_ever_exceeds_the_ceiling_or_what_an_envelope_can_hold(
    resource_fee: int, ceiling: int, cap: int, attempt: int, p90: int, fee_bumped: bool
) -> None:
    stats = market(p90=p90, p99=p90, maximum=p90)
    allowed = policy(ceiling=ceiling, cap=cap)
    plan = plan_fees(resource_fee, stats, allowed, fee_bumped=fee_bumped, attempt=attempt)
    if isinstance(plan, FeeOverCeiling):
        cheapest = resource_fee + (200 if fee_bumped else 100)
        assert resource_fee < 0 or cheapest > min(ceiling, 2**32 - 1)
        return
    assert plan.envelope_fee <= plan.highest_charge <= ceiling
    assert plan.envelope_fee < 2**32
    assert plan.envelope_fee == plan.resource_fee + plan.inclusion_bid
    assert plan.inclusion_bid >= 100
    assert (plan.bump_fee is not None) is fee_bumped
