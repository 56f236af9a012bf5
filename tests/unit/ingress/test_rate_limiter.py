"""The token buckets of one process."""

import pytest

from farebox.ingress.rate_limiter import TokenBuckets


def test_bucket_holds_one_minute_plus_one_and_refills_evenly() -> None:
    buckets = TokenBuckets()
    assert [buckets.acquire("a", per_minute=6, now=0) for _ in range(8)] == [0.0] * 7 + [
        pytest.approx(10)
    ]
    assert buckets.acquire("a", per_minute=6, now=9) == pytest.approx(1.0)
    assert buckets.acquire("a", per_minute=6, now=10) == 0.0
    assert buckets.acquire("b", per_minute=6, now=10) == 0.0
    assert [buckets.acquire("a", per_minute=6, now=999) for _ in range(8)] == [0.0] * 7 + [
        pytest.approx(10)
    ]


def test_closed_bucket_refuses_until_its_time() -> None:
    buckets = TokenBuckets()
    buckets.acquire("a", per_minute=6, now=0)
    buckets.close("a", until=30)
    buckets.close("a", until=20)
    assert buckets.acquire("a", per_minute=6, now=5) == 25
    assert buckets.wait_s("a", per_minute=6, now=29) == 1
    assert buckets.acquire("a", per_minute=6, now=30) == 0
    assert buckets.wait_s("b", per_minute=6, now=5) == 0
    buckets.close("never seen", until=99)
    assert buckets.acquire("never seen", per_minute=6, now=0) == 0


def test_refused_request_takes_no_tokens() -> None:
    buckets = TokenBuckets()
    for n in range(100):
        assert buckets.acquire("a", per_minute=6, now=n) == 0
        buckets.close("a", until=n)


def test_idle_buckets_are_dropped_first_at_the_maximum() -> None:
    buckets = TokenBuckets(max_names=100)
    for n in range(1_000):
        buckets.acquire(f"name {n}", per_minute=1, now=0)
        buckets.acquire("busy", per_minute=1, now=0)
    assert len(buckets) == 100
    assert buckets.acquire("busy", per_minute=1, now=0) > 0, "a busy bucket is not dropped"


def test_request_of_higher_cost_takes_more_tokens_and_waits_longer() -> None:
    buckets = TokenBuckets()
    assert buckets.acquire("a", per_minute=6, now=0, cost=3) == 0
    assert buckets.acquire("a", per_minute=6, now=0, cost=3) == 0
    assert buckets.wait_s("a", per_minute=6, now=0, cost=3) == pytest.approx(20)
    assert buckets.acquire("a", per_minute=6, now=0) == 0, "enough is left for a request of cost 1"
    assert buckets.acquire("a", per_minute=6, now=29, cost=3) == pytest.approx(1)
    assert buckets.acquire("a", per_minute=6, now=30, cost=3) == 0
    buckets.close("a", until=40, cost=3)
    assert buckets.acquire("a", per_minute=6, now=40, cost=3) == 0, (
        "a refused request costs nothing"
    )
