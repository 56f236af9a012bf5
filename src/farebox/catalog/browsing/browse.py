"""Browse the catalog page by page.

Listings are ordered by id, which no update changes: paging by offset returns every listing that
stays listed. A listing taken down meanwhile moves those after it forward by one.
"""

from dataclasses import dataclass

from farebox.catalog.browsing.store import find_page, get_listings
from farebox.catalog.listing import Listing, ListingFilters
from farebox.storage.pool import Database


@dataclass(frozen=True, slots=True)
class BrowsePage:
    """The listings from `offset` on, at most `limit` of the `total` that match the filters."""

    listings: tuple[Listing, ...]
    limit: int
    offset: int
    total: int


class Browse:
    """Reads pages of listings; the time does not grow with the offset."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_page(self, filters: ListingFilters, *, limit: int, offset: int) -> BrowsePage:
        """Read one page of the listings that match the filters.

        Raises:
            DatabaseUnavailable: the catalog cannot be read.
        """
        async with self._database.connection() as db:
            page = await find_page(db, filters, limit=limit, offset=offset)
            listings = await get_listings(db, page.ids) if page.ids else []
        return BrowsePage(tuple(listings), limit, offset, page.total)
