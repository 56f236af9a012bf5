"""What callers have used: counted exactly, shown to its owner alone."""

import asyncio
from datetime import date, timedelta
from typing import Final
from uuid import uuid4

import pytest

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Claim
from farebox.ingress import usage_store
from farebox.ingress.meter import Meter
from farebox.ingress.usage import Usage
from farebox.ingress.usage_day import Answered, Period, Settled, UsageDay
from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from support.manual_clock import START, ManualClock

ANNA, BERT = OwnerId("user_anna"), OwnerId("user_bert")
TODAY: Final = START.date()
ALL: Final = Period(TODAY - timedelta(days=30), TODAY + timedelta(days=30))
TEST, PUB = Network.TESTNET, Network.PUBNET


def _answers(meter: Meter, owner: OwnerId, network: Network, *kinds: str) -> None:
    for kind in kinds:
        if kind == "refused":
            meter.not_settled(owner, network)
        else:
            meter.verified(owner, network, is_accepted=kind == "good")


async def test_answers_are_counted_by_owner_day_and_network(
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
        UsageDay(tomorrow, TEST, Answered(1, 0, 0), Settled()),
        UsageDay(TODAY, PUB, Answered(0, 1, 0), Settled()),
        UsageDay(TODAY, TEST, Answered(2, 1, 1), Settled()),
    ]
    assert await usage.of(BERT, ALL) == [UsageDay(TODAY, TEST, Answered(1, 0, 0), Settled())]
    assert await usage.of(ANNA, Period(tomorrow, tomorrow)) == [
        UsageDay(tomorrow, TEST, Answered(1, 0, 0), Settled())
    ]
    assert await usage.of(OwnerId("user_nobody"), ALL) == []


async def test_processes_that_count_at_once_count_every_answer_once(
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
    assert [day.answered for day in await usage.of(ANNA, ALL)] == [Answered(80, 40, 0)]
    assert [day.answered for day in await usage.of(BERT, ALL)] == [Answered(0, 40, 0)]


async def test_what_cannot_be_written_is_written_later_and_a_write_in_doubt_counts_once(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter = Meter(database, clock)
    really = usage_store.write_totals

    async def written_and_broken(*args: object, **more: object) -> None:
        await really(*args, **more)  # type: ignore[arg-type]  # passed on as they came
        raise DatabaseUnavailable("the commit's answer was lost")

    _answers(meter, ANNA, TEST, "good")
    with monkeypatch.context() as broken:
        broken.setattr(usage_store, "write_totals", written_and_broken)
        with pytest.raises(DatabaseUnavailable):
            await meter.write()
    _answers(meter, ANNA, TEST, "good")
    async with meter:
        pass  # what is left at the end is written
    (day,) = await Usage(database, clock).of(ANNA, ALL)
    assert day.answered == Answered(2, 0, 0)


async def test_settlements_are_those_of_the_journal(database: Database, clock: ManualClock) -> None:
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
        UsageDay(TODAY, PUB, Answered(), Settled(1, 0, 0, 2**40)),
        UsageDay(TODAY, TEST, Answered(), Settled(2, 1, 1, 118)),
    ]
    assert [day.settled for day in await usage.of(BERT, ALL)] == [Settled(1, 0, 0, 5)]


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
    return Claim(
        identity=PaymentIdentity(network, account_address(bytes(32)), nonce),
        claim_id=uuid4(),
        request_digest=bytes(32),
        asset=contract_address(bytes(32)),
        amount=BaseUnits(1),
        pay_to=account_address(bytes(32)),
        expires_at_ledger=9,
        claimed_at=clock.now(),
        max_timeout_s=60,
        caller=owner,
    )


async def test_totals_of_long_ago_are_forgotten_and_no_others(
    database: Database, clock: ManualClock
) -> None:
    async with database.connection() as db:
        for ago in (399, 400, 401, 900):
            day = TODAY - timedelta(days=ago)
            total = (ANNA, day, TEST.value, "verify_accepted", 1)
            await usage_store.write_totals(db, [total], counted_by=uuid4())
        await usage_store.delete_old(db, today=TODAY, kept_days=400, limit=10)
        left: list[date] = [
            row["used_on"] for row in await db.fetch("SELECT used_on FROM usage_counts")
        ]
    assert sorted(left) == [TODAY - timedelta(days=400), TODAY - timedelta(days=399)]
