"""Fee plans: inclusion fees, ceilings and replacements."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.kernel.amounts import Stroops
from farebox.stellar.fees import (
    FeeOverCeiling,
    FeePlan,
    FeePolicy,
    choose_inclusion_fee,
    plan_fees,
    raise_inclusion_fee,
)
from farebox.stellar.rpc import FeeStats


def market(*, p99: int = 0, maximum: int = 0) -> FeeStats:
    return FeeStats(p99, maximum, latest_ledger=9)


def policy(*, ceiling: int = 500_000, cap: int = 100_000) -> FeePolicy:
    return FeePolicy(Stroops(ceiling), Stroops(cap))


@pytest.mark.parametrize(
    ("attempt", "fee"), [(0, 400), (1, 900), (2, 1_600), (3, 3_200), (4, 5_000), (400, 5_000)]
)
def test_inclusion_fee_rises_with_each_attempt_up_to_the_cap(attempt: int, fee: int) -> None:
    stats = market(p99=200, maximum=900)
    assert choose_inclusion_fee(stats, attempt=attempt, cap=Stroops(5_000)) == fee


def test_inclusion_fee_is_the_minimum_on_an_idle_network() -> None:
    assert choose_inclusion_fee(market(), attempt=0, cap=Stroops(5_000)) == 100


def test_inclusion_fee_is_never_below_the_network_minimum() -> None:
    assert choose_inclusion_fee(market(p99=900), attempt=0, cap=Stroops(1)) == 100


def test_inclusion_fee_rises_from_above_the_minimum_when_fee_stats_are_unknown() -> None:
    fees = [choose_inclusion_fee(None, attempt=n, cap=Stroops(100_000)) for n in range(3)]
    assert fees == [1_000, 2_000, 4_000]


def test_plan_without_a_fee_bump_adds_resource_and_inclusion_fee() -> None:
    plan = plan_fees(23_000, market(p99=75), policy(), fee_bumped=False)
    assert plan == FeePlan(Stroops(150), Stroops(23_000), Stroops(23_150), None)
    assert plan.highest_charge == 23_150


def test_plan_with_a_fee_bump_pays_inclusion_for_two_operations() -> None:
    plan = plan_fees(23_000, market(p99=75), policy(), fee_bumped=True)
    assert plan == FeePlan(Stroops(150), Stroops(23_000), Stroops(23_150), Stroops(23_300))
    assert plan.highest_charge == 23_300


def test_inclusion_fee_shrinks_to_fit_the_ceiling() -> None:
    busy = market(p99=50_000)
    plan = plan_fees(23_000, busy, policy(ceiling=24_000), fee_bumped=False)
    assert isinstance(plan, FeePlan)
    assert (plan.inclusion_fee, plan.highest_charge) == (1_000, 24_000)


@pytest.mark.parametrize(("fee_bumped", "most"), [(False, 499_900), (True, 499_800)])
def test_resource_fee_over_the_ceiling_is_refused_with_its_cost(
    fee_bumped: bool, most: int
) -> None:
    assert isinstance(plan_fees(most, None, policy(), fee_bumped=fee_bumped), FeePlan)
    refused = plan_fees(most + 1, None, policy(), fee_bumped=fee_bumped)
    assert refused == FeeOverCeiling(Stroops(500_001), Stroops(500_000))


def test_default_ceiling_covers_the_rent_of_the_first_settlement_of_a_day() -> None:
    plan = plan_fees(151_550, market(p99=200), FeePolicy(), fee_bumped=True)
    assert isinstance(plan, FeePlan)
    assert plan.highest_charge == 151_550 + 2 * 400
    assert isinstance(
        plan_fees(151_550, None, policy(ceiling=151_749), fee_bumped=True), FeeOverCeiling
    )


@pytest.mark.parametrize(("wanted", "fee"), [(23_300, 400), (24_000, 500), (24_001, 501)])
def test_plan_offers_at_least_the_fee_a_node_requires(wanted: int, fee: int) -> None:
    plan = plan_fees(23_000, market(p99=200), policy(), fee_bumped=True, floor=Stroops(wanted))
    assert isinstance(plan, FeePlan)
    assert plan.inclusion_fee == fee
    assert plan.highest_charge >= wanted


@pytest.mark.parametrize("limits", [policy(ceiling=24_001), policy(cap=500)])
def test_required_fee_over_the_operators_limits_is_refused(limits: FeePolicy) -> None:
    refused = plan_fees(23_000, None, limits, fee_bumped=True, floor=Stroops(24_002))
    assert refused == FeeOverCeiling(Stroops(24_002), limits.ceiling)


def test_fee_over_the_envelopes_maximum_is_refused_at_any_ceiling() -> None:
    most = 2**32 - 1
    generous = policy(ceiling=2**40)
    assert isinstance(plan_fees(most - 100, None, generous, fee_bumped=False), FeePlan)
    assert isinstance(plan_fees(most - 99, None, generous, fee_bumped=False), FeeOverCeiling)


def test_negative_resource_fee_is_refused() -> None:
    assert plan_fees(-1, None, policy(), fee_bumped=False) == FeeOverCeiling(
        Stroops(100), Stroops(500_000)
    )


@given(
    resource_fee=st.integers(-(2**63), 2**63),
    ceiling=st.integers(0, 2**40),
    cap=st.integers(0, 2**40),
    attempt=st.integers(0, 100),
    p99=st.integers(0, 10**12),
    fee_bumped=st.booleans(),
)
def test_plan_never_exceeds_the_ceiling_or_the_envelopes_maximum(
    resource_fee: int, ceiling: int, cap: int, attempt: int, p99: int, fee_bumped: bool
) -> None:
    stats = market(p99=p99, maximum=p99)
    allowed = policy(ceiling=ceiling, cap=cap)
    plan = plan_fees(resource_fee, stats, allowed, fee_bumped=fee_bumped, attempt=attempt)
    if isinstance(plan, FeeOverCeiling):
        cheapest = resource_fee + (200 if fee_bumped else 100)
        assert resource_fee < 0 or cheapest > min(ceiling, 2**32 - 1)
        return
    assert plan.envelope_fee <= plan.highest_charge <= ceiling
    assert plan.envelope_fee < 2**32
    assert plan.envelope_fee == plan.resource_fee + plan.inclusion_fee
    assert plan.inclusion_fee >= 100
    assert (plan.bump_fee is not None) is fee_bumped


LAST = FeePlan(Stroops(400), Stroops(23_000), Stroops(23_400), Stroops(23_800))


def raised(limits: FeePolicy, *, floor: int | None = None, last: FeePlan = LAST) -> FeePlan | None:
    """The fees of the first replacement, a fee bump, in an idle market."""
    wanted = None if floor is None else Stroops(floor)
    return raise_inclusion_fee(last, market(), limits, fee_bumped=True, attempt=1, floor=wanted)


def test_replacement_doubles_the_inclusion_fee() -> None:
    assert raised(policy()) == FeePlan(
        Stroops(800), Stroops(23_000), Stroops(23_800), Stroops(24_600)
    )


def test_replacement_pays_what_the_node_requires_when_that_is_more() -> None:
    again = raised(policy(), floor=26_001)
    assert again is not None
    assert (again.inclusion_fee, again.bump_fee) == (1_501, 26_002)


def test_replacement_pays_less_than_double_when_a_limit_is_nearer() -> None:
    for limits in (policy(cap=500), policy(ceiling=24_000)):
        again = raised(limits)
        assert again is not None
        assert again.inclusion_fee == 500


def test_replacement_without_a_fee_bump_counts_one_operation() -> None:
    plain = replace(LAST, bump_fee=None)
    again = raise_inclusion_fee(
        plain, market(), policy(ceiling=23_500), fee_bumped=False, attempt=1, floor=None
    )
    assert again == FeePlan(Stroops(500), Stroops(23_000), Stroops(23_500), None)


@pytest.mark.parametrize("limits", [policy(cap=400), policy(ceiling=23_800), policy(cap=300)])
def test_replacement_is_none_when_the_envelope_paid_the_maximum(limits: FeePolicy) -> None:
    assert raised(limits) is None


def test_replacement_is_none_when_the_node_requires_more_than_the_ceiling() -> None:
    assert raised(policy(), floor=600_000) is None
