"""Latencies as counts of classes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.gateway.analytics.latency import (
    CLASSES,
    add_counts,
    class_limit_ms,
    latency_class,
    percentile_ms,
)


def counts_of(latencies: list[int]) -> list[int]:
    counts = [0] * CLASSES
    for each in latencies:
        counts[latency_class(each)] += 1
    return counts


@given(st.integers(0, 400_000))
def test_latency_lies_in_its_class(ms: int) -> None:
    number = latency_class(ms)
    assert ms <= class_limit_ms(number) + 1e-6
    assert number == 0 or ms > class_limit_ms(number - 1) - 1e-6


@given(st.lists(st.integers(1, 400_000), min_size=1, max_size=200), st.sampled_from([50, 95, 99]))
def test_percentile_is_within_a_fifth_of_the_exact_one(latencies: list[int], percent: int) -> None:
    exact = sorted(latencies)[-(-len(latencies) * percent // 100) - 1]
    found = percentile_ms(counts_of(latencies), percent)
    assert found is not None
    assert exact - 1 <= found <= exact * 1.19 + 1


@pytest.mark.parametrize("percent", [50, 99])
def test_nothing_has_no_percentile(percent: int) -> None:
    assert percentile_ms([0] * CLASSES, percent) is None


def test_last_class_has_everything_above() -> None:
    assert latency_class(10**9) == CLASSES - 1
    assert percentile_ms(counts_of([10**9]), 50) is not None


def test_counts_are_added_class_by_class() -> None:
    assert add_counts(counts_of([1, 5]), counts_of([5])) == counts_of([1, 5, 5])
