"""Payers and settlements of a listing, counted from a real journal into the search index."""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final
from uuid import uuid4

import pytest

from farebox.catalog.browsing.store import get_listings
from farebox.catalog.quality.payment_graph_store import read_payments
from farebox.catalog.quality.quality_counter import QualityCounter
from farebox.catalog.quality.store import delete_recount, find_due
from farebox.catalog.search_document import SearchDocument
from farebox.kernel.addresses import account_address
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from support.listing_rows import ASSET, SELLER, ListingRow, insert_listings
from support.manual_clock import START, ManualClock
from support.promises import case

PRICE: Final = 10_000
GRACE: Final = timedelta(seconds=20)


def account(n: int) -> str:
    return account_address(n.to_bytes(32, "big"))


class RecordingIndex:
    """A search index that records its documents."""

    def __init__(self) -> None:
        self.put_documents: list[SearchDocument] = []

    async def put(self, db: Connection, documents: Sequence[SearchDocument]) -> None:
        self.put_documents += documents

    async def remove(self, db: Connection, listing_ids: Sequence[int]) -> None:
        raise AssertionError("nothing is removed by counting")


class Market:
    """A journal and a listing's payers, written as settlements leave them."""

    def __init__(self, database: Database, clock: ManualClock) -> None:
        self.database, self.clock, self.index = database, clock, RecordingIndex()
        self.quality = QualityCounter(database, self.index, clock, grace=GRACE)

    async def shown(self, name: str, **changes: object) -> int:
        async with self.database.connection() as db:
            (listing_id,) = await insert_listings(db, ListingRow(name, **changes))  # type: ignore[arg-type] # a shorthand
        return listing_id

    async def pay(
        self,
        payer: str,
        pay_to: str,
        *,
        amount: int = PRICE,
        listing_id: int | None = None,
        network: Network = Network.TESTNET,
        asset: str = ASSET,
    ) -> None:
        """One confirmed settlement, as of now; for a listing if one is named."""
        async with self.database.transaction() as db:
            await db.execute(
                """
                INSERT INTO settlements (network, payer, nonce, state, request_digest, claim_id,
                    claimed_at, asset, amount, pay_to, expires_at_ledger, tx_hash, envelope,
                    source, source_sequence, max_time, sent_after_ledger, ledger, finished_at)
                VALUES ($1, $2, $3, 'confirmed', $4, $5, $6, $7, $8, $9, 9, $10, '', 'source', 1,
                    $6, 1, 2, $6)
                """,
                network.value,
                payer,
                int.from_bytes(os.urandom(7), "big"),
                bytes(32),
                uuid4(),
                self.clock.now(),
                asset,
                amount,
                pay_to,
                os.urandom(32),
            )
            if listing_id is not None:
                await db.execute(
                    """
                    INSERT INTO listing_payers AS known VALUES ($1, $2, 1, $3, $3)
                    ON CONFLICT (listing_id, payer) DO UPDATE
                    SET settlements = known.settlements + 1
                    """,
                    listing_id,
                    payer,
                    self.clock.now(),
                )

    async def counted(self, listing_id: int) -> tuple[int, int]:
        """Payers and settlements as shown, once everything has been read and counted."""
        self.clock.turn(GRACE.total_seconds())
        while await self.quality.run_batch():
            pass
        self.clock.turn(1)
        while await self.quality.run_batch():
            pass
        async with self.database.connection() as db:
            (listing,) = await get_listings(db, [listing_id])
        return listing.quality.payers, listing.quality.settlements


@pytest.fixture
async def market(database: Database, clock: ManualClock) -> Market:
    return Market(database, clock)


async def test_count_has_each_payer_and_each_settlement_once(market: Market) -> None:
    listing = await market.shown("weather")
    for payer in (1, 1, 1, 2, 3):
        await market.pay(account(payer), SELLER, listing_id=listing)
    assert await market.counted(listing) == (3, 5)


async def test_count_is_zero_without_payments(market: Market) -> None:
    listing = await market.shown("weather")
    assert await market.counted(listing) == (0, 0)


@case("CT-042")
async def test_count_excludes_payments_of_the_seller_to_itself(market: Market) -> None:
    listing = await market.shown("weather")
    for _ in range(5):
        await market.pay(SELLER, SELLER, listing_id=listing)
    assert await market.counted(listing) == (0, 0)
    await market.pay(account(1), SELLER, listing_id=listing)
    assert await market.counted(listing) == (1, 1)


