"""What the API schema says of the catalog's routes."""

from typing import Final

from farebox.catalog.listing import ListingType, Ownership, ProbeState
from farebox.catalog.shown.query_string import MAX_OFFSET
from farebox.catalog.tokens.token import TokenKind
from farebox.catalog.wire import UNTRUSTED
from farebox.kernel.networks import Network
from farebox.web.operation import (
    Operation,
    Parameter,
    Reply,
    Schema,
    items,
    one_of,
    record,
    text,
    whole,
)

_TAG: Final = "discovery"
_STRING: Final[Schema] = {"type": "string"}
_MOMENT: Final[Schema] = {"type": "string", "format": "date-time"}
_NETWORK: Final = one_of(*(network.value for network in Network))
_AMOUNT: Final[Schema] = {"type": "string", "pattern": "^[0-9]+$"}
_COUNT: Final = whole(0, 2**63 - 1)

_TERMS: Final = record(
    {
        "scheme": _STRING,
        "network": _NETWORK,
        "asset": _STRING,
        "amount": _AMOUNT,
        "payTo": _STRING,
        "maxTimeoutSeconds": {"type": "integer"},
        "extra": record({"areFeesSponsored": {"const": True}}),
    }
)
_TOKEN: Final = record(
    {"kind": one_of(*(kind.value for kind in TokenKind))},
    code=_STRING,
    issuer=_STRING,
    wasmHash=_STRING,
    owner=_STRING,
)
_RESOURCE: Final = {
    "resource": _STRING,
    "type": one_of(*(kind.value for kind in ListingType)),
    "x402Version": {"const": 2},
    "extensions": {"type": "object"},
}
_SAID: Final = {
    "description": _STRING,
    "mimeType": _STRING,
    "serviceName": _STRING,
    "tags": items(_STRING),
    "iconUrl": _STRING,
    "toolName": _STRING,
    "method": _STRING,
}
LISTING_MEMBERS: Final = {
    **_RESOURCE,
    "accepts": items(_TERMS),
    "lastUpdated": _MOMENT,
    "network": _NETWORK,
    "ownership": one_of(*(each.value for each in Ownership)),
    "quality": record(
        {"payers": _COUNT, "settlements": _COUNT, "listedAt": _MOMENT, "lastSettledAt": _MOMENT}
    ),
    "untrusted": items(one_of(*UNTRUSTED)),
}
LISTING_OPTIONAL: Final = {
    **_SAID,
    "tokens": {"type": "object", "additionalProperties": _TOKEN},
    "probe": record(
        {"state": one_of(*(state.value for state in ProbeState)), "checkedAt": _MOMENT},
        since=_MOMENT,
    ),
}
_LISTING: Final = record(LISTING_MEMBERS, **LISTING_OPTIONAL)
_PAGINATION: Final = record({"limit": whole(1, 100), "offset": _COUNT, "total": _COUNT})
UNAPPLIED: Final = items(_STRING)
_BROWSED: Final = record(
    {"x402Version": {"const": 2}, "items": items(_LISTING), "pagination": _PAGINATION},
    unappliedFilters=UNAPPLIED,
)
_MERCHANT: Final = record(
    {"payTo": _STRING, "resources": items(_LISTING), "pagination": _PAGINATION},
    unappliedFilters=UNAPPLIED,
)
_CODED: Final = record({"code": _STRING, "message": _STRING})
_OFFER: Final = record(
    {
        "scheme": _STRING,
        "network": _NETWORK,
        "asset": _STRING,
        "amount": _AMOUNT,
        "payTo": _STRING,
    }
)
_REPORT: Final = record(
    {
        "isValid": {"type": "boolean"},
        "reasons": items(_CODED),
        "warnings": items(record({"field": _STRING, "message": _STRING})),
    },
    key=_STRING,
    listing=record(_RESOURCE, **_SAID),
    offers=items(_OFFER),
)
_QUESTION: Final[Schema] = {
    "type": "object",
    "properties": {
        "url": _STRING,
        "method": _STRING,
        "paymentPayload": {"type": "object"},
        "paymentRequirements": {},
        "resource": {},
        "extensions": {},
        "payTo": {},
    },
}

FILTERS: Final = (
    Parameter("type", "http or mcp.", text(longest=1_000)),
    Parameter("network", "stellar:testnet or stellar:pubnet.", text(longest=1_000)),
    Parameter("payTo", "The exact recipient.", text(longest=1_000)),
    Parameter("scheme", "exact.", text(longest=1_000)),
    Parameter("extensions", "A key that the extensions must have.", text(longest=1_000)),
)
LIMIT: Final = Parameter("limit", "How many at most; 100 are given at most.", whole(1, 2**31))
_OFFSET: Final = Parameter("offset", "How many to pass over.", whole(0, MAX_OFFSET))

OPERATIONS: Final = (
    Operation(
        "GET",
        "/discovery/resources",
        _TAG,
        "Every listing, by page.",
        {200: Reply("A page of listings.", _BROWSED)},
        parameters=(*FILTERS, LIMIT, _OFFSET),
        refused=(400,),
    ),
    Operation(
        "GET",
        "/discovery/merchant",
        _TAG,
        "Every listing of one recipient.",
        {200: Reply("A page of listings.", _MERCHANT)},
        parameters=(*FILTERS, LIMIT, _OFFSET),
        refused=(400,),
    ),
    Operation(
        "POST",
        "/v1/discovery/validate",
        _TAG,
        "Judge metadata, or a URL's own 402, without writing.",
        {200: Reply("The report.", _REPORT)},
        request=_QUESTION,
    ),
)
