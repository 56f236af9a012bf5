"""Searches at one time: a client with many of them does not keep another one waiting."""

import asyncio

import pytest

from farebox.kernel.slots import Requester, Share
from farebox.search import search as search_module
from farebox.search.search import Search, SearchesBusy, SearchRequest
from farebox.storage.pool import Database
from support.listings import Listed, list_many
from support.manual_clock import ManualClock
from testing.waiting import WITHIN_S

SKY = Listed(
    "https://sky.example/v1/forecast",
    "SkyCast",
    ("weather", "forecast"),
    "Hourly forecasts of wind and rain for any city.",
    "city name of the city",
)
MANY = 8


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """No search is refused because those before it take long on a busy machine."""
    monkeypatch.setattr(search_module, "_SLOT_S", WITHIN_S)


async def end_order(database: Database, clients: list[str]) -> list[str]:
    """Search at once as these clients, one at a time; who was answered in which order."""
    await list_many(database, [SKY])
    search = Search(database.share(1, wait_s=10, within_s=10), ManualClock())
    ended: list[str] = []

    async def find(client: str) -> None:
        assert (await search.find(SearchRequest("weather"), client=client)).hits
        ended.append(client)

    await asyncio.gather(*map(find, clients))
    return ended


async def test_search_of_another_client_goes_before_those_of_one_with_many(
    database: Database,
) -> None:
    ended = await end_order(database, [*["many"] * MANY, "one"])
    assert ended.index("one") < MANY // 2


async def test_control_search_of_another_client_waits_for_all_in_one_queue(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        search_module, "Requester", lambda purpose, _: Requester(purpose, Share(""))
    )
    ended = await end_order(database, [*["many"] * MANY, "one"])
    assert ended.index("one") >= MANY // 2


async def test_searches_of_one_client_wait_in_their_order(database: Database) -> None:
    ended = await end_order(database, ["many"] * MANY)
    assert len(ended) == MANY


async def test_search_that_waits_too_long_is_an_outage(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farebox.search.search._SLOT_S", 0.01)
    share = database.share(1, wait_s=10, within_s=10)
    search = Search(share, ManualClock())
    async with share.connection():
        first = asyncio.ensure_future(search.find(SearchRequest("weather"), client="many"))
        await asyncio.sleep(0)
        with pytest.raises(SearchesBusy):
            await search.find(SearchRequest("weather"), client="one")
    await first
