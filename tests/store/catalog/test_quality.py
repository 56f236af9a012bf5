"""What is counted of a listing's use, from settlements in a real journal to the search index."""

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import uuid4

import pytest

from farebox.catalog.quality.cluster_store import read_payments
from farebox.catalog.quality.count import QualityCount
from farebox.catalog.quality.store import close_recount, find_due
from farebox.catalog.search_document import SearchDocument
from farebox.catalog.shown.store import get_listings
from farebox.kernel.addresses import account_address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database
from support.manual_clock import START, ManualClock
from support.promises import case
from support.shown_rows import ASSET, SELLER, Shown, write

PRICE: Final = 10_000
GRACE: Final = timedelta(seconds=20)


def account(n: int) -> str:
    return account_address(n.to_bytes(32, "big"))


class RecordingIndex:
    """Keeps what it is told."""

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
        self.quality = QualityCount(database, self.index, clock, grace=GRACE)

    async def shown(self, name: str, **changes: object) -> int:
        async with self.database.connection() as db:
            (listing_id,) = await write(db, Shown(name, **changes))  # type: ignore[arg-type] # a shorthand
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
        while await self.quality.turn():
            pass
        self.clock.turn(1)
        while await self.quality.turn():
            pass
        async with self.database.connection() as db:
            (listing,) = await get_listings(db, [listing_id])
        return listing.quality.payers, listing.quality.settlements


@pytest.fixture
async def market(database: Database, clock: ManualClock) -> Market:
    return Market(database, clock)


async def test_each_payer_counts_once_and_each_settlement_too(market: Market) -> None:
    listing = await market.shown("weather")
    for payer in (1, 1, 1, 2, 3):
        await market.pay(account(payer), SELLER, listing_id=listing)
    assert await market.counted(listing) == (3, 5)


async def test_nothing_counts_before_anybody_has_paid(market: Market) -> None:
    listing = await market.shown("weather")
    assert await market.counted(listing) == (0, 0)


@case("CT-042")
async def test_a_seller_who_pays_himself_counts_nothing(market: Market) -> None:
    listing = await market.shown("weather")
    for _ in range(5):
        await market.pay(SELLER, SELLER, listing_id=listing)
    assert await market.counted(listing) == (0, 0)
    await market.pay(account(1), SELLER, listing_id=listing)
    assert await market.counted(listing) == (1, 1)


@case("CT-042")
async def test_a_hundred_payers_funded_in_a_ring_are_one(market: Market) -> None:
    listing = await market.shown("weather")
    for n in range(100):
        await market.pay(account(n), account((n + 1) % 100), amount=PRICE)
    for n in range(100):
        await market.pay(account(n), SELLER, listing_id=listing)
    payers, settlements = await market.counted(listing)
    assert (payers, settlements) == (1, 100)


@case("CT-042")
async def test_a_ring_that_holds_the_seller_counts_nothing(market: Market) -> None:
    listing = await market.shown("weather")
    ring = [SELLER, *(account(n) for n in range(20))]
    for n, member in enumerate(ring):
        await market.pay(member, ring[(n + 1) % len(ring)])
    for member in ring[1:]:
        await market.pay(member, SELLER, listing_id=listing)
    await market.pay(account(500), SELLER, listing_id=listing)
    assert await market.counted(listing) == (1, 1)


@case("CT-042")
async def test_payers_that_one_account_has_funded_are_one(market: Market) -> None:
    listing = await market.shown("weather")
    boss = account(1_000)
    for n in range(30):
        await market.pay(boss, account(n), amount=2 * PRICE)
        await market.pay(account(n), SELLER, listing_id=listing)
    await market.pay(boss, SELLER, listing_id=listing)
    payers, _ = await market.counted(listing)
    assert payers == 1


@case("CT-042")
async def test_a_trifle_sent_to_honest_payers_makes_no_cluster_of_them(market: Market) -> None:
    """A rival pays everybody who bought from the seller one base unit."""
    listing = await market.shown("weather")
    for n in range(20):
        await market.pay(account(n), SELLER, listing_id=listing)
        await market.pay(account(900), account(n), amount=1)
    assert await market.counted(listing) == (20, 20)


@case("CT-042")
async def test_a_seller_who_buys_something_keeps_his_customers(market: Market) -> None:
    listing = await market.shown("weather")
    for n in range(10):
        await market.pay(account(n), SELLER, listing_id=listing)
    await market.pay(SELLER, account(700), amount=PRICE)
    assert await market.counted(listing) == (10, 10)


