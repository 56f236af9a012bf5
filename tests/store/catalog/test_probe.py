"""Listed resources are asked for their own 402; what they say is shown, and hides nothing."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from farebox.catalog.listing import Listing, Ownership, Probe, ProbeState
from farebox.catalog.origin import probe_store
from farebox.catalog.origin.offers import Offer, Offers, OriginSilent, Silence
from farebox.catalog.origin.probe import Prober, ProbeTimes
from farebox.catalog.origin.probe_store import Turn
from farebox.catalog.shown.store import get_listings
from farebox.catalog.wire import listing_body
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.listings import SELLER, TOKEN, Listed, list_many
from support.manual_clock import START, ManualClock

URL = "https://api.weather.example/forecast"
OTHER = "GBZXN7PIRZGNMHGA7MUUUF4GWPY5AYPV6LY4UV2GL6VJGIQRXFDNMADI"
TIMES = ProbeTimes()


def pays(pay_to: str) -> Offers:
    offer = Offer(Network.TESTNET, Address(TOKEN), BaseUnits(1), Address(pay_to))
    return Offers((offer,), b"{}")


AWAY = OriginSilent(Silence.UNREACHABLE, "not_connected")


class Resources:
    """Every resource says the same, which may change; what was asked is remembered."""

    def __init__(self, said: Offers | OriginSilent) -> None:
        self.said = said
        self.asked: list[str] = []
        self.meanwhile: Callable[[], object] | None = None

    async def offers(self, url: str, *, method: str | None) -> Offers | OriginSilent:
        self.asked.append(url)
        if self.meanwhile is not None:
            await self.meanwhile()  # type: ignore[misc] # a coroutine function of the test
        return self.said


def prober(database: Database, resources: Resources, clock: ManualClock) -> Prober:
    return Prober(database, resources, clock, chance=lambda: 0.5)


async def due_at(database: Database, listing_id: int) -> datetime:
    async with database.connection() as db:
        found: datetime = await db.fetchval(
            "SELECT due_at FROM listing_probes WHERE listing_id = $1", listing_id
        )
    return found


async def shown(database: Database, listing_id: int) -> Listing:
    async with database.connection() as db:
        (found,) = await get_listings(db, [listing_id])
    return found


async def ask(
    database: Database, clock: ManualClock, resources: Resources, *, times: int = 1
) -> None:
    """Everything that is due is asked, so many times one after the other."""
    for _ in range(times):
        await prober(database, resources, clock).probe()  # enrols what is new
        clock.turn(TIMES.every_s * 2)
        while await prober(database, resources, clock).probe():
            pass


@pytest.fixture
async def listing(database: Database) -> int:
    (listing_id,) = await list_many(database, [Listed(URL)])
    return listing_id


async def test_a_listing_is_asked_soon_and_then_daily_or_sooner_while_in_doubt(
    database: Database, clock: ManualClock, listing: int
) -> None:
    resources = Resources(pays(SELLER))
    asks = prober(database, resources, clock)
    assert await asks.probe() == 0
    first = await due_at(database, listing)
    assert START <= first <= START + timedelta(seconds=TIMES.spread_s)
    clock.turn(TIMES.spread_s)
    waits = []
    for _ in range(4):
        assert await asks.probe() == 1
        waits.append((await due_at(database, listing) - clock.now()).total_seconds())
        clock.turn(waits[-1])
    assert waits == [TIMES.doubt_s, TIMES.doubt_s, TIMES.every_s, TIMES.every_s]
    assert resources.asked == [URL] * 4


async def test_a_state_is_shown_from_its_third_equal_result_on(
    database: Database, clock: ManualClock, listing: int
) -> None:
    resources = Resources(pays(SELLER))
    assert (await shown(database, listing)).probe is None
    assert "probe" not in listing_body(await shown(database, listing))
    await ask(database, clock, resources)
    early = await shown(database, listing)
    assert early.probe == Probe(ProbeState.UNKNOWN, clock.now(), None)
    assert early.ownership is Ownership.UNVERIFIED
    await ask(database, clock, resources, times=2)
    found = await shown(database, listing)
    assert found.probe == Probe(ProbeState.CONFIRMED, clock.now(), clock.now())
    assert found.ownership is Ownership.VERIFIED
    said = listing_body(found)["probe"]
    assert isinstance(said, dict)
    assert said["state"] == "confirmed"
    assert said["checkedAt"] == said["since"]


async def test_a_resource_that_goes_away_stays_listed_and_verified(
    database: Database, clock: ManualClock, listing: int
) -> None:
    resources = Resources(pays(SELLER))
    await ask(database, clock, resources, times=3)
    reached = clock.now()
    resources.said = AWAY
    await ask(database, clock, resources, times=2)
    found = await shown(database, listing)
    assert found.probe == Probe(ProbeState.CONFIRMED, clock.now(), reached)
    await ask(database, clock, resources)
    found = await shown(database, listing)
    assert found.probe == Probe(ProbeState.UNREACHABLE, clock.now(), clock.now())
    assert found.ownership is Ownership.VERIFIED


async def test_a_resource_that_names_somebody_else_three_times_is_verified_no_more(
    database: Database, clock: ManualClock, listing: int
) -> None:
    resources = Resources(pays(SELLER))
    await ask(database, clock, resources, times=3)
    resources.said = pays(OTHER)
    await ask(database, clock, resources, times=2)
    assert (await shown(database, listing)).ownership is Ownership.VERIFIED
    await ask(database, clock, resources)
    found = await shown(database, listing)
    assert (found.ownership, found.pay_to) == (Ownership.UNVERIFIED, SELLER)
    assert found.probe is not None
    assert found.probe.state is ProbeState.OTHER_RECIPIENT


async def test_results_about_a_recipient_say_nothing_of_the_next_one(
    database: Database, clock: ManualClock, listing: int
) -> None:
    resources = Resources(pays(SELLER))
    await ask(database, clock, resources, times=3)

    async def move() -> None:
        async with database.connection() as db:
            await db.execute("UPDATE listings SET pay_to = $1, ownership = 'unverified'", OTHER)

    resources.meanwhile = move
    await ask(database, clock, resources)
    found = await shown(database, listing)
    assert (found.probe, found.ownership) == (None, Ownership.UNVERIFIED)
    resources.meanwhile = None
    await ask(database, clock, resources, times=2)
    found = await shown(database, listing)
    assert found.probe is not None
    assert found.probe.state is ProbeState.UNKNOWN


async def test_of_one_host_one_listing_is_asked_at_a_time(
    database: Database, clock: ManualClock
) -> None:
    urls = [f"https://a.example/{n}" for n in range(3)] + ["https://b.example/0"]
    await list_many(database, [Listed(url) for url in urls])
    resources = Resources(AWAY)
    asks = prober(database, resources, clock)
    await asks.probe()
    clock.turn(TIMES.spread_s)
    assert await asks.probe() == 4
    assert sorted(url.split("/")[2] for url in resources.asked) == ["a.example", "b.example"]
    clock.turn(TIMES.spread_s / 2)
    assert await asks.probe() == 2  # the others of that host, put off
    assert len(resources.asked) == 3


async def test_no_two_replicas_ask_the_same_and_what_a_dead_one_took_comes_free(
    database: Database, clock: ManualClock
) -> None:
    await list_many(database, [Listed(f"https://h{n}.example/") for n in range(12)])
    resources = Resources(AWAY)
    asks = prober(database, resources, clock)
    await asks.probe()
    clock.turn(TIMES.spread_s)
    until = clock.now() + timedelta(seconds=TIMES.taken_s)
    async with database.connection() as db:
        dead = await probe_store.take_due(db, Turn(clock.now(), until, until, limit=4))
    replicas = [prober(database, resources, clock).probe() for _ in range(4)]
    assert sum(await asyncio.gather(*replicas)) == 8
    assert len(set(resources.asked)) == len(resources.asked) == 8
    assert {each.url for each in dead}.isdisjoint(resources.asked)
    clock.turn(TIMES.taken_s)
    assert await asks.probe() == 4
    assert {each.url for each in dead} <= set(resources.asked)


async def test_tools_and_listings_that_are_not_shown_are_not_asked(
    database: Database, clock: ManualClock
) -> None:
    tool, hidden, plain = await list_many(
        database, [Listed(URL, tool_name="forecast"), Listed(URL + "/1"), Listed(URL + "/2")]
    )
    resources = Resources(AWAY)
    await prober(database, resources, clock).probe()
    async with database.connection() as db:
        await db.execute("UPDATE listings SET removed_at = now() WHERE id = $1", hidden)
    clock.turn(TIMES.spread_s)
    await prober(database, resources, clock).probe()
    assert resources.asked == [URL + "/2"]
    async with database.connection() as db:
        shown = await get_listings(db, [tool, hidden, plain])
        later = await db.fetchval("SELECT due_at FROM listing_probes WHERE listing_id = $1", hidden)
    assert [(each.id, each.probe is not None) for each in shown] == [(tool, False), (plain, True)]
    assert later == clock.now() + timedelta(seconds=TIMES.every_s)
    clock.turn(TIMES.every_s * 10)
    await prober(database, resources, clock).probe()
    assert resources.asked == [URL + "/2"] * 2


async def test_a_template_is_asked_at_the_place_that_was_paid_for(
    database: Database, clock: ManualClock
) -> None:
    (listing_id,) = await list_many(database, [Listed("https://a.example/users/:id")])
    async with database.connection() as db:
        await db.execute(
            "UPDATE listings SET asked_url = 'https://a.example/users/7' WHERE id = $1", listing_id
        )
    resources = Resources(AWAY)
    await ask(database, clock, resources)
    assert resources.asked == ["https://a.example/users/7"]
