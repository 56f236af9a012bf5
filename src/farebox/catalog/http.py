"""`/discovery/resources` and `/discovery/merchant` over HTTP."""

from typing import Final

import msgspec
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from farebox.catalog.shown.browse import Browse
from farebox.catalog.shown.query_string import (
    FILTER_NAMES,
    BadQuery,
    read_filters,
    read_limit,
    read_offset,
    read_query_string,
    unapplied,
)
from farebox.catalog.wire import browse_body, merchant_body
from farebox.web.answers import send_json

_encode: Final = msgspec.json.Encoder().encode
_KNOWN: Final = FILTER_NAMES | {"limit", "offset"}


class BrowseEndpoint:
    """Every listing that the filters leave, by page."""

    def __init__(self, browse: Browse) -> None:
        self._browse = browse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parameters = read_query_string(scope["query_string"])
        page = await self._browse.page(
            read_filters(parameters), limit=read_limit(parameters), offset=read_offset(parameters)
        )
        await send_json(send, 200, _encode(browse_body(page, unapplied(parameters, _KNOWN))))


class MerchantEndpoint:
    """Every listing of one recipient, on every network unless one is named."""

    def __init__(self, browse: Browse) -> None:
        self._browse = browse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parameters = read_query_string(scope["query_string"])
        filters = read_filters(parameters)
        if filters.pay_to is None:
            raise BadQuery("pay_to_required", "Name the recipient with payTo.")
        page = await self._browse.page(
            filters, limit=read_limit(parameters), offset=read_offset(parameters)
        )
        names = unapplied(parameters, _KNOWN)
        await send_json(send, 200, _encode(merchant_body(filters.pay_to, page, names)))


def discovery_routes(browse: Browse) -> list[BaseRoute]:
    """The catalog's routes for reading it."""
    return [
        Route("/discovery/resources", BrowseEndpoint(browse), methods=["GET"]),
        Route("/discovery/merchant", MerchantEndpoint(browse), methods=["GET"]),
    ]
