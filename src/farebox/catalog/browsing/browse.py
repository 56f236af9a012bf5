"""Browse the catalog page by page.

Listings are ordered by id, which no update changes: paging by offset returns every listing that
stays listed. A listing taken down meanwhile moves those after it forward by one.
"""

from dataclasses import dataclass
from typing import Final

from farebox.catalog.browsing.store import find_page, get_listings
from farebox.catalog.listing import Listing, ListingFilters
from farebox.kernel.errors import Outage
from farebox.kernel.slots import AnyPurpose, NoSlot, Requester, Share, SlotLimits, Slots
from farebox.storage.pool import Database

_SLOT_S: Final = 2.0  # the longest wait for one of the connections


class BrowsingBusy(Outage):
    """The pages of others take all connections that browsing may take."""

    repeat_after_s = 1

    def __init__(self) -> None:
        super().__init__("catalog", "too many pages are being read")


@dataclass(frozen=True, slots=True)
class BrowsePage:
    """The listings from `offset` on, at most `limit` of the `total` that match the filters."""

    listings: tuple[Listing, ...]
    limit: int
    offset: int
    total: int


class Browse:
    """Reads pages of listings; the time does not grow with the offset.

    It leaves a connection to searches. Of those that wait, who has the fewest pages under way is
    next.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        most = max(1, database.connections - 1)
        limits = SlotLimits(most, per_client=most, wait_s=_SLOT_S, next_wait_s=_SLOT_S)
        self._slots = Slots.undivided(limits)

    async def read_page(
        self, filters: ListingFilters, *, limit: int, offset: int, client: str = ""
    ) -> BrowsePage:
        """Read one page of the listings that match the filters.

        `client` is who reads it, under the name of its share.

        Raises:
            BrowsingBusy: too many others are under way.
            DatabaseUnavailable: the catalog cannot be read.
        """
        requester = Requester(AnyPurpose.ANY, Share(client))
        try:
            async with self._slots.hold(requester), self._database.connection() as db:
                page = await find_page(db, filters, limit=limit, offset=offset)
                listings = await get_listings(db, page.ids) if page.ids else []
        except NoSlot:
            raise BrowsingBusy from None
        return BrowsePage(tuple(listings), limit, offset, page.total)
