"""The sums of a wrapper's requests."""

from datetime import date

from farebox.gateway.analytics.latency import CLASSES, latency_class
from farebox.gateway.analytics.recorded_request import RequestOutcome
from farebox.gateway.analytics.request_store import WrapperDay
from farebox.gateway.analytics.summary import group_by_day, summarize

SUCCESS = RequestOutcome.UPSTREAM_SUCCESS


def day(number: int, outcome: RequestOutcome, latencies: list[int], code: str = "") -> WrapperDay:
    counts = [0] * CLASSES
    for each in latencies:
        counts[latency_class(each)] += 1
    return WrapperDay(
        day=date(2026, 11, number),
        outcome=outcome,
        error_code=code,
        requests=len(latencies),
        duration_ms=sum(latencies),
        request_bytes=len(latencies),
        response_bytes=10 * len(latencies),
        latencies=tuple(counts),
    )


def test_summary_adds_days_outcomes_and_errors_up() -> None:
    days = [
        day(1, SUCCESS, [10] * 90 + [100] * 8 + [5000] * 2),
        day(2, RequestOutcome.REPLAYED, [1]),
        day(2, RequestOutcome.UPSTREAM_ERROR, [30_000] * 3, "upstream_timeout"),
        day(1, RequestOutcome.UPSTREAM_ERROR, [40_000], "upstream_timeout"),
        day(2, RequestOutcome.CHALLENGED, [1] * 5),
    ]
    summary = summarize(days)
    assert (summary.requests, summary.successful) == (110, 101)
    assert (summary.request_bytes, summary.response_bytes) == (110, 1100)
    assert summary.outcomes[RequestOutcome.UPSTREAM_ERROR] == 4
    assert summary.errors == {"upstream_timeout": 4}
    assert summary.average_ms == (900 + 800 + 10_000 + 1 + 90_000 + 40_000 + 5) // 110
    percentiles = (summary.p50_ms, summary.p95_ms, summary.p99_ms)
    assert all(value is not None for value in percentiles)
    for value, exact in zip(percentiles, (10, 100, 5000), strict=True):
        assert value is not None
        assert exact - 1 <= value <= exact * 1.2


def test_nothing_is_summed_up_to_nothing() -> None:
    summary = summarize([])
    assert (summary.requests, summary.average_ms, summary.p50_ms) == (0, None, None)


def test_days_are_grouped_newest_first() -> None:
    days = [day(1, SUCCESS, [1]), day(3, SUCCESS, [1]), day(1, RequestOutcome.REPLAYED, [1])]
    grouped = group_by_day(days)
    assert list(grouped) == [date(2026, 11, 3), date(2026, 11, 1)]
    assert len(grouped[date(2026, 11, 1)]) == 2
