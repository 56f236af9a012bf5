"""Listed resources are probed for their own 402; the result is shown and hides no listing."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from msgspec import UNSET

from farebox.catalog.browsing.store import get_listings
from farebox.catalog.listing import Listing, Ownership, Probe, ProbeState
from farebox.catalog.origin import probe_store
from farebox.catalog.origin.payment_required import (
    OriginFailure,
    OriginFault,
    OriginPaymentRequired,
    PaymentOption,
)
from farebox.catalog.origin.probe_store import ProbeClaim
from farebox.catalog.origin.prober import Prober, ProbeTimes
from farebox.catalog.wire import ProbeBody, listing_body
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.listings import SELLER, TOKEN, Listed, list_many
from support.manual_clock import START, ManualClock

URL = "https://api.weather.example/forecast"
OTHER = "GBZXN7PIRZGNMHGA7MUUUF4GWPY5AYPV6LY4UV2GL6VJGIQRXFDNMADI"
TIMES = ProbeTimes()


def pays(pay_to: str) -> OriginPaymentRequired:
    offer = PaymentOption(Network.TESTNET, Address(TOKEN), BaseUnits(1), Address(pay_to))
    return OriginPaymentRequired((offer,), b"{}")


AWAY = OriginFailure(OriginFault.UNREACHABLE, "not_connected")


class Resources:
    """An origin client with one response for every URL, which records the requested URLs."""

    def __init__(self, response: OriginPaymentRequired | OriginFailure) -> None:
        self.response = response
        self.requests: list[str] = []
        self.meanwhile: Callable[[], object] | None = None

    async def fetch_payment_required(
        self, url: str, *, method: str | None
    ) -> OriginPaymentRequired | OriginFailure:
        self.requests.append(url)
        if self.meanwhile is not None:
            await self.meanwhile()  # type: ignore[misc] # a coroutine function of the test
        return self.response


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
    """Probe every due listing, `times` times."""
    for _ in range(times):
        await prober(database, resources, clock).probe()  # enrols new listings
        clock.turn(TIMES.every_s * 2)
        while await prober(database, resources, clock).probe():
            pass


@pytest.fixture
async def listing(database: Database) -> int:
    (listing_id,) = await list_many(database, [Listed(URL)])
    return listing_id


async def test_probe_interval_is_daily_and_shorter_while_unstable(
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
    assert waits == [TIMES.unstable_s, TIMES.unstable_s, TIMES.every_s, TIMES.every_s]
    assert resources.requests == [URL] * 4


async def test_probe_state_is_shown_after_three_equal_results(
    database: Database, clock: ManualClock, listing: int
) -> None:
    resources = Resources(pays(SELLER))
    assert (await shown(database, listing)).probe is None
    assert listing_body(await shown(database, listing)).probe is UNSET
    await ask(database, clock, resources)
    early = await shown(database, listing)
    assert early.probe == Probe(ProbeState.UNKNOWN, clock.now(), None)
    assert early.ownership is Ownership.UNVERIFIED
    await ask(database, clock, resources, times=2)
    found = await shown(database, listing)
    assert found.probe == Probe(ProbeState.CONFIRMED, clock.now(), clock.now())
    assert found.ownership is Ownership.VERIFIED
    probe = listing_body(found).probe
    assert isinstance(probe, ProbeBody)
    assert probe.state is ProbeState.CONFIRMED
    assert probe.checked_at == probe.since


async def test_unreachable_resource_stays_listed_and_verified(
    database: Database, clock: ManualClock, listing: int
) -> None:
    resources = Resources(pays(SELLER))
    await ask(database, clock, resources, times=3)
    reached = clock.now()
    resources.response = AWAY
    await ask(database, clock, resources, times=2)
    found = await shown(database, listing)
    assert found.probe == Probe(ProbeState.CONFIRMED, clock.now(), reached)
    await ask(database, clock, resources)
    found = await shown(database, listing)
    assert found.probe == Probe(ProbeState.UNREACHABLE, clock.now(), clock.now())
    assert found.ownership is Ownership.VERIFIED


async def test_probe_that_was_not_sent_is_not_a_result(
    database: Database, clock: ManualClock, listing: int
) -> None:
    resources = Resources(pays(SELLER))
    await ask(database, clock, resources, times=3)
    before = (await shown(database, listing)).probe
    resources.response = OriginFailure(OriginFault.NOT_ASKED, "too_many_calls")
    for _ in range(5):
        await prober(database, resources, clock).probe()
        assert clock.now() < await due_at(database, listing)
        clock.turn(TIMES.every_s * 2)
    assert (await shown(database, listing)).probe == before
    resources.response = AWAY  # the control: a failure of the resource is a result
    await ask(database, clock, resources, times=3)
    probe = (await shown(database, listing)).probe
    assert probe is not None
    assert probe.state is ProbeState.UNREACHABLE


async def test_listing_loses_verification_after_three_results_for_another_recipient(
    database: Database, clock: ManualClock, listing: int
) -> None:
    resources = Resources(pays(SELLER))
    await ask(database, clock, resources, times=3)
    resources.response = pays(OTHER)
    await ask(database, clock, resources, times=2)
    assert (await shown(database, listing)).ownership is Ownership.VERIFIED
    await ask(database, clock, resources)
    found = await shown(database, listing)
    assert (found.ownership, found.pay_to) == (Ownership.UNVERIFIED, SELLER)
    assert found.probe is not None
    assert found.probe.state is ProbeState.OTHER_RECIPIENT


async def test_probe_results_are_dropped_when_the_recipient_changes(
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


async def test_probes_of_one_host_run_one_at_a_time(database: Database, clock: ManualClock) -> None:
    urls = [f"https://a.example/{n}" for n in range(3)] + ["https://b.example/0"]
    await list_many(database, [Listed(url) for url in urls])
    resources = Resources(AWAY)
    asks = prober(database, resources, clock)
    await asks.probe()
    clock.turn(TIMES.spread_s)
    assert await asks.probe() == 4
    assert sorted(url.split("/")[2] for url in resources.requests) == ["a.example", "b.example"]
    clock.turn(TIMES.spread_s / 2)
    assert await asks.probe() == 2  # the others of that host, put off
    assert len(resources.requests) == 3


async def test_replicas_probe_disjoint_listings_and_take_over_expired_claims(
    database: Database, clock: ManualClock
) -> None:
    await list_many(database, [Listed(f"https://h{n}.example/") for n in range(12)])
    resources = Resources(AWAY)
    asks = prober(database, resources, clock)
    await asks.probe()
    clock.turn(TIMES.spread_s)
    until = clock.now() + timedelta(seconds=TIMES.claim_s)
    async with database.connection() as db:
        dead = await probe_store.claim_due(db, ProbeClaim(clock.now(), until, until, limit=4))
    replicas = [prober(database, resources, clock).probe() for _ in range(4)]
    assert sum(await asyncio.gather(*replicas)) == 8
    assert len(set(resources.requests)) == len(resources.requests) == 8
    assert {each.url for each in dead}.isdisjoint(resources.requests)
    clock.turn(TIMES.claim_s)
    assert await asks.probe() == 4
    assert {each.url for each in dead} <= set(resources.requests)


async def test_tools_and_removed_listings_are_not_probed(
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
    assert resources.requests == [URL + "/2"]
    async with database.connection() as db:
        shown = await get_listings(db, [tool, hidden, plain])
        later = await db.fetchval("SELECT due_at FROM listing_probes WHERE listing_id = $1", hidden)
    assert [(each.id, each.probe is not None) for each in shown] == [(tool, False), (plain, True)]
    assert later == clock.now() + timedelta(seconds=TIMES.every_s)
    clock.turn(TIMES.every_s * 10)
    await prober(database, resources, clock).probe()
    assert resources.requests == [URL + "/2"] * 2


async def test_template_is_probed_at_the_url_that_was_paid_for(
    database: Database, clock: ManualClock
) -> None:
    (listing_id,) = await list_many(database, [Listed("https://a.example/users/:id")])
    async with database.connection() as db:
        await db.execute(
            "UPDATE listings SET asked_url = 'https://a.example/users/7' WHERE id = $1", listing_id
        )
    resources = Resources(AWAY)
    await ask(database, clock, resources)
    assert resources.requests == ["https://a.example/users/7"]


async def test_probe_that_fails_stops_no_other(database: Database, clock: ManualClock) -> None:
    class Broken(Resources):
        async def fetch_payment_required(
            self, url: str, *, method: str | None
        ) -> OriginPaymentRequired | OriginFailure:
            if url == URL:
                raise ZeroDivisionError
            return await super().fetch_payment_required(url, method=method)

    broken, sound = await list_many(database, [Listed(URL), Listed("https://b.example/")])
    resources = Broken(pays(SELLER))
    await prober(database, resources, clock).probe()
    clock.turn(TIMES.every_s * 2)
    assert await prober(database, resources, clock).probe() == 2
    assert (await shown(database, sound)).probe is not None
    assert (await shown(database, broken)).probe is None
    assert await due_at(database, broken) == clock.now() + timedelta(seconds=TIMES.spread_s / 2)
