"""`/discovery/resources` and `/discovery/merchant`: the declared routes and their handlers."""

from dataclasses import replace
from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.catalog.browsing.browse import Browse
from farebox.catalog.browsing.query_string import (
    FILTER_NAMES,
    MAX_OFFSET,
    MAX_VALUE,
    MOST_ASKED,
    InvalidQueryString,
    find_unapplied,
    read_filters,
    read_limit,
    read_offset,
    read_query_string,
)
from farebox.catalog.wire import BrowseBody, MerchantBody, browse_body, merchant_body
from farebox.kernel.error_codes import ErrorCode
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Parameter,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
    integer,
    text,
)
from farebox.web.guard import share_name
from farebox.web.responses import send_json

_encode: Final = msgspec.json.Encoder().encode
_KNOWN: Final = FILTER_NAMES | {"limit", "offset"}
FILTER_PARAMETERS: Final = (
    Parameter("type", "http or mcp.", text(max_length=MAX_VALUE)),
    Parameter("network", "stellar:testnet or stellar:pubnet.", text(max_length=MAX_VALUE)),
    Parameter("payTo", "The exact recipient.", text(max_length=MAX_VALUE)),
    Parameter("scheme", "exact.", text(max_length=MAX_VALUE)),
    Parameter("extensions", "A key that the extensions must have.", text(max_length=MAX_VALUE)),
)
LIMIT_PARAMETER: Final = Parameter(
    "limit", "How many at most; 100 are given at most.", integer(1, MOST_ASKED)
)
_OFFSET_PARAMETER: Final = Parameter("offset", "How many to pass over.", integer(0, MAX_OFFSET))
QUERY_ERRORS: Final = (
    ErrorCode.INVALID_QUERY_STRING,
    ErrorCode.QUERY_STRING_TOO_LONG,
    ErrorCode.TOO_MANY_PARAMETERS,
    ErrorCode.REPEATED_PARAMETER,
    ErrorCode.EMPTY_PARAMETER,
    ErrorCode.CONFLICTING_PARAMETERS,
    ErrorCode.CONTROL_CHARACTERS,
    ErrorCode.INVALID_LIMIT,
)
LISTING_EXAMPLE: Final = {
    "resource": "https://api.example.com/weather",
    "type": "http",
    "x402Version": 2,
    "description": "The weather of a city, hour by hour.",
    "mimeType": "application/json",
    "extensions": {"bazaar": {"info": {"input": {"type": "http", "method": "GET"}}}},
    "method": "GET",
    "accepts": [
        {
            "scheme": "exact",
            "network": "stellar:testnet",
            "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
            "amount": "10000",
            "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
            "maxTimeoutSeconds": 60,
            "extra": {"areFeesSponsored": True},
        }
    ],
    "lastUpdated": "2026-11-21T09:30:00.000Z",
    "network": "stellar:testnet",
    "ownership": "verified",
    "quality": {
        "payers": 3,
        "settlements": 41,
        "listedAt": "2026-11-01T12:30:05.678Z",
        "lastSettledAt": "2026-11-21T09:30:00.000Z",
    },
    "untrusted": ["resource", "description", "mimeType", "extensions"],
}
_PAGINATION_EXAMPLE: Final = {"limit": 20, "offset": 0, "total": 1}

RESOURCES: Final = RouteDeclaration(
    method="GET",
    path="/discovery/resources",
    tag="discovery",
    summary="Every listing, by page.",
    parameters=(*FILTER_PARAMETERS, LIMIT_PARAMETER, _OFFSET_PARAMETER),
    responses={200: ResponseDeclaration("A page of listings.", BrowseBody)},
    rate=Rate(RateClass.DISCOVERY),
    errors=(*QUERY_ERRORS, ErrorCode.INVALID_OFFSET),
    is_cross_origin=True,
    example=Example(
        response={
            "x402Version": 2,
            "items": [LISTING_EXAMPLE],
            "pagination": _PAGINATION_EXAMPLE,
        }
    ),
)
MERCHANT: Final = RouteDeclaration(
    method="GET",
    path="/discovery/merchant",
    tag="discovery",
    summary="Every listing of one recipient.",
    parameters=(
        *(replace(each, is_required=each.name == "payTo") for each in FILTER_PARAMETERS),
        LIMIT_PARAMETER,
        _OFFSET_PARAMETER,
    ),
    responses={200: ResponseDeclaration("A page of listings.", MerchantBody)},
    rate=Rate(RateClass.DISCOVERY),
    errors=(*QUERY_ERRORS, ErrorCode.INVALID_OFFSET, ErrorCode.PAY_TO_REQUIRED),
    is_cross_origin=True,
    example=Example(
        response={
            "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
            "resources": [LISTING_EXAMPLE],
            "pagination": _PAGINATION_EXAMPLE,
        }
    ),
)


class BrowseEndpoint:
    """List the listings that match the filters, by page."""

    def __init__(self, browse: Browse) -> None:
        self._browse = browse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parameters = read_query_string(scope["query_string"])
        page = await self._browse.read_page(
            read_filters(parameters),
            limit=read_limit(parameters),
            offset=read_offset(parameters),
            client=share_name(scope),
        )
        await send_json(send, 200, _encode(browse_body(page, find_unapplied(parameters, _KNOWN))))


class MerchantEndpoint:
    """List the listings of one recipient, on every network unless one is named."""

    def __init__(self, browse: Browse) -> None:
        self._browse = browse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parameters = read_query_string(scope["query_string"])
        filters = read_filters(parameters)
        if filters.pay_to is None:
            raise InvalidQueryString(ErrorCode.PAY_TO_REQUIRED)
        page = await self._browse.read_page(
            filters,
            limit=read_limit(parameters),
            offset=read_offset(parameters),
            client=share_name(scope),
        )
        names = find_unapplied(parameters, _KNOWN)
        await send_json(send, 200, _encode(merchant_body(filters.pay_to, page, names)))


def discovery_endpoints(browse: Browse) -> list[Endpoint]:
    """Return the catalog's routes for reading it."""
    return [
        Endpoint(RESOURCES, BrowseEndpoint(browse)),
        Endpoint(MERCHANT, MerchantEndpoint(browse)),
    ]
