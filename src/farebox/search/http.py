"""`/discovery/search` over HTTP."""

import re
from typing import Final

import msgspec
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from farebox.catalog.shown.query_string import (
    FILTER_NAMES,
    BadQuery,
    Parameters,
    read_filters,
    read_flag,
    read_limit,
    read_query_string,
    read_text,
    unapplied,
)
from farebox.search.query.expression import MAX_QUERY
from farebox.search.search import QueryRequired, Search, SearchRequest
from farebox.search.wire import search_body
from farebox.web.answers import send_json

_encode: Final = msgspec.json.Encoder().encode
_KNOWN: Final = FILTER_NAMES | {"query", "limit", "cursor", "explain"}
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


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
        page = await self._search.find(request)
        await send_json(send, 200, _encode(search_body(page, unapplied(parameters, _KNOWN))))


def _query(parameters: Parameters) -> str:
    """What is searched for; text pasted from elsewhere may have line breaks in it."""
    given = set(parameters.values.get("query", ()))
    if len(given) > 1:
        raise BadQuery("repeated_parameter", "The parameter query has two values.")
    text = _CONTROLS.sub(" ", given.pop()).strip() if given else ""
    if not text:
        raise QueryRequired
    if len(text) > MAX_QUERY:
        raise BadQuery("query_too_long", f"A query has at most {MAX_QUERY} characters.")
    return text


def _cursor(parameters: Parameters) -> str | None:
    """Stock clients send an empty cursor for the first page."""
    if set(parameters.values.get("cursor", ())) == {""}:
        return None
    return read_text(parameters, "cursor")


def search_routes(search: Search) -> list[BaseRoute]:
    """The catalog's route for searching it."""
    return [Route("/discovery/search", SearchEndpoint(search), methods=["GET"])]
