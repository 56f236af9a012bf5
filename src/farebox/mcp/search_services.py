"""`search_services`: the listings that answer a question, each with all that paying needs."""

from typing import Any, Protocol

from farebox.catalog.listing import ListingFilters
from farebox.mcp.call_arguments import SearchArguments
from farebox.mcp.service_body import NOTICE, service_body
from farebox.search.search import SearchPage, SearchRequest
from farebox.x402.wire import X402_VERSION


class ServiceSearch(Protocol):
    """Searches the catalog, as `Search` does."""

    async def find(self, request: SearchRequest, *, client: str) -> SearchPage:
        """Return the first page of results; `client` is who searches."""
        ...


class SearchServices:
    """The use case of the tool."""

    def __init__(self, search: ServiceSearch) -> None:
        self._search = search

    async def find(self, arguments: SearchArguments, *, client: str) -> dict[str, Any]:
        """Search, and return the `structuredContent` of the result; `client` is who searches.

        Raises:
            Refusal: the query cannot be searched for.
            Outage: the catalog is not available.
        """
        network = None if arguments.network is None else arguments.network.value
        page = await self._search.find(
            SearchRequest(
                query=arguments.query,
                filters=ListingFilters(network=network),
                limit=arguments.limit,
            ),
            client=client,
        )
        return {
            "x402Version": X402_VERSION,
            "resources": [service_body(hit.listing) for hit in page.hits],
            "partialResults": page.cursor is not None,
            "notice": NOTICE,
        }
