"""The token buckets of one process."""

import pytest

from farebox.ingress.rate_limiter import TokenBuckets


def test_bucket_holds_one_minute_and_refills_evenly() -> None:
    buckets = TokenBuckets()
    minute = [0.0] * 6 + [pytest.approx(10)]
    assert [buckets.acquire("a", per_minute=6, now=0) for _ in range(7)] == minute
    assert buckets.acquire("a", per_minute=6, now=9) == pytest.approx(1.0)
    assert buckets.acquire("a", per_minute=6, now=10) == 0.0
    assert buckets.acquire("b", per_minute=6, now=10) == 0.0
    assert [buckets.acquire("a", per_minute=6, now=999) for _ in range(7)] == minute


def test_closed_name_is_closed_until_its_time() -> None:
    buckets = TokenBuckets()
    buckets.acquire("a", per_minute=6, now=0)
    buckets.close("a", until=30)
    buckets.close("a", until=20)
    assert buckets.closed_s("a", now=5) == 25
    assert buckets.closed_s("a", now=30) == 0
    assert buckets.closed_s("b", now=5) == 0
    buckets.close("never seen", until=99)
    assert buckets.closed_s("never seen", now=0) == 0


def test_idle_buckets_are_dropped_first_at_the_maximum() -> None:
    buckets = TokenBuckets(max_names=100)
    for n in range(1_000):
        buckets.acquire(f"name {n}", per_minute=1, now=0)
        buckets.acquire("busy", per_minute=1, now=0)
    assert len(buckets) == 100
    assert buckets.acquire("busy", per_minute=1, now=0) > 0, "a busy bucket is not dropped"


def test_request_of_higher_cost_takes_more_tokens_and_waits_longer() -> None:
    buckets = TokenBuckets()
    assert buckets.acquire("a", per_minute=7, now=0, cost=3) == 0
    assert buckets.acquire("a", per_minute=7, now=0, cost=3) == 0
    wait_s = buckets.wait_s("a", per_minute=7, now=0, cost=3)
    assert wait_s == pytest.approx(2 * 60 / 7)
    assert buckets.acquire("a", per_minute=7, now=0) == 0, "enough is left for a request of cost 1"
    wait_s = buckets.acquire("a", per_minute=7, now=0, cost=3)
    assert wait_s == pytest.approx(3 * 60 / 7)
    assert buckets.acquire("a", per_minute=7, now=wait_s, cost=3) == 0
