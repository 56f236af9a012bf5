"""The answer to the statement that takes the success is lost: the same process gets it again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Claim, Ending, SettlementState
from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from farebox.submission.fate import SentEnvelope
from support.manual_clock import START, ManualClock

DIGEST = bytes([9]) * 32
MINE = Claim(
    identity=PaymentIdentity(Network.TESTNET, account_address(bytes([1]) * 32), 5),
    claim_id=uuid4(),
    request_digest=DIGEST,
    asset=contract_address(bytes(32)),
    amount=BaseUnits(10_000),
    pay_to=account_address(bytes([2]) * 32),
    expires_at_ledger=200,
    claimed_at=START,
    max_timeout_s=60,
)
SENT = SentEnvelope(
    tx_hash=bytes([1]) * 32,
    inner_hash=None,
    envelope=Secret(b"signed"),
    source=account_address(bytes([3]) * 32),
    source_sequence=7,
    max_time=START + timedelta(seconds=45),
    fee_limit=Stroops(30_000),
    sent_after_ledger=100,
)


class LosingDatabase(Database):
    """Breaks so many connections after their statements were carried out."""

    losses = 0

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        async with super().connection() as connection:
            yield connection
            if self.losses:
                self.losses -= 1
                connection.terminate()
                raise DatabaseUnavailable("the connection broke")


@pytest.fixture
async def losing(
    database: Database, postgres_url: Secret[str]
) -> AsyncIterator[tuple[LosingDatabase, SettlementJournal]]:
    del database  # its tables are emptied
    async with LosingDatabase(postgres_url) as pool:
        journal = SettlementJournal(pool, ManualClock())
        await journal.claim(MINE)
        await journal.sending(MINE, SENT)
        await journal.end(SENT.tx_hash, Ending(SettlementState.CONFIRMED, ledger=102))
        yield pool, journal


async def test_a_lost_answer_is_asked_for_again_within_the_call(
    losing: tuple[LosingDatabase, SettlementJournal],
) -> None:
    pool, journal = losing
    pool.losses = 2
    assert await journal.take_success(MINE.identity, DIGEST)
    assert not await journal.take_success(MINE.identity, DIGEST)


async def test_the_next_call_for_the_same_request_gets_what_the_last_one_lost(
    losing: tuple[LosingDatabase, SettlementJournal],
) -> None:
    pool, journal = losing
    pool.losses = 3
    with pytest.raises(DatabaseUnavailable):
        await journal.take_success(MINE.identity, DIGEST)
    assert not await journal.take_success(MINE.identity, bytes(32)), "another request"
    taken = await asyncio.gather(*(journal.take_success(MINE.identity, DIGEST) for _ in range(20)))
    assert taken.count(True) == 1


async def test_another_process_is_not_given_what_this_one_lost(
    losing: tuple[LosingDatabase, SettlementJournal],
) -> None:
    pool, journal = losing
    pool.losses = 3
    with pytest.raises(DatabaseUnavailable):
        await journal.take_success(MINE.identity, DIGEST)
    assert not await SettlementJournal(pool, ManualClock()).take_success(MINE.identity, DIGEST)
    assert await journal.take_success(MINE.identity, DIGEST)


async def test_a_success_whose_statement_never_arrived_is_free_for_another_process(
    losing: tuple[LosingDatabase, SettlementJournal],
) -> None:
    pool, journal = losing
    other = replace(MINE, identity=replace(MINE.identity, nonce=6))
    assert not await journal.take_success(other.identity, DIGEST), "there is no such payment"
    assert await SettlementJournal(pool, ManualClock()).take_success(MINE.identity, DIGEST)
