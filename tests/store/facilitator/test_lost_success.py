"""A process recovers a success when the answer to its statement was lost."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import FinalStatus, SettlementState
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from support.claims import DIGEST, claim, signed_envelope
from support.faulty_database import LosingDatabase
from support.manual_clock import ManualClock

MINE = claim()
SENT = signed_envelope(1)


@pytest.fixture
async def losing(
    database: Database, postgres_url: Secret[str]
) -> AsyncIterator[tuple[LosingDatabase, SettlementJournal]]:
    del database  # its tables are emptied
    async with LosingDatabase(postgres_url) as pool:
        journal = SettlementJournal(pool, ManualClock())
        await journal.claim(MINE)
        await journal.record_sending(MINE, SENT)
        await journal.record_final(SENT.tx_hash, FinalStatus(SettlementState.CONFIRMED, ledger=102))
        yield pool, journal


async def test_take_success_retries_when_its_answer_is_lost(
    losing: tuple[LosingDatabase, SettlementJournal],
) -> None:
    pool, journal = losing
    pool.lost_answers = 2
    assert await journal.take_success(MINE.identity, DIGEST)
    assert not await journal.take_success(MINE.identity, DIGEST)


async def test_take_success_of_the_same_request_recovers_a_lost_success(
    losing: tuple[LosingDatabase, SettlementJournal],
) -> None:
    pool, journal = losing
    pool.lost_answers = 3
    with pytest.raises(DatabaseUnavailable):
        await journal.take_success(MINE.identity, DIGEST)
    assert not await journal.take_success(MINE.identity, bytes(32)), "another request"
    taken = await asyncio.gather(*(journal.take_success(MINE.identity, DIGEST) for _ in range(20)))
    assert taken.count(True) == 1


async def test_a_lost_success_is_not_shown_as_answered_on_its_process(
    losing: tuple[LosingDatabase, SettlementJournal],
) -> None:
    pool, journal = losing
    shown = SettlementJournal(pool, ManualClock(), attempts=journal.attempts)
    elsewhere = SettlementJournal(pool, ManualClock())
    pool.lost_answers = 3
    with pytest.raises(DatabaseUnavailable):
        await journal.take_success(MINE.identity, DIGEST)
    assert [await _is_answered(each) for each in (journal, shown, elsewhere)] == [
        False,
        False,
        True,
    ]
    assert await journal.take_success(MINE.identity, DIGEST)
    assert await _is_answered(journal)


async def _is_answered(journal: SettlementJournal) -> bool:
    row = await journal.find(MINE.identity)
    assert row is not None
    return row.is_answered


async def test_take_success_of_another_process_does_not_recover_a_lost_success(
    losing: tuple[LosingDatabase, SettlementJournal],
) -> None:
    pool, journal = losing
    pool.lost_answers = 3
    with pytest.raises(DatabaseUnavailable):
        await journal.take_success(MINE.identity, DIGEST)
    assert not await SettlementJournal(pool, ManualClock()).take_success(MINE.identity, DIGEST)
    assert await journal.take_success(MINE.identity, DIGEST)


async def test_take_success_of_another_process_succeeds_when_the_statement_never_arrived(
    losing: tuple[LosingDatabase, SettlementJournal],
) -> None:
    pool, journal = losing
    other = replace(MINE, identity=replace(MINE.identity, nonce=6))
    assert not await journal.take_success(other.identity, DIGEST), "there is no such payment"
    assert await SettlementJournal(pool, ManualClock()).take_success(MINE.identity, DIGEST)
