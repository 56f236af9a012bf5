"""Usage counts of callers: exact under concurrency, and shown to their owner alone."""

import asyncio
from datetime import date, timedelta
from typing import Final
from uuid import uuid4

import pytest

from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Claim, Recording
from farebox.ingress import usage_store
from farebox.ingress.meter import Meter
from farebox.ingress.usage import Usage
from farebox.ingress.usage_day import Period, RequestCounts, SettlementCounts, UsageDay
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Database
from support.budgets import CHARGED, CONFIRMED, FAILED, envelope
from support.claims import claim
from support.faulty_database import LosingDatabase
from support.manual_clock import START, ManualClock

ANNA, BERT = OwnerId("user_anna"), OwnerId("user_bert")
TODAY: Final = START.date()
ALL: Final = Period(TODAY - timedelta(days=30), TODAY + timedelta(days=30))
TEST, PUB = Network.TESTNET, Network.PUBNET


def _answers(meter: Meter, owner: OwnerId, network: Network, *kinds: str) -> None:
    for kind in kinds:
        if kind == "refused":
            meter.count_refused_settlement(owner, network)
        else:
            meter.count_verification(owner, network, is_accepted=kind == "good")


async def test_usage_counts_responses_by_owner_day_and_network(
    database: Database, clock: ManualClock
) -> None:
    meter = Meter(database, clock)
    _answers(meter, ANNA, TEST, "good", "good", "bad", "refused")
    _answers(meter, ANNA, PUB, "bad")
    _answers(meter, BERT, TEST, "good")
    await meter.write()
    clock.turn(86_400)
    _answers(meter, ANNA, TEST, "good")
    await meter.write()
    usage = Usage(database, clock)
    tomorrow = TODAY + timedelta(days=1)
    assert await usage.of(ANNA, ALL) == [
        UsageDay(tomorrow, TEST, RequestCounts(1, 0, 0), SettlementCounts()),
        UsageDay(TODAY, PUB, RequestCounts(0, 1, 0), SettlementCounts()),
        UsageDay(TODAY, TEST, RequestCounts(2, 1, 1), SettlementCounts()),
    ]
    assert await usage.of(BERT, ALL) == [
        UsageDay(TODAY, TEST, RequestCounts(1, 0, 0), SettlementCounts())
    ]
    assert await usage.of(ANNA, Period(tomorrow, tomorrow)) == [
        UsageDay(tomorrow, TEST, RequestCounts(1, 0, 0), SettlementCounts())
    ]
    assert await usage.of(OwnerId("user_nobody"), ALL) == []


async def test_concurrent_meters_count_every_response_once(
    postgres_url: Secret[str], database: Database, clock: ManualClock
) -> None:
    async with Database(postgres_url, connections=3) as other:
        meters = [Meter(each, clock) for each in (database, other)]
        for _ in range(20):
            for meter in meters:
                _answers(meter, ANNA, TEST, "good", "good", "bad")
                _answers(meter, BERT, TEST, "bad")
            await asyncio.gather(*(meter.write() for meter in meters * 2))
    usage = Usage(database, clock)
    assert [day.requests for day in await usage.of(ANNA, ALL)] == [RequestCounts(80, 40, 0)]
    assert [day.requests for day in await usage.of(BERT, ALL)] == [RequestCounts(0, 40, 0)]


async def test_meter_counts_once_when_the_answer_to_a_write_is_lost(
    postgres_url: Secret[str], database: Database, clock: ManualClock
) -> None:
    async with LosingDatabase(postgres_url) as losing:
        meter = Meter(losing, clock)
        _answers(meter, ANNA, TEST, "good")
        losing.lost_answers = 1
        with pytest.raises(DatabaseUnavailable):
            await meter.write()
        _answers(meter, ANNA, TEST, "good")
        async with meter:
            pass  # the rest is written at the end
    (day,) = await Usage(database, clock).of(ANNA, ALL)
    assert day.requests == RequestCounts(2, 0, 0)


async def test_usage_counts_the_settlements_of_the_journal(
    database: Database, clock: ManualClock
) -> None:
    journal = SettlementJournal(database, clock)
    rows = [
        (ANNA, TEST, "confirmed", 100),
        (ANNA, TEST, "confirmed", 11),
        (ANNA, TEST, "failed", 7),
        (ANNA, TEST, "submitted", None),
        (ANNA, PUB, "confirmed", 2**40),
        (BERT, TEST, "confirmed", 5),
        (None, TEST, "confirmed", 3),
    ]
    for nonce, (owner, network, state, fee) in enumerate(rows):
        assert await journal.claim(_claim(owner, network, nonce, clock))
        async with database.connection() as db:
            await db.execute(_PUT_INTO_STATE, nonce, state, fee)
    usage = Usage(database, clock)
    assert await usage.of(ANNA, ALL) == [
        UsageDay(TODAY, PUB, RequestCounts(), SettlementCounts(1, 0, 0, 2**40)),
        UsageDay(TODAY, TEST, RequestCounts(), SettlementCounts(2, 1, 1, 118)),
    ]
    assert [day.settlements for day in await usage.of(BERT, ALL)] == [SettlementCounts(1, 0, 0, 5)]


