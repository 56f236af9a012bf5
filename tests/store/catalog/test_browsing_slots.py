"""Pages at one time: a client with many of them keeps neither another one nor a search waiting."""

import asyncio

import pytest

from farebox.catalog.browsing import browse as browse_module
from farebox.catalog.browsing.browse import Browse, BrowsingBusy
from farebox.catalog.listing import ListingFilters
from farebox.kernel.slots import Requester, Share
from farebox.storage.pool import Database
from testing.waiting import WITHIN_S

MANY = 8


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page is refused because those before it take long on a busy machine."""
    monkeypatch.setattr(browse_module, "_SLOT_S", WITHIN_S)


async def end_order(database: Database, clients: list[str]) -> list[str]:
    """Read pages at once as these clients, over one connection; who had one in which order."""
    browse = Browse(database.share(2, wait_s=10, within_s=10))
    ended: list[str] = []

    async def read(client: str) -> None:
        await browse.read_page(ListingFilters(), limit=1, offset=0, client=client)
        ended.append(client)

    await asyncio.gather(*map(read, clients))
    return ended


async def test_page_of_another_client_goes_before_those_of_one_with_many(
    database: Database,
) -> None:
    ended = await end_order(database, [*["many"] * MANY, "one"])
    assert ended.index("one") < MANY // 2


async def test_control_page_of_another_client_waits_for_all_in_one_queue(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        browse_module, "Requester", lambda purpose, _: Requester(purpose, Share(""))
    )
    ended = await end_order(database, [*["many"] * MANY, "one"])
    assert ended.index("one") >= MANY // 2


async def test_pages_leave_a_connection_and_those_that_wait_too_long_are_an_outage(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browse_module, "_SLOT_S", 0.01)
    share = database.share(2, wait_s=10, within_s=10)
    browse = Browse(share)
    async with share.connection(), share.connection():
        first = asyncio.ensure_future(browse.read_page(ListingFilters(), limit=1, offset=0))
        await asyncio.sleep(0)
        with pytest.raises(BrowsingBusy):
            await browse.read_page(ListingFilters(), limit=1, offset=0)
    await first
