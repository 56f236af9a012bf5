"""The sums of a wrapper's requests over some days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from farebox.gateway.analytics.latency import CLASSES, add_counts, percentile_ms
from farebox.gateway.analytics.recorded_request import RequestOutcome
from farebox.gateway.analytics.request_store import WrapperDay

_SUCCESSFUL: Final = frozenset({RequestOutcome.UPSTREAM_SUCCESS, RequestOutcome.REPLAYED})


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """Counts and latencies of requests; latencies are None without requests.

    The percentiles are those of paid requests that were delivered.
    """

    requests: int
    successful: int
    average_ms: int | None
    p50_ms: int | None
    p95_ms: int | None
    p99_ms: int | None
    request_bytes: int
    response_bytes: int
    outcomes: Mapping[RequestOutcome, int]
    errors: Mapping[str, int]  # by error code


def summarize(days: Sequence[WrapperDay]) -> RequestSummary:
    """Sum up the days of one wrapper."""
    requests = sum(each.requests for each in days)
    delivered = [each for each in days if each.outcome is RequestOutcome.UPSTREAM_SUCCESS]
    latencies = [0] * CLASSES
    for each in delivered:
        latencies = add_counts(latencies, each.latencies)
    outcomes: dict[RequestOutcome, int] = {}
    errors: dict[str, int] = {}
    for each in days:
        outcomes[each.outcome] = outcomes.get(each.outcome, 0) + each.requests
        if each.error_code:
            errors[each.error_code] = errors.get(each.error_code, 0) + each.requests
    return RequestSummary(
        requests=requests,
        successful=sum(each.requests for each in days if each.outcome in _SUCCESSFUL),
        average_ms=sum(each.duration_ms for each in days) // requests if requests else None,
        p50_ms=percentile_ms(latencies, 50),
        p95_ms=percentile_ms(latencies, 95),
        p99_ms=percentile_ms(latencies, 99),
        request_bytes=sum(each.request_bytes for each in days),
        response_bytes=sum(each.response_bytes for each in days),
        outcomes=outcomes,
        errors=errors,
    )


def group_by_day(days: Sequence[WrapperDay]) -> dict[date, list[WrapperDay]]:
    """Group sums by their day, the newest first."""
    grouped: dict[date, list[WrapperDay]] = {}
    for each in sorted(days, key=lambda each: each.day, reverse=True):
        grouped.setdefault(each.day, []).append(each)
    return grouped
