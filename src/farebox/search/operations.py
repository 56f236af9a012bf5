"""What the API schema says of searching."""

from typing import Final

from farebox.catalog.operations import (
    FILTERS,
    LIMIT,
    LISTING_MEMBERS,
    LISTING_OPTIONAL,
    UNAPPLIED,
)
from farebox.search.query.expression import MAX_QUERY
from farebox.web.operation import Operation, Parameter, Reply, items, record, text, whole

_HIT: Final = record(LISTING_MEMBERS, **LISTING_OPTIONAL, explain={"type": "object"})
_FOUND: Final = record(
    {
        "x402Version": {"const": 2},
        "resources": items(_HIT),
        "partialResults": {"type": "boolean"},
        "pagination": record({"limit": whole(1, 100), "cursor": {"type": ["string", "null"]}}),
    },
    truncated={"const": True},
    explain={"type": "object"},
    unappliedFilters=UNAPPLIED,
)

OPERATIONS: Final = (
    Operation(
        "GET",
        "/discovery/search",
        "discovery",
        "Listings that answer a query, the best first.",
        {200: Reply("A page of listings.", _FOUND)},
        parameters=(
            Parameter(
                "query", "Words, quotes, or, minus.", text(longest=MAX_QUERY), is_required=True
            ),
            *FILTERS,
            LIMIT,
            Parameter("cursor", "pagination.cursor of the page before.", text(longest=10_000)),
            Parameter("explain", "true: why each hit stands there.", text(longest=100)),
        ),
        refused=(400,),
    ),
)
