"""The JSON of a wrapper's analytics."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Self

import msgspec
from msgspec import Meta

from farebox.gateway.analytics.read_analytics import WrapperAnalytics
from farebox.gateway.analytics.request_store import StoredRequest
from farebox.gateway.analytics.sales_store import DayRevenue, WrapperPayment
from farebox.gateway.analytics.summary import RequestSummary, group_by_day, summarize
from farebox.kernel.pages import Moment, PaginationBody, PlaceBody


class RevenueBody(msgspec.Struct, rename="camel"):
    """The payments in one token; `amount` is in base units."""

    network: str
    asset: str
    amount: str
    payments: int


class SummaryBody(msgspec.Struct, rename="camel"):
    """Counts and latencies of requests; a latency is null without requests.

    The percentiles are those of delivered requests, within a fifth.
    """

    requests: int
    successful: int
    average_latency_ms: int | None
    p50_latency_ms: int | None
    p95_latency_ms: int | None
    p99_latency_ms: int | None
    request_bytes: int
    response_bytes: int
    outcomes: dict[str, int]
    errors: dict[str, int]


class DayBody(msgspec.Struct, rename="camel"):
    """One UTC day."""

    day: date
    summary: SummaryBody
    revenue: list[RevenueBody]


class RecordedRequestBody(msgspec.Struct, rename="camel"):
    """One request; it holds no header, no body and no query."""

    request_id: str
    method: str
    path: str
    status: int
    outcome: str
    error_code: str | None
    duration_ms: int
    request_bytes: int
    response_bytes: int
    transaction: str | None
    at: Moment


class LandedPaymentBody(msgspec.Struct, rename="camel"):
    """One payment that has landed; `/v1/payments` shows more of it."""

    network: str
    asset: str
    amount: str
    pay_to: str
    transaction: str
    state: str
    settled_at: Moment


class AnalyticsBody(msgspec.Struct, rename="camel"):
    """The analytics of a wrapper: `owed` counts payments that are to be paid back.

    `payments` are the last hundred.
    """

    summary: SummaryBody
    owed: int
    days: list[DayBody]
    payments: list[LandedPaymentBody]
    requests: list[RecordedRequestBody]
    pagination: PaginationBody


class RequestPlace(PlaceBody):
    """The end of a page of requests."""

    id: Annotated[str, Meta(pattern=r"^[0-9]{1,18}\Z")]

    @classmethod
    def of_request(cls, stored: StoredRequest) -> Self:
        """The position of a request."""
        return cls.of((stored.request.at, str(stored.id)))


def analytics_body(
    read: WrapperAnalytics,
    requests: Sequence[StoredRequest],
    *,
    limit: int,
    next_cursor: str | None,
) -> AnalyticsBody:
    """Render the analytics, with one page of requests."""
    grouped = group_by_day(read.days)
    days = sorted({*grouped, *(each.day for each in read.revenue)}, reverse=True)
    return AnalyticsBody(
        summary=_summary_body(summarize(read.days)),
        owed=read.owed,
        days=[
            DayBody(
                day,
                _summary_body(summarize(grouped.get(day, []))),
                [_revenue_body(each) for each in read.revenue if each.day == day],
            )
            for day in days
        ],
        payments=list(map(_payment_body, read.payments)),
        requests=list(map(_request_body, requests)),
        pagination=PaginationBody(limit, next_cursor),
    )


def _summary_body(summary: RequestSummary) -> SummaryBody:
    return SummaryBody(
        requests=summary.requests,
        successful=summary.successful,
        average_latency_ms=summary.average_ms,
        p50_latency_ms=summary.p50_ms,
        p95_latency_ms=summary.p95_ms,
        p99_latency_ms=summary.p99_ms,
        request_bytes=summary.request_bytes,
        response_bytes=summary.response_bytes,
        outcomes={outcome.value: count for outcome, count in summary.outcomes.items()},
        errors=dict(summary.errors),
    )


def _revenue_body(revenue: DayRevenue) -> RevenueBody:
    return RevenueBody(revenue.network.value, revenue.asset, str(revenue.amount), revenue.payments)


def _payment_body(payment: WrapperPayment) -> LandedPaymentBody:
    return LandedPaymentBody(
        payment.network.value,
        payment.asset,
        str(payment.amount),
        payment.pay_to,
        payment.tx_hash,
        payment.state,
        payment.paid_at,
    )


def _request_body(stored: StoredRequest) -> RecordedRequestBody:
    request = stored.request
    return RecordedRequestBody(
        request_id=request.request_id,
        method=request.method,
        path=request.path,
        status=request.status,
        outcome=request.outcome.value,
        error_code=request.error_code,
        duration_ms=request.duration_ms,
        request_bytes=request.request_bytes,
        response_bytes=request.response_bytes,
        transaction=request.tx_hash or None,
        at=request.at,
    )
