"""The outbox is worked off: all of it, by several at once, through outages, bugs and rivals."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from farebox.catalog.discovery.read import read_discovery
from farebox.catalog.ingestion.ingest import Ingestion
from farebox.catalog.ingestion.outbox import Outbox, Ownership
from farebox.catalog.listing import Resource
from farebox.catalog.settled import SettledResource
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from support.catalog_index import KeptIndex
from support.manual_clock import START, ManualClock
from support.promises import case
from support.settled import OTHER_SELLER, SELLER, WEATHER, Paid, discovery, journal, party


@dataclass
class Says:
    """A resource that says of every recipient what a test lets it say."""

    answer: Ownership
    asked: list[tuple[str, Address]] = field(default_factory=list)

    async def ask(self, resource: Resource, network: Network, pay_to: Address) -> Ownership:
        self.asked.append((resource.url, pay_to))
        return self.answer


@pytest.fixture
def outbox(database: Database, ingestion: Ingestion, clock: ManualClock) -> Outbox:
    return Outbox(database, ingestion, clock)


async def outcomes(database: Database) -> dict[str, int]:
    async with database.connection() as db:
        rows = await db.fetch(
            "SELECT coalesce(listing_outcome, 'open') AS said, count(*) AS many"
            " FROM settlements GROUP BY 1"
        )
    return {row["said"]: row["many"] for row in rows}


async def pay_to_of(database: Database, url: str = WEATHER) -> str:
    async with database.connection() as db:
        found: str = await db.fetchval("SELECT pay_to FROM listings WHERE url = $1", url)
    return found


async def many(database: Database, count: int) -> None:
    for number in range(count):
        text = discovery(f"https://api.example/{number}")
        await journal(database, Paid(text, payer=party(number)))


async def test_everything_that_no_answer_listed_is_listed(
    database: Database, outbox: Outbox
) -> None:
    await many(database, 25)
    assert [await outbox.work_off() for _ in range(3)] == [20, 5, 0]
    assert await outcomes(database) == {"listed": 25}
    async with database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM listing_attempts") == 0


async def test_what_was_just_settled_is_left_to_its_answer(
    database: Database, outbox: Outbox, clock: ManualClock
) -> None:
    await journal(database, Paid(at=START))
    assert await outbox.work_off() == 0
    clock.turn(3)
    assert await outbox.work_off() == 1


async def test_several_at_once_share_the_work_and_count_everything_once(
    database: Database, ingestion: Ingestion, clock: ManualClock
) -> None:
    for number in range(40):
        await journal(database, Paid(payer=party(number % 4)))
    workers = [Outbox(database, ingestion, clock) for _ in range(4)]
    taken = [0]
    while any(taken := await asyncio.gather(*(each.work_off(limit=7) for each in workers))):
        assert sum(taken) <= 40
    assert await outcomes(database) == {"listed": 40}
    async with database.connection() as db:
        assert await db.fetchval("SELECT sum(settlements) FROM listing_payers") == 40


async def test_a_settlement_that_breaks_the_program_is_given_up_and_stops_no_other(
    database: Database, outbox: Outbox, index: KeptIndex, clock: ManualClock
) -> None:
    index.breaks_on = "poison"
    await journal(database, Paid(discovery("https://a.example/", description="poison")))
    await many(database, 5)
    await outbox.work_off()
    assert await outcomes(database) == {"listed": 5, "open": 1}
    assert await outbox.work_off() == 0, "it is left alone for a time"
    for _ in range(4):
        clock.turn(600)
        assert await outbox.work_off() == 1
    assert await outcomes(database) == {"listed": 5, "listing_failed": 1}


async def test_a_worker_that_died_loses_what_it_took_with_time(
    database: Database, outbox: Outbox, ingestion: Ingestion, clock: ManualClock
) -> None:
    await many(database, 3)
    async with database.connection() as db:
        await db.execute(
            "INSERT INTO listing_attempts (network, payer, nonce, taken_until)"
            " SELECT network, payer, nonce, $1 FROM settlements",
            START + timedelta(seconds=20),
        )
    assert await outbox.work_off() == 0
    clock.turn(20)
    assert await outbox.work_off() == 3


class Away(Ingestion):
    """Meets an outage on one settlement until it is told to stop."""

    away_for: str | None = None

    async def list(self, identity: Any) -> Any:
        if identity.payer == self.away_for:
            raise DatabaseUnavailable("a statement took too long")
        return await super().list(identity)


async def test_a_settlement_that_always_meets_an_outage_keeps_none_behind_it_waiting(
    database: Database, index: KeptIndex, clock: ManualClock
) -> None:
    ingestion = Away(database, index, read_discovery)
    ingestion.away_for = party(0)
    outbox = Outbox(database, ingestion, clock)
    await many(database, 4)
    with pytest.raises(DatabaseUnavailable):
        await outbox.work_off()
    assert await outbox.work_off() == 3
    assert await outcomes(database) == {"listed": 3, "open": 1}
    ingestion.away_for = None
    clock.turn(10)
    assert await outbox.work_off() == 1
    assert await outcomes(database) == {"listed": 4}


@case("CT-040")
async def test_a_rival_without_a_way_to_ask_is_rejected(database: Database, outbox: Outbox) -> None:
    await journal(database, Paid())
    await outbox.work_off()
    await journal(database, Paid(pay_to=OTHER_SELLER))
    await outbox.work_off()
    assert await outcomes(database) == {"listed": 1, "bound_to_another_recipient": 1}


@case("CT-040")
@pytest.mark.parametrize(
    ("answer", "said", "owner"),
    [
        (Ownership.NAMES_IT, "listed", OTHER_SELLER),
        (Ownership.NAMES_OTHERS, "bound_to_another_recipient", SELLER),
    ],
)
async def test_the_resource_itself_says_who_owns_it(
    database: Database,
    ingestion: Ingestion,
    clock: ManualClock,
    answer: Ownership,
    said: str,
    owner: Address,
) -> None:
    resource = Says(answer)
    outbox = Outbox(database, ingestion, clock, takeovers=resource)
    await journal(database, Paid())
    await outbox.work_off()
    rival = await journal(database, Paid(pay_to=OTHER_SELLER, payer=party(2)))
    assert await outbox.work_off() == 1
    assert await outbox.work_off() == 0, "the loop that lists does not wait for anybody's network"
    assert await outbox.check() == 1
    assert resource.asked == [(WEATHER, OTHER_SELLER)]
    assert await pay_to_of(database) == owner
    async with database.connection() as db:
        found = await db.fetchval(
            "SELECT listing_outcome FROM settlements WHERE nonce = $1", rival.nonce
        )
    assert found == said
    assert await outbox.check() == 0


@dataclass
class Moving:
    """A resource that is asked about a key which another payment moves meanwhile."""

    ingestion: Ingestion
    mover: SettledResource | None = None

    async def ask(self, resource: Resource, network: Network, pay_to: Address) -> Ownership:
        if self.mover is not None:
            await self.ingestion.place(self.mover, is_proven=True)
        return Ownership.NAMES_OTHERS  # as it says of the recipient that holds the key by then


@case("CT-040")
@pytest.mark.parametrize("is_moved_before", [True, False])
async def test_of_two_payments_to_the_owner_the_one_that_comes_after_the_move_is_listed_too(
    database: Database, ingestion: Ingestion, clock: ManualClock, is_moved_before: bool
) -> None:
    resource = Moving(ingestion)
    outbox = Outbox(database, ingestion, clock, takeovers=resource)
    await journal(database, Paid())
    await outbox.work_off()
    first, _ = [
        await journal(database, Paid(pay_to=OTHER_SELLER, payer=party(number))) for number in (2, 3)
    ]
    await outbox.work_off()
    text = await ingestion.find_text(first)
    assert text is not None
    found = ingestion.read(text)
    assert isinstance(found, Resource)
    mover = SettledResource(text.settled, found)
    if is_moved_before:
        await ingestion.place(mover, is_proven=True)
    else:
        resource.mover = mover
    await outbox.check()
    assert await outcomes(database) == {"listed": 3}
    assert await pay_to_of(database) == OTHER_SELLER


@case("CT-041")
async def test_a_resource_that_is_silent_is_asked_a_few_times_and_then_no_more(
    database: Database, ingestion: Ingestion, clock: ManualClock
) -> None:
    resource = Says(Ownership.SILENT)
    outbox = Outbox(database, ingestion, clock, takeovers=resource)
    await journal(database, Paid())
    await outbox.work_off()
    await journal(database, Paid(pay_to=OTHER_SELLER))
    await outbox.work_off()
    for _ in range(4):
        assert await outbox.check() == 1
        assert await outbox.check() == 0, "not at once again"
        clock.turn(600)
    assert len(resource.asked) == 4
    assert await pay_to_of(database) == SELLER
    assert await outcomes(database) == {"listed": 1, "bound_to_another_recipient": 1}


async def test_a_rival_that_is_asked_about_twice_at_once_counts_once(
    database: Database, ingestion: Ingestion, clock: ManualClock
) -> None:
    resource = Says(Ownership.NAMES_IT)
    workers = [Outbox(database, ingestion, clock, takeovers=resource) for _ in range(3)]
    await journal(database, Paid())
    await workers[0].work_off()
    for number in range(2, 5):
        await journal(database, replace(Paid(), pay_to=OTHER_SELLER, payer=party(number)))
    await workers[0].work_off()
    assert sum(await asyncio.gather(*(each.check() for each in workers))) == 3
    async with database.connection() as db:
        assert await db.fetchval("SELECT sum(settlements) FROM listing_payers") == 3
    assert await pay_to_of(database) == OTHER_SELLER
