"""`/discovery/search`: the declared route and its handler."""

from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.catalog.browsing.query_string import (
    FILTER_NAMES,
    InvalidQueryString,
    QueryParameters,
    find_unapplied,
    read_filters,
    read_flag,
    read_limit,
    read_query_string,
    read_text,
)
from farebox.catalog.http import (
    FILTER_PARAMETERS,
    LIMIT_PARAMETER,
    LISTING_EXAMPLE,
    QUERY_ERRORS,
)
from farebox.kernel.error_codes import ErrorCode
from farebox.search.query.expression import MAX_QUERY, normalize_query
from farebox.search.search import QueryRequired, Search, SearchRequest
from farebox.search.wire import SearchBody, search_body
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Parameter,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
    one_of,
    text,
)
from farebox.web.guard import share_name
from farebox.web.responses import send_json

_encode: Final = msgspec.json.Encoder().encode
_MAX_CURSOR: Final = 10_000  # characters
_KNOWN: Final = FILTER_NAMES | {"query", "limit", "cursor", "explain"}

SEARCH: Final = RouteDeclaration(
    method="GET",
    path="/discovery/search",
    tag="discovery",
    summary="Listings that answer a query, the best first.",
    parameters=(
        Parameter(
            "query", "Words, quotes, or, minus.", text(max_length=MAX_QUERY), is_required=True
        ),
        *FILTER_PARAMETERS,
        LIMIT_PARAMETER,
        Parameter("cursor", "pagination.cursor of the page before.", text(max_length=_MAX_CURSOR)),
        Parameter("explain", "true: why each hit stands there.", one_of("true", "1", "false", "0")),
    ),
    responses={200: ResponseDeclaration("A page of listings.", SearchBody)},
    rate=Rate(RateClass.DISCOVERY, cost=3),  # 10 ms where browsing takes 3
    errors=(
        *QUERY_ERRORS,
        ErrorCode.INVALID_FLAG,
        ErrorCode.QUERY_REQUIRED,
        ErrorCode.QUERY_TOO_LONG,
        ErrorCode.INVALID_CURSOR,
        ErrorCode.CURSOR_MISMATCH,
        ErrorCode.CURSOR_EXPIRED,
    ),
    is_cross_origin=True,
    example=Example(
        response={
            "x402Version": 2,
            "resources": [LISTING_EXAMPLE],
            "partialResults": False,
            "pagination": {"limit": 20, "cursor": None},
        }
    ),
)


class SearchEndpoint:
    """The listings that answer a query, by page."""

    def __init__(self, search: Search) -> None:
        self._search = search

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parameters = read_query_string(scope["query_string"])
        request = SearchRequest(
            query=_query(parameters),
            filters=read_filters(parameters),
            limit=read_limit(parameters),
            cursor=_cursor(parameters),
            is_explained=read_flag(parameters, "explain"),
        )
        page = await self._search.find(request, client=share_name(scope))
        await send_json(send, 200, _encode(search_body(page, find_unapplied(parameters, _KNOWN))))


def _query(parameters: QueryParameters) -> str:
    """What is searched for."""
    given = set(parameters.values.get("query", ()))
    if len(given) > 1:
        raise InvalidQueryString(
            ErrorCode.REPEATED_PARAMETER, "The parameter query has two values."
        )
    query = normalize_query(given.pop()) if given else ""
    if not query:
        raise QueryRequired
    if len(query) > MAX_QUERY:
        raise InvalidQueryString(
            ErrorCode.QUERY_TOO_LONG, f"A query has at most {MAX_QUERY} characters."
        )
    return query


def _cursor(parameters: QueryParameters) -> str | None:
    """Stock clients send an empty cursor for the first page."""
    if set(parameters.values.get("cursor", ())) == {""}:
        return None
    return read_text(parameters, "cursor", max_length=_MAX_CURSOR)


def search_endpoints(search: Search) -> list[Endpoint]:
    """Return the catalog's route for searching it."""
    return [Endpoint(SEARCH, SearchEndpoint(search))]
