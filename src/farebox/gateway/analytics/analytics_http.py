"""`/v1/wrappers/{id}/analytics`: the declared route and its handler."""

from typing import Final, Protocol

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.gateway.analytics.read_analytics import Analytics
from farebox.gateway.analytics.wire import AnalyticsBody, RequestPlace, analytics_body
from farebox.kernel.caller import Grant, OwnerId
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Parameter,
    ResponseDeclaration,
    RouteDeclaration,
    integer,
    record_id,
)
from farebox.web.guard import Access, caller_of
from farebox.web.paging import PAGE_ERRORS, PAGE_PARAMETERS, cut_page, read_page
from farebox.web.query_string import read_values
from farebox.web.responses import send_json

_DEFAULT_DAYS: Final = 30
_MAX_DAYS: Final = 366
_NONE: Final[dict[str, object]] = {
    "requests": 0,
    "successful": 0,
    "averageLatencyMs": None,
    "p50LatencyMs": None,
    "p95LatencyMs": None,
    "p99LatencyMs": None,
    "requestBytes": 0,
    "responseBytes": 0,
    "outcomes": {},
    "errors": {},
}
_encode: Final = msgspec.json.Encoder().encode

ANALYTICS: Final = RouteDeclaration(
    method="GET",
    path="/v1/wrappers/{id}/analytics",
    tag="wrappers",
    summary="Requests, latencies and revenue of one of your wrappers.",
    responses={200: ResponseDeclaration("The analytics.", AnalyticsBody)},
    parameters=(
        record_id("The wrapper's id.", prefix="wrp"),
        *PAGE_PARAMETERS,
        Parameter("days", "UTC days that are summed up, today included.", integer(1, _MAX_DAYS)),
    ),
    access=Access(Grant.WRAPPERS),
    errors=(*PAGE_ERRORS, ErrorCode.INVALID_FILTER, ErrorCode.NOT_FOUND),
    example=Example(
        response={
            "summary": _NONE,
            "owed": 0,
            "days": [],
            "payments": [],
            "requests": [],
            "pagination": {"limit": 20, "nextCursor": None},
        }
    ),
)


class WrapperOwner(Protocol):
    """Finds an owner's wrapper, as `Wrappers` does."""

    async def find(self, owner: OwnerId, wrapper_id: str) -> object:
        """Find the owner's wrapper.

        Raises:
            NotFound: the owner has no such wrapper.
        """
        ...


class ShowAnalytics:
    """Shows the analytics of one of the caller's wrappers."""

    def __init__(self, analytics: Analytics, wrappers: WrapperOwner) -> None:
        self._analytics, self._wrappers = analytics, wrappers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page, days = read_page(scope["query_string"], RequestPlace), _read_days(scope)
        wrapper_id = scope["path_params"]["id"]
        await self._wrappers.find(caller_of(scope).owner, wrapper_id)
        after = page.after.place if page.after else None
        read = await self._analytics.read(
            wrapper_id,
            days=days,
            after=None if after is None else (after[0], int(after[1])),
            limit=page.limit + 1,
        )
        shown, cursor = cut_page(read.requests, page.limit, RequestPlace.of_request)
        body = analytics_body(read, shown, limit=page.limit, next_cursor=cursor)
        await send_json(send, 200, _encode(body))


def analytics_endpoints(analytics: Analytics, wrappers: WrapperOwner) -> list[Endpoint]:
    """Return the route of analytics."""
    return [Endpoint(ANALYTICS, ShowAnalytics(analytics, wrappers))]


def _read_days(scope: Scope) -> int:
    """Read `days` of a query string that `read_page` has accepted."""
    values = read_values(scope["query_string"], "days")
    if not values:
        return _DEFAULT_DAYS
    digits = values.pop()
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= 3
    if values or not is_number or not 1 <= int(digits) <= _MAX_DAYS:
        message = f"Look at days. It is one whole number from 1 to {_MAX_DAYS}."
        raise Refusal(ErrorCode.INVALID_FILTER, message)
    return int(digits)
