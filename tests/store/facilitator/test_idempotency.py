"""One commit takes a success and stores its response, however many callers commit."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final
from uuid import uuid4

import pytest
from stellar_sdk import Keypair, StrKey

from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import (
    Claim,
    FinalStatus,
    KeyConflict,
    NotSettled,
    Pending,
    Settled,
    SettlementState,
    StoredResponse,
    build_duplicate,
)
from farebox.facilitator.settling.idempotency import _MAX_DELETED, StoredResponses
from farebox.facilitator.settling.settle_request import SettleRequest, build_request
from farebox.facilitator.verification.verdict import SignedTransfer, judge_request
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.storage.pool import Database
from farebox.storage.prune import PAUSE_S
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason
from farebox.x402.wire import read_payment
from support.claims import signed_envelope
from support.faulty_database import LosingDatabase
from support.manual_clock import START, ManualClock
from support.payments import Draft

PAYER: Final = Keypair.random()
DRAFT: Final = Draft(
    network=Network.TESTNET,
    asset=StrKey.encode_contract(bytes([7]) * 32),
    payer=PAYER.public_key,
    signers=(PAYER,),
    pay_to=Keypair.random().public_key,
    expires_at_ledger=900,
)
SENT: Final = signed_envelope(1)


class StaleLedgers:
    """A ledger clock that was never read."""

    def now(self) -> LedgerReading:
        raise ClockStale(Network.TESTNET)


def request_of(draft: Draft, key: str | None) -> SettleRequest:
    payment = read_payment(json.dumps(draft.request()).encode())
    assert isinstance(payment, Payment)
    transfer = judge_request(payment, frozenset())
    assert isinstance(transfer, SignedTransfer)
    return build_request(transfer, key=key, caller=None, client="")


def settled(request: SettleRequest) -> Settled:
    return Settled(request.identity, request.digest, SENT.tx_hash.hex())


@pytest.fixture
async def losing(database: Database, postgres_url: Secret[str]) -> AsyncIterator[LosingDatabase]:
    """The database with the row of `DRAFT`, confirmed and not answered."""
    del database  # its tables are emptied
    async with LosingDatabase(postgres_url) as pool:
        request = request_of(DRAFT, None)
        terms = request.transfer.payment.terms
        claim = Claim(
            identity=request.identity,
            claim_id=uuid4(),
            request_digest=request.digest,
            asset=terms.asset,
            amount=terms.amount,
            pay_to=terms.pay_to,
            expires_at_ledger=DRAFT.expires_at_ledger,
            claimed_at=START,
            ends_by=START,
            max_timeout_s=terms.max_timeout_s,
        )
        journal = SettlementJournal(pool, ManualClock())
        await journal.claim(claim)
        await journal.record_sending(claim, SENT)
        await journal.record_final(SENT.tx_hash, FinalStatus(SettlementState.CONFIRMED, ledger=102))
        yield pool


@pytest.fixture
def responses(losing: LosingDatabase) -> StoredResponses:
    clock = ManualClock()
    journal = SettlementJournal(losing, clock)
    return StoredResponses(losing, journal, {Network.TESTNET: StaleLedgers()}, clock)


async def test_one_of_twenty_commits_takes_the_success_and_the_others_replay_it(
    responses: StoredResponses,
) -> None:
    request = request_of(DRAFT, "order")
    outcome = settled(request)
    committed = await asyncio.gather(
        *(responses.commit(request, outcome, b"success") for _ in range(20))
    )
    assert sum(each is outcome for each in committed) == 1
    others = [each for each in committed if each is not outcome]
    assert others == [StoredResponse(b"success")] * 19
    assert await responses.find(request) == StoredResponse(b"success")


@pytest.mark.parametrize("key", [None, "another"])
async def test_commit_returns_a_duplicate_after_the_success_was_taken(
    responses: StoredResponses, key: str | None
) -> None:
    first, second = request_of(DRAFT, "order"), request_of(DRAFT, key)
    await responses.commit(first, settled(first), b"success")
    committed = await responses.commit(second, settled(second), b"success")
    assert committed == build_duplicate(second.identity, SENT.tx_hash.hex())
    assert await responses.find(second) is None
    assert isinstance(committed, NotSettled)
    assert await responses.commit(second, committed, b"duplicate") is committed
    stored = None if key is None else StoredResponse(b"duplicate")
    assert await responses.find(second) == stored


async def test_a_key_conflict_does_not_take_the_success(responses: StoredResponses) -> None:
    mine = request_of(DRAFT, "order")
    longer = request_of(replace(DRAFT, timeout_s=901), "order")  # another request, the same scope
    await responses.reserve(mine)
    with pytest.raises(KeyConflict):
        await responses.commit(longer, settled(mine), b"success")
    with pytest.raises(KeyConflict):
        await responses.find(longer)
    outcome = settled(mine)
    assert await responses.commit(mine, outcome, b"success") is outcome


async def test_commit_is_pending_when_its_answer_is_lost_and_the_next_takes_the_success(
    responses: StoredResponses, losing: LosingDatabase
) -> None:
    """Control: with a new attempt id the second commit is a duplicate; the success is lost."""
    request = request_of(DRAFT, "order")
    outcome = settled(request)
    losing.lost_commits = 1
    lost = await responses.commit(request, outcome, b"success")
    assert lost == Pending(Network.TESTNET, request.identity.payer, SENT.tx_hash.hex())
    assert await responses.commit(request, outcome, b"success") is outcome


async def test_only_a_final_failure_is_stored(responses: StoredResponses) -> None:
    request = request_of(DRAFT, "order")
    await responses.reserve(request)
    for reason, stored in (
        (Reason.NETWORK_UNAVAILABLE, None),
        (Reason.TRANSACTION_FAILED, StoredResponse(b"failed")),
    ):
        outcome = NotSettled(reason, Network.TESTNET, request.identity.payer)
        assert await responses.commit(request, outcome, b"failed") is outcome
        assert await responses.find(request) == stored


class FullBatches(StoredResponses):
    """Two batches of expired keys, and then the end of the test."""

    batches = 2

    async def delete_expired(self) -> int:
        self.batches -= 1
        if self.batches < 0:
            raise EndOfTest
        return _MAX_DELETED


class EndOfTest(Exception):
    pass


async def test_deletion_of_expired_keys_pauses_between_batches(database: Database) -> None:
    clock = ManualClock()
    with pytest.raises(EndOfTest):
        await FullBatches(database, SettlementJournal(database, clock), {}, clock).run()
    assert clock.slept == [PAUSE_S, PAUSE_S]