@case("CT-042")
async def test_a_hundred_payers_funded_in_a_ring_count_as_one(market: Market) -> None:
    listing = await market.shown("weather")
    for n in range(100):
        await market.pay(account(n), account((n + 1) % 100), amount=PRICE)
    for n in range(100):
        await market.pay(account(n), SELLER, listing_id=listing)
    payers, settlements = await market.counted(listing)
    assert (payers, settlements) == (1, 100)


@case("CT-042")
async def test_count_excludes_a_funding_ring_with_the_seller(market: Market) -> None:
    listing = await market.shown("weather")
    ring = [SELLER, *(account(n) for n in range(20))]
    for n, member in enumerate(ring):
        await market.pay(member, ring[(n + 1) % len(ring)])
    for member in ring[1:]:
        await market.pay(member, SELLER, listing_id=listing)
    await market.pay(account(500), SELLER, listing_id=listing)
    assert await market.counted(listing) == (1, 1)


@case("CT-042")
async def test_payers_funded_by_one_account_count_as_one(market: Market) -> None:
    listing = await market.shown("weather")
    boss = account(1_000)
    for n in range(30):
        await market.pay(boss, account(n), amount=2 * PRICE)
        await market.pay(account(n), SELLER, listing_id=listing)
    await market.pay(boss, SELLER, listing_id=listing)
    payers, _ = await market.counted(listing)
    assert payers == 1


@case("CT-042")
async def test_dust_sent_to_payers_does_not_cluster_them(market: Market) -> None:
    """A rival pays one base unit to every buyer of the seller."""
    listing = await market.shown("weather")
    for n in range(20):
        await market.pay(account(n), SELLER, listing_id=listing)
        await market.pay(account(900), account(n), amount=1)
    assert await market.counted(listing) == (20, 20)


@case("CT-042")
async def test_purchase_by_the_seller_does_not_reduce_its_count(market: Market) -> None:
    listing = await market.shown("weather")
    for n in range(10):
        await market.pay(account(n), SELLER, listing_id=listing)
    await market.pay(SELLER, account(700), amount=PRICE)
    assert await market.counted(listing) == (10, 10)


@case("CT-042")
async def test_funding_on_one_network_does_not_affect_the_other(market: Market) -> None:
    on_pubnet = await market.shown("weather", network=Network.PUBNET)
    on_testnet = await market.shown("weather")
    for n in range(4):
        await market.pay(account(n), SELLER, listing_id=on_testnet)
        await market.pay(SELLER, account(n), amount=2 * PRICE)
        await market.pay(account(n), SELLER, listing_id=on_pubnet, network=Network.PUBNET)
    assert await market.counted(on_testnet) == (0, 0)
    assert await market.counted(on_pubnet) == (4, 4)


async def test_index_is_updated_only_when_the_count_of_payers_changes(market: Market) -> None:
    listing = await market.shown("weather", description="rain")
    await market.pay(account(1), SELLER, listing_id=listing)
    await market.counted(listing)
    (document,) = market.index.put_documents
    assert (document.listing_id, document.payers) == (listing, 1)
    assert (document.service_name, document.description) == ("weather", "rain")
    await market.pay(account(1), SELLER, listing_id=listing)
    assert await market.counted(listing) == (1, 2)
    assert len(market.index.put_documents) == 1


async def test_removed_listing_is_counted_and_not_indexed(
    market: Market,
) -> None:
    listing = await market.shown("weather", is_removed=True)
    await market.pay(account(1), SELLER, listing_id=listing)
    market.clock.turn(60)
    await market.quality.run_batch()
    assert market.index.put_documents == []
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT payers FROM listing_quality") == 1
        assert await db.fetchval("SELECT count(*) FROM listing_recounts") == 0


async def test_later_funding_reduces_the_count(market: Market) -> None:
    listing = await market.shown("weather")
    for n in range(8):
        await market.pay(account(n), SELLER, listing_id=listing)
    assert await market.counted(listing) == (8, 8)
    for n in range(8):
        await market.pay(SELLER, account(n), amount=PRICE)
    assert await market.counted(listing) == (0, 0)
    assert [document.payers for document in market.index.put_documents] == [8, 0]


async def test_read_payments_reads_every_settlement_once_in_batches(market: Market) -> None:
    for _ in range(11):  # in one moment: the place in the journal is not the moment alone
        await market.pay(account(1), account(2), amount=7)
    read = []
    for _ in range(6):
        async with market.database.transaction() as db:
            payments = await read_payments(db, ended_before=market.clock.now(), limit=3)
            read.append(payments.read)
    assert read == [3, 3, 3, 2, 0, 0]
    async with market.database.connection() as db:
        rows = await db.fetch("SELECT account, spent, received FROM payment_flows ORDER BY spent")
    assert [tuple(row) for row in rows] == [(account(2), 0, 77), (account(1), 77, 0)]


