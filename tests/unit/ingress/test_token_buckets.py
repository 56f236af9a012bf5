"""What one process knows of who asks too often."""

import pytest

from farebox.ingress.token_buckets import TokenBuckets


def test_a_minutes_worth_and_one_are_there_and_come_back_evenly() -> None:
    buckets = TokenBuckets()
    assert [buckets.take("a", most=6, now=0) for _ in range(8)] == [0.0] * 7 + [pytest.approx(10)]
    assert buckets.take("a", most=6, now=9) == pytest.approx(1.0)
    assert buckets.take("a", most=6, now=10) == 0.0
    assert buckets.take("b", most=6, now=10) == 0.0
    assert [buckets.take("a", most=6, now=999) for _ in range(8)] == [0.0] * 7 + [pytest.approx(10)]


def test_a_closed_name_takes_nothing_until_then() -> None:
    buckets = TokenBuckets()
    buckets.take("a", most=6, now=0)
    buckets.close("a", until=30)
    buckets.close("a", until=20)
    assert buckets.take("a", most=6, now=5) == 25
    assert buckets.wait_s("a", most=6, now=29) == 1
    assert buckets.take("a", most=6, now=30) == 0
    assert buckets.wait_s("b", most=6, now=5) == 0
    buckets.close("never seen", until=99)
    assert buckets.take("never seen", most=6, now=0) == 0


def test_what_is_refused_for_all_costs_nothing_here() -> None:
    buckets = TokenBuckets()
    for n in range(100):
        assert buckets.take("a", most=6, now=n) == 0
        buckets.close("a", until=n)


def test_no_more_names_are_kept_than_allowed_and_the_idle_ones_go_first() -> None:
    buckets = TokenBuckets(most_names=100)
    for n in range(1_000):
        buckets.take(f"name {n}", most=1, now=0)
        buckets.take("busy", most=1, now=0)
    assert len(buckets) == 100
    assert buckets.take("busy", most=1, now=0) > 0, "who keeps asking is not forgotten"
