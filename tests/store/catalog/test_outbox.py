"""The outbox lists every settlement: with several workers, outages, bugs and takeovers."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from farebox.catalog.discovery.reader import DirectReader, ReaderUnavailable, ReadFailed
from farebox.catalog.ingestion.ingest import Ingestion
from farebox.catalog.ingestion.outbox import Outbox, OwnershipVerdict
from farebox.catalog.listing import Resource
from farebox.catalog.settled_payment import SettledResource
from farebox.kernel.addresses import Address
from farebox.kernel.caller import user_id
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable, LimitExceeded
from farebox.storage.pool import Database
from support.catalog_index import RecordingIndex
from support.journal_rows import (
    OTHER_SELLER,
    SELLER,
    WEATHER,
    Paid,
    discovery,
    insert_settlement,
    party,
)
from support.listings import no_gateway
from support.manual_clock import START, ManualClock
from support.promises import case
from testing.waiting import until


@dataclass
class FixedVerifier:
    """An ownership verifier with one verdict for every recipient."""

    answer: OwnershipVerdict
    requests: list[tuple[str, Address]] = field(default_factory=list)

    async def verify(
        self, resource: Resource, network: Network, pay_to: Address
    ) -> OwnershipVerdict:
        self.requests.append((resource.url, pay_to))
        return self.answer


@pytest.fixture
def outbox(database: Database, ingestion: Ingestion, clock: ManualClock) -> Outbox:
    return Outbox(database, ingestion, clock)


async def outcomes(database: Database) -> dict[str, int]:
    async with database.connection() as db:
        rows = await db.fetch(
            "SELECT coalesce(listing_outcome, 'open') AS outcome, count(*) AS settlements"
            " FROM settlements GROUP BY 1"
        )
    return {row["outcome"]: row["settlements"] for row in rows}


async def pay_to_of(database: Database, url: str = WEATHER) -> str:
    async with database.connection() as db:
        found: str = await db.fetchval("SELECT pay_to FROM listings WHERE url = $1", url)
    return found


async def many(database: Database, count: int) -> None:
    for number in range(count):
        text = discovery(f"https://api.example/{number}")
        await insert_settlement(database, Paid(text, payer=party(number)))


async def test_outbox_lists_every_settlement_without_an_outcome(
    database: Database, outbox: Outbox
) -> None:
    await many(database, 25)
    assert [await outbox.list_batch() for _ in range(3)] == [20, 5, 0]
    assert await outcomes(database) == {"listed": 25}
    async with database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM listing_attempts") == 0


async def test_outbox_leaves_a_fresh_settlement_to_its_settle_response(
    database: Database, outbox: Outbox, clock: ManualClock
) -> None:
    await insert_settlement(database, Paid(at=START))
    assert await outbox.list_batch() == 0
    clock.turn(3)
    assert await outbox.list_batch() == 1


async def test_concurrent_workers_list_every_settlement_once(
    database: Database, ingestion: Ingestion, clock: ManualClock
) -> None:
    for number in range(40):
        await insert_settlement(database, Paid(payer=party(number % 4)))
    workers = [Outbox(database, ingestion, clock) for _ in range(4)]
    taken = [0]
    while any(taken := await asyncio.gather(*(each.list_batch(limit=7) for each in workers))):
        assert sum(taken) <= 40
    assert await outcomes(database) == {"listed": 40}
    async with database.connection() as db:
        assert await db.fetchval("SELECT sum(settlements) FROM listing_payers") == 40


async def test_outbox_gives_up_a_settlement_that_keeps_raising(
    database: Database, outbox: Outbox, index: RecordingIndex, clock: ManualClock
) -> None:
    index.breaks_on = "poison"
    await insert_settlement(database, Paid(discovery("https://a.example/", description="poison")))
    await many(database, 5)
    await outbox.list_batch()
    assert await outcomes(database) == {"listed": 5, "open": 1}
    assert await outbox.list_batch() == 0, "it is left alone for a time"
    for _ in range(4):
        clock.turn(600)
        assert await outbox.list_batch() == 1
    assert await outcomes(database) == {"listed": 5, "listing_failed": 1}


async def test_outbox_takes_over_expired_claims_of_a_dead_worker(
    database: Database, outbox: Outbox, ingestion: Ingestion, clock: ManualClock
) -> None:
    await many(database, 3)
    async with database.connection() as db:
        await db.execute(
            "INSERT INTO listing_attempts (network, payer, nonce, taken_until)"
            " SELECT network, payer, nonce, $1 FROM settlements",
            START + timedelta(seconds=20),
        )
    assert await outbox.list_batch() == 0
    clock.turn(20)
    assert await outbox.list_batch() == 3


class AwayIngestion(Ingestion):
    """Ingestion that meets an outage on the settlements of `away_for`."""

    away_for: frozenset[str] = frozenset()
    fault = DatabaseUnavailable("a statement took too long")

    async def list(self, identity: Any) -> Any:
        if identity.payer in self.away_for:
            raise self.fault
        return await super().list(identity)


async def test_outbox_lists_the_others_when_one_settlement_keeps_meeting_an_outage(
    database: Database, index: RecordingIndex, clock: ManualClock
) -> None:
    ingestion = AwayIngestion(database, index, DirectReader(), no_gateway())
    ingestion.away_for = frozenset([party(0)])
    outbox = Outbox(database, ingestion, clock)
    await many(database, 4)
    assert await outbox.list_batch() == 4
    assert await outcomes(database) == {"listed": 3, "open": 1}
    assert await outbox.list_batch() == 0, "it is left alone for a time"
    ingestion.away_for = frozenset()
    clock.turn(10)
    assert await outbox.list_batch() == 1
    assert await outcomes(database) == {"listed": 4}


async def test_outbox_stops_a_batch_when_two_settlements_meet_an_outage(
    database: Database, index: RecordingIndex, clock: ManualClock
) -> None:
    ingestion = AwayIngestion(database, index, DirectReader(), no_gateway())
    ingestion.away_for = frozenset([party(0), party(1)])
    outbox = Outbox(database, ingestion, clock)
    await many(database, 4)
    with pytest.raises(DatabaseUnavailable):
        await outbox.list_batch()
    assert await outcomes(database) == {"open": 4}
    assert await outbox.list_batch() == 2, "both are left alone, and the rest is free at once"
    assert await outcomes(database) == {"listed": 2, "open": 2}


async def test_outbox_gives_up_a_settlement_that_exceeds_a_limit_of_the_database(
    database: Database, index: RecordingIndex, clock: ManualClock
) -> None:
    ingestion = AwayIngestion(database, index, DirectReader(), no_gateway())
    ingestion.away_for = frozenset([party(0)])
    ingestion.fault = LimitExceeded("54000", "index row is too large")
    outbox = Outbox(database, ingestion, clock)
    await many(database, 2)
    for _ in range(5):
        await outbox.list_batch()
        clock.turn(600)
    assert await outcomes(database) == {"listed": 1, "listing_failed": 1}


async def test_outbox_pauses_between_batches(
    database: Database, outbox: Outbox, clock: ManualClock
) -> None:
    await many(database, 41)
    running = asyncio.ensure_future(outbox.run())
    await until(lambda: 1.0 in clock.slept)
    running.cancel()
    await asyncio.wait({running})
    assert clock.slept[:3] == [0.02] * 3


async def dispute(database: Database, outbox: Outbox) -> None:
    """List a payment, and then one that names another recipient of its resource."""
    for paid in (Paid(), Paid(pay_to=OTHER_SELLER)):
        await insert_settlement(database, paid)
        await outbox.list_batch()


async def test_takeover_is_rejected_without_a_verifier(database: Database, outbox: Outbox) -> None:
    await dispute(database, outbox)
    assert await outcomes(database) == {"listed": 1, "bound_to_another_recipient": 1}


@case("CT-040")
@pytest.mark.parametrize(
    ("answer", "expected", "owner"),
    [
        (OwnershipVerdict.CONFIRMED, "listed", OTHER_SELLER),
        (OwnershipVerdict.DENIED, "bound_to_another_recipient", SELLER),
    ],
)
async def test_takeover_follows_the_ownership_verdict(
    database: Database,
    ingestion: Ingestion,
    clock: ManualClock,
    answer: OwnershipVerdict,
    expected: str,
    owner: Address,
) -> None:
    resource = FixedVerifier(answer)
    outbox = Outbox(database, ingestion, clock, verifier=resource)
    await insert_settlement(database, Paid())
    await outbox.list_batch()
    rival = await insert_settlement(database, Paid(pay_to=OTHER_SELLER, payer=party(2)))
    assert await outbox.list_batch() == 1
    assert await outbox.list_batch() == 0, "the loop that lists makes no call"
    assert await outbox.check_batch() == 1
    assert resource.requests == [(WEATHER, OTHER_SELLER)]
    assert await pay_to_of(database) == owner
    async with database.connection() as db:
        found = await db.fetchval(
            "SELECT listing_outcome FROM settlements WHERE nonce = $1", rival.nonce
        )
    assert found == expected
    assert await outbox.check_batch() == 0
    async with database.connection() as db:
        events = await db.fetch("SELECT owner, actor, action FROM audit_trail")
    moved = [SELLER, OTHER_SELLER] if owner == OTHER_SELLER else []
    assert {tuple(event) for event in events} == {
        (user_id(Network.TESTNET, party), "service", "listing.taken_over") for party in moved
    }


@dataclass
class MovingVerifier:
    """An ownership verifier during whose check another payment moves the key."""

    ingestion: Ingestion
    mover: SettledResource | None = None

    async def verify(
        self, resource: Resource, network: Network, pay_to: Address
    ) -> OwnershipVerdict:
        if self.mover is not None:
            await self.ingestion.store(self.mover, is_verified=True)
        # its verdict on the recipient that holds the key by then
        return OwnershipVerdict.DENIED


@case("CT-040")
@pytest.mark.parametrize("is_moved_before", [True, False])
async def test_payment_to_the_owner_is_listed_when_another_payment_moved_the_key(
    database: Database, ingestion: Ingestion, clock: ManualClock, is_moved_before: bool
) -> None:
    resource = MovingVerifier(ingestion)
    outbox = Outbox(database, ingestion, clock, verifier=resource)
    await insert_settlement(database, Paid())
    await outbox.list_batch()
    first, _ = [
        await insert_settlement(database, Paid(pay_to=OTHER_SELLER, payer=party(number)))
        for number in (2, 3)
    ]
    await outbox.list_batch()
    text = await ingestion.find_discovery(first)
    assert text is not None
    found = await ingestion.parse(text)
    assert isinstance(found, Resource)
    mover = SettledResource(text.settled, found)
    if is_moved_before:
        await ingestion.store(mover, is_verified=True)
    else:
        resource.mover = mover
    await outbox.check_batch()
    assert await outcomes(database) == {"listed": 3}
    assert await pay_to_of(database) == OTHER_SELLER


@case("CT-041")
async def test_takeover_is_rejected_after_six_unknown_verdicts(
    database: Database, ingestion: Ingestion, clock: ManualClock
) -> None:
    resource = FixedVerifier(OwnershipVerdict.UNKNOWN)
    outbox = Outbox(database, ingestion, clock, verifier=resource)
    await dispute(database, outbox)
    started, asked_at = clock.now(), list[float]()
    while "open" in await outcomes(database):
        if await outbox.check_batch():
            asked_at.append((clock.now() - started).total_seconds())
        clock.turn(60)
    assert len(resource.requests) == len(asked_at) == 6
    assert asked_at[:4] == [0, 60, 60 + 480, 540 + 3840]
    assert asked_at[-1] > 8 * 3600
    assert await pay_to_of(database) == SELLER
    assert await outcomes(database) == {"listed": 1, "bound_to_another_recipient": 1}


@case("CT-041")
@pytest.mark.parametrize(
    ("verdict", "left"),
    [
        (OwnershipVerdict.NOT_CHECKED, "open"),
        (
            OwnershipVerdict.UNKNOWN,
            "bound_to_another_recipient",
        ),  # the control: a verdict after a check
    ],
)
async def test_takeover_is_not_rejected_when_the_resource_was_not_checked(
    database: Database,
    ingestion: Ingestion,
    clock: ManualClock,
    verdict: OwnershipVerdict,
    left: str,
) -> None:
    resource = FixedVerifier(verdict)
    outbox = Outbox(database, ingestion, clock, verifier=resource)
    await dispute(database, outbox)
    for _ in range(20):
        await outbox.check_batch()
        clock.turn(4 * 3600)
    assert await outcomes(database) == {"listed": 1, left: 1}
    resource.answer = OwnershipVerdict.CONFIRMED
    await outbox.check_batch()
    assert (await pay_to_of(database) == OTHER_SELLER) == (left == "open")


async def test_pending_takeovers_are_limited_per_recipient_and_in_total(
    database: Database, ingestion: Ingestion, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farebox.catalog.ingestion.outbox.MAX_PENDING_PER_RECIPIENT", 2)
    monkeypatch.setattr("farebox.catalog.ingestion.outbox.MAX_PENDING_TAKEOVERS", 3)
    outbox = Outbox(database, ingestion, clock, verifier=FixedVerifier(OwnershipVerdict.UNKNOWN))
    await insert_settlement(database, Paid())
    await outbox.list_batch()
    rivals = [OTHER_SELLER] * 3 + [party(90), party(91)]
    for number, rival in enumerate(rivals):
        await insert_settlement(database, Paid(pay_to=rival, payer=party(number)))
        await outbox.list_batch()
        await outbox.check_batch()
    found = await outcomes(database)
    assert found == {"listed": 1, "open": 3, "bound_to_another_recipient": 2}


class FailingReader:
    """A reader that raises `failure` for every text, while there is one."""

    def __init__(self, failure: Exception) -> None:
        self.failure: Exception | None = failure

    async def read(self, text: bytes, *, pay_to: Address) -> Any:
        if self.failure is not None:
            raise self.failure
        return await DirectReader().read(text, pay_to=pay_to)


@pytest.mark.parametrize(
    ("failure", "expected"), [(ReaderUnavailable(), "listed"), (ReadFailed(), "listing_failed")]
)
async def test_outbox_retries_while_the_reader_is_unavailable_and_gives_up_on_failures(
    database: Database,
    index: RecordingIndex,
    clock: ManualClock,
    failure: Exception,
    expected: str,
) -> None:
    reader = FailingReader(failure)
    outbox = Outbox(database, Ingestion(database, index, reader, no_gateway()), clock)
    await insert_settlement(database, Paid())
    for _ in range(8):
        with suppress(ReaderUnavailable):
            await outbox.list_batch()
        clock.turn(600)
    reader.failure = None
    await outbox.list_batch()
    assert await outcomes(database) == {expected: 1}


async def test_concurrent_checks_count_each_takeover_once(
    database: Database, ingestion: Ingestion, clock: ManualClock
) -> None:
    resource = FixedVerifier(OwnershipVerdict.CONFIRMED)
    workers = [Outbox(database, ingestion, clock, verifier=resource) for _ in range(3)]
    await insert_settlement(database, Paid())
    await workers[0].list_batch()
    for number in range(2, 5):
        await insert_settlement(database, replace(Paid(), pay_to=OTHER_SELLER, payer=party(number)))
    await workers[0].list_batch()
    assert sum(await asyncio.gather(*(each.check_batch() for each in workers))) == 3
    async with database.connection() as db:
        assert await db.fetchval("SELECT sum(settlements) FROM listing_payers") == 3
    assert await pay_to_of(database) == OTHER_SELLER