async def test_read_payments_is_exclusive_to_one_process(market: Market) -> None:
    await market.pay(account(1), account(2))
    now = market.clock.now()
    async with market.database.transaction() as first, market.database.transaction() as second:
        assert (await read_payments(first, ended_before=now, limit=9)).read == 1
        assert (await read_payments(second, ended_before=now, limit=9)).read == 0


async def test_read_payments_waits_for_the_grace_period(market: Market) -> None:
    await market.pay(account(1), account(2))
    await market.quality.run_batch()
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM payment_links") == 0
    market.clock.turn(GRACE.total_seconds())
    await market.quality.run_batch()
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM payment_links") == 1


async def test_payment_during_a_count_stays_due_for_the_next(market: Market) -> None:
    listing = await market.shown("weather")
    await market.pay(account(1), SELLER, listing_id=listing)
    async with market.database.connection() as db:
        (recount,) = await find_due(db, now=market.clock.now(), limit=10)
        await market.pay(account(2), SELLER, listing_id=listing)
        await delete_recount(db, recount)
        (left,) = await find_due(db, now=market.clock.now(), limit=10)
        assert left.listing_id == listing
        await delete_recount(db, left)
        assert await find_due(db, now=market.clock.now(), limit=10) == []


async def test_listing_with_many_payers_is_recounted_after_a_delay(
    market: Market,
) -> None:
    listing = await market.shown("weather")
    async with market.database.connection() as db:
        await db.execute(
            """
            INSERT INTO listing_payers SELECT $1, 'payer ' || n, 1, $2, $2
            FROM generate_series(1, 5000) AS n
            """,
            listing,
            START,
        )
    await market.quality.run_batch()
    await market.pay(account(1), SELLER, listing_id=listing)
    market.clock.turn(4.9)
    await market.quality.run_batch()
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT payers FROM listing_quality") == 5_000
    market.clock.turn(0.2)
    await market.quality.run_batch()
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT payers FROM listing_quality") == 5_001


async def test_deleted_listing_leaves_no_count(market: Market) -> None:
    listing = await market.shown("weather")
    await market.pay(account(1), SELLER, listing_id=listing)
    async with market.database.connection() as db:
        await db.execute("DELETE FROM listings WHERE id = $1", listing)
    await market.quality.run_batch()
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM listing_recounts") == 0
        assert await db.fetchval("SELECT count(*) FROM listing_quality") == 0


async def test_old_count_is_repeated_without_a_payment(market: Market) -> None:
    listing = await market.shown("weather")
    await market.pay(account(1), SELLER, listing_id=listing)
    await market.counted(listing)
    async with market.database.connection() as db:
        await db.execute("UPDATE listing_quality SET payers = 99")
    market.clock.turn(86_401)
    await market.quality.run_batch()
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT payers FROM listing_quality") == 1


class BrokenIndex(RecordingIndex):
    """A search index that raises `failure` for one listing, while `broken` names it."""

    def __init__(self, listing_id: int, failure: Exception) -> None:
        super().__init__()
        self.broken: int | None = listing_id
        self.failure, self.tried = failure, 0

    async def put(self, db: Connection, documents: Sequence[SearchDocument]) -> None:
        if any(document.listing_id == self.broken for document in documents):
            self.tried += 1
            raise self.failure
        await super().put(db, documents)


@pytest.mark.parametrize("failure", [ValueError("a bug"), DatabaseUnavailable("too slow a count")])
async def test_failing_count_is_delayed_behind_the_others(
    database: Database, clock: ManualClock, failure: Exception
) -> None:
    market = Market(database, clock)
    broken, other = await market.shown("broken"), await market.shown("other")
    index = BrokenIndex(broken, failure)
    quality = QualityCounter(database, index, clock, grace=GRACE)
    for listing_id in (broken, other):
        await market.pay(account(listing_id), SELLER, listing_id=listing_id)
    for _ in range(4):
        with suppress(DatabaseUnavailable):
            await quality.run_batch()
        clock.turn(60)
    assert [document.listing_id for document in index.put_documents] == [other]
    assert index.tried == 1
    clock.turn(600)
    index.broken = None
    await quality.run_batch()
    assert [document.listing_id for document in index.put_documents] == [other, broken]
    async with database.connection() as db:
        assert await find_due(db, now=clock.now() + timedelta(days=1), limit=9) == []
