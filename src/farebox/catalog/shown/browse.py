"""Look through the catalog page by page.

The order is that of the listings' ids, which no update changes: a walk by offset meets everything
that stays listed. A listing that is taken down meanwhile moves those behind it forward by one.
"""

from dataclasses import dataclass

from farebox.catalog.listing import Listing
from farebox.catalog.shown.filters import Filters
from farebox.catalog.shown.store import find_page, get_listings
from farebox.storage.pool import Database


@dataclass(frozen=True, slots=True)
class BrowsePage:
    """What stands from `offset` on, at most `limit` of the `total` that the filters leave."""

    listings: tuple[Listing, ...]
    limit: int
    offset: int
    total: int


class Browse:
    """Reads listings; the time it takes does not grow with the offset."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, filters: Filters, *, limit: int, offset: int) -> BrowsePage:
        """One page of what the filters leave.

        Raises:
            DatabaseUnavailable: it cannot be read now.
        """
        async with self._database.connection() as db:
            found = await find_page(db, filters, limit=limit, offset=offset)
            listings = await get_listings(db, found.ids) if found.ids else []
        return BrowsePage(tuple(listings), limit, offset, found.total)