@case("CT-042")
async def test_what_happens_on_one_network_says_nothing_on_the_other(market: Market) -> None:
    on_pubnet = await market.shown("weather", network=Network.PUBNET)
    on_testnet = await market.shown("weather")
    for n in range(4):
        await market.pay(account(n), SELLER, listing_id=on_testnet)
        await market.pay(SELLER, account(n), amount=2 * PRICE)
        await market.pay(account(n), SELLER, listing_id=on_pubnet, network=Network.PUBNET)
    assert await market.counted(on_testnet) == (0, 0)
    assert await market.counted(on_pubnet) == (4, 4)


async def test_the_index_is_told_of_a_new_count_and_only_then(market: Market) -> None:
    listing = await market.shown("weather", description="rain")
    await market.pay(account(1), SELLER, listing_id=listing)
    await market.counted(listing)
    (document,) = market.index.put_documents
    assert (document.listing_id, document.payers) == (listing, 1)
    assert (document.service_name, document.description) == ("weather", "rain")
    await market.pay(account(1), SELLER, listing_id=listing)
    assert await market.counted(listing) == (1, 2)
    assert len(market.index.put_documents) == 1


async def test_a_listing_that_is_not_shown_is_counted_and_not_put_into_the_index(
    market: Market,
) -> None:
    listing = await market.shown("weather", is_removed=True)
    await market.pay(account(1), SELLER, listing_id=listing)
    market.clock.turn(60)
    await market.quality.turn()
    assert market.index.put_documents == []
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT payers FROM listing_quality") == 1
        assert await db.fetchval("SELECT count(*) FROM listing_recounts") == 0


async def test_funding_that_is_found_out_later_takes_the_count_back(market: Market) -> None:
    listing = await market.shown("weather")
    for n in range(8):
        await market.pay(account(n), SELLER, listing_id=listing)
    assert await market.counted(listing) == (8, 8)
    for n in range(8):
        await market.pay(SELLER, account(n), amount=PRICE)
    assert await market.counted(listing) == (0, 0)
    assert [document.payers for document in market.index.put_documents] == [8, 0]


async def test_every_settlement_is_read_once_in_however_many_turns(market: Market) -> None:
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


async def test_only_one_process_reads_the_journal_at_a_time(market: Market) -> None:
    await market.pay(account(1), account(2))
    now = market.clock.now()
    async with market.database.transaction() as first, market.database.transaction() as second:
        assert (await read_payments(first, ended_before=now, limit=9)).read == 1
        assert (await read_payments(second, ended_before=now, limit=9)).read == 0


async def test_a_payment_that_may_not_be_committed_everywhere_yet_waits(market: Market) -> None:
    await market.pay(account(1), account(2))
    await market.quality.turn()
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM payment_links") == 0
    market.clock.turn(GRACE.total_seconds())
    await market.quality.turn()
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM payment_links") == 1


async def test_a_change_during_a_count_is_counted_by_the_next(market: Market) -> None:
    listing = await market.shown("weather")
    await market.pay(account(1), SELLER, listing_id=listing)
    async with market.database.connection() as db:
        (recount,) = await find_due(db, now=market.clock.now(), limit=10)
        await market.pay(account(2), SELLER, listing_id=listing)
        await close_recount(db, recount)
        (left,) = await find_due(db, now=market.clock.now(), limit=10)
        assert left.listing_id == listing
        await close_recount(db, left)
        assert await find_due(db, now=market.clock.now(), limit=10) == []


async def test_a_busy_listing_with_many_payers_is_not_counted_at_every_turn(
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
    await market.quality.turn()
    await market.pay(account(1), SELLER, listing_id=listing)
    market.clock.turn(4.9)
    await market.quality.turn()
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT payers FROM listing_quality") == 5_000
    market.clock.turn(0.2)
    await market.quality.turn()
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT payers FROM listing_quality") == 5_001


async def test_a_listing_that_is_gone_leaves_nothing_to_count(market: Market) -> None:
    listing = await market.shown("weather")
    await market.pay(account(1), SELLER, listing_id=listing)
    async with market.database.connection() as db:
        await db.execute("DELETE FROM listings WHERE id = $1", listing)
    await market.quality.turn()
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM listing_recounts") == 0
        assert await db.fetchval("SELECT count(*) FROM listing_quality") == 0


async def test_an_old_count_is_made_again_without_a_payment(market: Market) -> None:
    listing = await market.shown("weather")
    await market.pay(account(1), SELLER, listing_id=listing)
    await market.counted(listing)
    async with market.database.connection() as db:
        await db.execute("UPDATE listing_quality SET payers = 99")
    market.clock.turn(86_401)
    await market.quality.turn()
    async with market.database.connection() as db:
        assert await db.fetchval("SELECT payers FROM listing_quality") == 1