async def test_usage_counts_each_settlement_once_when_they_end_concurrently(
    database: Database, clock: ManualClock, postgres_url: Secret[str]
) -> None:
    async with Database(postgres_url, connections=3) as other:
        journals = [SettlementJournal(each, clock) for each in (database, other)]
        claims = [
            _claim((ANNA, BERT)[nonce % 2], (TEST, PUB)[nonce // 2 % 2], nonce, clock)
            for nonce in range(40)
        ]
        await asyncio.gather(*(journals[0].claim(each) for each in claims))
        for nonce, each in enumerate(claims):
            assert await journals[0].record_sending(each, envelope(nonce)) is Recording.WRITTEN
        pending = await Usage(database, clock).of(ANNA, ALL)
        assert [day.settlements for day in pending] == [SettlementCounts(0, 0, 10, 0)] * 2
        ends = [FAILED if nonce % 8 < 4 else CONFIRMED for nonce in range(40)]
        ended = await asyncio.gather(
            *(
                journal.record_final(envelope(nonce).tx_hash, ending)
                for journal in journals * 2
                for nonce, ending in enumerate(ends)
            )
        )
    assert ended.count(True) == 40
    for owner in (ANNA, BERT):
        days = await Usage(database, clock).of(owner, ALL)
        assert sum(day.settlements.confirmed for day in days) == 10
        assert sum(day.settlements.failed for day in days) == 10
        assert [day.settlements.fees for day in days] == [10 * CHARGED] * 2


async def test_usage_counts_a_settlement_on_the_day_of_its_request(
    database: Database, clock: ManualClock
) -> None:
    journal = SettlementJournal(database, clock)
    clock.turn(86_399)
    for nonce in (1, 2):  # the last second of one day, and the first of the next
        mine = _claim(ANNA, TEST, nonce, clock)
        await journal.claim(mine)
        await journal.record_sending(mine, envelope(nonce))
        clock.turn(1)
    clock.turn(86_400)
    tomorrow = TODAY + timedelta(days=1)
    await journal.record_final(envelope(1).tx_hash, CONFIRMED)
    usage = Usage(database, clock)
    for day, settled in (
        (TODAY, SettlementCounts(1, 0, 0, CHARGED)),
        (tomorrow, SettlementCounts(0, 0, 1, 0)),
    ):
        assert await usage.of(ANNA, Period(day, day)) == [
            UsageDay(day, TEST, RequestCounts(), settled)
        ]


async def test_usage_includes_settlements_from_before_the_counters(
    empty_database_url: Secret[str], clock: ManualClock
) -> None:
    steps = packaged_migrations()
    first = next(step.number for step in steps if step.name.endswith("_retention.sql"))
    await migrate(empty_database_url, steps[: first - 1])
    async with Database(empty_database_url, connections=2) as database:
        rows = [("confirmed", 5), ("failed", 7), ("submitted", None), ("confirmed", 11)]
        for nonce, (state, fee) in enumerate(rows):
            async with database.connection() as db:
                await db.execute(_CLAIMED_BEFORE, TEST.value, nonce, clock.now(), ANNA)
                await db.execute(_PUT_INTO_STATE, nonce, state, fee)
    await migrate(empty_database_url, steps)
    async with Database(empty_database_url, connections=2) as database:
        (day,) = await Usage(database, clock).of(ANNA, ALL)
        assert day.settlements == SettlementCounts(2, 1, 1, 23)
        async with database.connection() as db:  # ended by a process of the version before
            await db.execute(_PUT_INTO_STATE, 2, "confirmed", 100)
        (day,) = await Usage(database, clock).of(ANNA, ALL)
        assert day.settlements == SettlementCounts(3, 1, 0, 123)


_CLAIMED_BEFORE: Final = """
    INSERT INTO settlements (network, payer, nonce, claim_id, request_digest, claimed_at, asset,
                             amount, pay_to, expires_at_ledger, caller)
    VALUES ($1, 'G', $2, gen_random_uuid(), sha256(''), $3, 'C', 1, 'G', 9, $4)
"""
_PUT_INTO_STATE: Final = """
    UPDATE settlements
    SET state = $2, fee_charged = $3, tx_hash = decode(lpad(to_hex($1::bigint), 64, '0'), 'hex'),
        envelope = '\\x00', source = $1::text, source_sequence = 1, max_time = now(),
        fee_limit = 1, sent_after_ledger = 1,
        finished_at = CASE WHEN $2 IN ('confirmed', 'failed') THEN now() END,
        reason = CASE WHEN $2 = 'failed' THEN 'x' END
    WHERE nonce = $1
"""


def _claim(owner: OwnerId | None, network: Network, nonce: int, clock: ManualClock) -> Claim:
    return claim(nonce, network=network, caller=owner, claimed_at=clock.now())


async def test_delete_request_counts_deletes_only_old_totals(
    database: Database, clock: ManualClock
) -> None:
    async with database.connection() as db:
        for ago in (399, 400, 401, 900):
            day = TODAY - timedelta(days=ago)
            total = (ANNA, day, TEST.value, "verify_accepted", 1)
            await usage_store.write_totals(db, [total], counted_by=uuid4())
        before = TODAY - timedelta(days=400)
        assert await usage_store.delete_request_counts(db, before=before, limit=1) == 1
        assert await usage_store.delete_request_counts(db, before=before, limit=10) == 1
        left: list[date] = [
            row["used_on"] for row in await db.fetch("SELECT used_on FROM usage_counts")
        ]
    assert sorted(left) == [TODAY - timedelta(days=400), TODAY - timedelta(days=399)]
