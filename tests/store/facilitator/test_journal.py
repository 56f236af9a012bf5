"""The settlement journal: claims, envelopes and final statuses under concurrent callers."""

import asyncio
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from farebox.facilitator.budgets.budget import EnvelopeEntry
from farebox.facilitator.journal import envelope_store
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import (
    FINAL_STATES,
    TRANSITIONS,
    Claim,
    FinalStatus,
    Recording,
    SettlementState,
)
from farebox.kernel.addresses import account_address
from farebox.kernel.amounts import MAX_BASE_UNITS, BaseUnits
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from farebox.submission.fate import SentEnvelope
from farebox.x402.reasons import Reason
from support.claims import claim, signed_envelope
from support.manual_clock import START, ManualClock
from testing.waiting import until

CONFIRMED = FinalStatus(SettlementState.CONFIRMED, ledger=102, fee_charged=23_000)
CLAIM_LOST = Recording.CLAIM_LOST
DEAD = FinalStatus(SettlementState.DEAD, Reason.TRANSACTION_FAILED)


def envelope(*, tag: int = 1, source: int = 3) -> SentEnvelope:
    return signed_envelope(tag, source=account_address(bytes([source]) * 32))


@pytest.fixture
def journal(database: Database) -> SettlementJournal:
    return SettlementJournal(database, ManualClock())


async def test_one_of_fifty_concurrent_claims_succeeds(journal: SettlementJournal) -> None:
    claims = [replace(claim(), claim_id=uuid4()) for _ in range(50)]
    held = await asyncio.gather(*(journal.claim(each) for each in claims))
    assert held.count(True) == 1
    row = await journal.find(claims[0].identity)
    assert row is not None
    assert row.claim_id == claims[held.index(True)].claim_id


async def test_claim_succeeds_for_another_payer_nonce_or_network(
    journal: SettlementJournal,
) -> None:
    others = claim(payer=4), claim(nonce=6), claim(nonce=-(2**63)), claim(network=Network.PUBNET)
    for each in (claim(), *others):
        assert await journal.claim(each)


async def test_claim_stores_the_discovery_text_and_release_deletes_it(
    journal: SettlementJournal, database: Database
) -> None:
    described = replace(claim(), discovery=b'{"resource":null,"bazaar":{}}', max_timeout_s=77)
    plain = claim(payer=4)
    assert all(await asyncio.gather(journal.claim(described), journal.claim(plain)))
    async with database.connection() as db:
        rows = await db.fetch("SELECT payer, discovery, max_timeout_s FROM settlements")
    assert {row["payer"]: (row["discovery"], row["max_timeout_s"]) for row in rows} == {
        described.identity.payer: (described.discovery, 77),
        plain.identity.payer: (None, 60),
    }
    assert await journal.release(described.identity, described.claim_id)
    assert await journal.find(described.identity) is None


async def test_find_returns_the_row_as_it_was_written(journal: SettlementJournal) -> None:
    mine, sent = replace(claim(), amount=BaseUnits(MAX_BASE_UNITS)), envelope()
    await journal.claim(mine)
    await journal.record_sending(mine, sent)
    row = await journal.find(mine.identity)
    assert row is not None
    assert (row.state, row.amount, row.pay_to) == ("sending", MAX_BASE_UNITS, mine.pay_to)
    assert row.sent is not None
    assert row.sent.envelope.reveal() == b"signed"
    assert replace(row.sent, envelope=sent.envelope) == sent
    assert (row.tx_hash, row.is_answered, row.reason) == (sent.tx_hash.hex(), False, None)


async def test_claim_succeeds_again_after_release(journal: SettlementJournal) -> None:
    mine = claim()
    await journal.claim(mine)
    assert not await journal.release(mine.identity, UUID(int=0)), "only its holder gives it back"
    assert await journal.release(mine.identity, mine.claim_id)
    assert await journal.claim(claim())


async def test_release_fails_after_sending_was_recorded(journal: SettlementJournal) -> None:
    mine = claim()
    await journal.claim(mine)
    await journal.record_sending(mine, envelope())
    assert not await journal.release(mine.identity, mine.claim_id)
    assert await journal.release_stale(Network.TESTNET, older_than_s=-1) == 0


async def test_record_sending_fails_after_the_claim_was_released(
    journal: SettlementJournal,
) -> None:
    mine = claim()
    await journal.claim(mine)
    assert await journal.release_stale(Network.TESTNET, older_than_s=0.0 - 1) == 1
    assert await journal.record_sending(mine, envelope()) is Recording.CLAIM_LOST
    await journal.claim(claim())
    assert await journal.record_sending(mine, envelope()) is Recording.CLAIM_LOST, (
        "the new claim is another's"
    )


async def test_record_sending_is_refused_while_the_source_has_an_unresolved_envelope(
    journal: SettlementJournal,
) -> None:
    first, second = claim(nonce=1), claim(nonce=2)
    await journal.claim(first)
    await journal.claim(second)
    assert await journal.record_sending(first, envelope(tag=1)) is Recording.WRITTEN
    assert await journal.record_sending(second, envelope(tag=2)) is Recording.SOURCE_BUSY
    assert await journal.record_final(envelope(tag=1).tx_hash, DEAD)
    assert await journal.record_sending(second, envelope(tag=2)) is Recording.WRITTEN


async def test_replace_succeeds_once_for_a_refused_envelope(journal: SettlementJournal) -> None:
    mine, first, second = claim(), envelope(tag=1), envelope(tag=2)
    await journal.claim(mine)
    await journal.record_sending(mine, first)
    assert await journal.replace(mine, second.in_place_of(first)) is Recording.WRITTEN
    assert await journal.replace(mine, envelope(tag=3).in_place_of(first)) is CLAIM_LOST
    assert not await journal.record_final(first.tx_hash, CONFIRMED), (
        "the row is about the second now"
    )
    assert await journal.record_submitted(second.tx_hash)


async def test_replace_returns_a_submitted_settlement_to_sending(
    journal: SettlementJournal,
) -> None:
    mine, first, second = claim(), envelope(tag=1), envelope(tag=2)
    await journal.claim(mine)
    await journal.record_sending(mine, first)
    await journal.record_submitted(first.tx_hash)
    assert await journal.replace(mine, second.in_place_of(first)) is Recording.WRITTEN
    row = await journal.find(mine.identity)
    assert row is not None
    assert (row.state, row.tx_hash) == (SettlementState.SENDING, second.tx_hash.hex())


async def test_withdraw_and_replace_fail_after_another_process_took_over(
    journal: SettlementJournal,
) -> None:
    mine, first, second = claim(), envelope(tag=1), envelope(tag=2)
    await journal.claim(mine)
    await journal.record_sending(mine, first)
    known = await journal.find(mine.identity)
    assert known is not None
    taken = await asyncio.gather(*(journal.take_over(known, first.tx_hash) for _ in range(20)))
    assert len([each for each in taken if each is not None]) == 1, "one alone sends it again"
    assert not await journal.withdraw(mine.identity, first.tx_hash, claim_id=mine.claim_id)
    assert await journal.replace(mine, second.in_place_of(first)) is CLAIM_LOST
    still = await journal.find(mine.identity)
    assert still is not None
    assert still.tx_hash == first.tx_hash.hex()


async def test_withdraw_deletes_the_row_so_that_nobody_takes_it_over(
    journal: SettlementJournal,
) -> None:
    mine, sent = claim(), envelope()
    await journal.claim(mine)
    await journal.record_sending(mine, sent)
    known = await journal.find(mine.identity)
    assert known is not None
    assert await journal.withdraw(mine.identity, sent.tx_hash, claim_id=mine.claim_id)
    assert await journal.find(mine.identity) is None
    assert await journal.take_over(known, sent.tx_hash) is None


async def test_one_of_fifty_concurrent_callers_takes_the_success(
    journal: SettlementJournal,
) -> None:
    mine = claim()
    await journal.claim(mine)
    await journal.record_sending(mine, envelope())
    assert not await journal.take_success(mine.identity, mine.request_digest), "not confirmed yet"
    await journal.record_final(envelope().tx_hash, CONFIRMED)
    assert not await journal.take_success(mine.identity, bytes(32)), "another request's words"
    taken = await asyncio.gather(
        *(journal.take_success(mine.identity, mine.request_digest) for _ in range(50))
    )
    assert taken.count(True) == 1
    row = await journal.find(mine.identity)
    assert row is not None
    assert row.is_answered


async def test_record_final_succeeds_once(journal: SettlementJournal) -> None:
    for number, state in enumerate(sorted(FINAL_STATES), start=1):
        mine, sent = claim(nonce=number), envelope(tag=number, source=number)
        await journal.claim(mine)
        await journal.record_sending(mine, sent)
        final = FinalStatus(state, Reason.TRANSACTION_FAILED)
        assert await journal.record_final(sent.tx_hash, final)
        is_open = state is SettlementState.UNPROVEN  # until it is proven after all
        for other in () if is_open else FINAL_STATES:
            assert not await journal.record_final(sent.tx_hash, FinalStatus(other))
        assert not await journal.record_submitted(sent.tx_hash)
        row = await journal.find(mine.identity)
        assert row is not None
        assert row.state is state


def test_transitions_never_lead_back() -> None:
    order = list(SettlementState)
    another_envelope = (SettlementState.SUBMITTED, SettlementState.SENDING)  # one proven dead
    proven = FINAL_STATES - {SettlementState.UNPROVEN}
    for state, followers in TRANSITIONS.items():
        if state is SettlementState.UNPROVEN:
            assert followers == proven
            continue
        back = [each for each in followers if order.index(each) < order.index(state)]
        assert all((state, each) == another_envelope for each in back)
        assert not (state in proven and followers)


async def test_find_unresolved_returns_only_sent_rows_of_the_age(
    journal: SettlementJournal,
) -> None:
    await journal.claim(claim(nonce=1))
    sent = claim(nonce=2)
    await journal.claim(sent)
    await journal.record_sending(sent, envelope())
    rows = await journal.find_unresolved(Network.TESTNET, older_than_s=0, limit=10)
    assert [row.identity for row in rows] == [sent.identity]
    assert await journal.find_unresolved(Network.TESTNET, older_than_s=1, limit=10) == []
    assert await journal.find_unresolved(Network.PUBNET, older_than_s=0, limit=10) == []


async def test_recorded_envelopes_lock_their_rows_in_the_order_of_every_statement(
    database: Database, other_pool: Database
) -> None:
    """A transaction that has locked the first row of two can lock the second one.

    Control: rows that are locked in the order of the batch, which deadlock with repeated claims.
    """
    journal = SettlementJournal(other_pool, ManualClock())
    first, second = claim(1), claim(2)
    for each in (second, first):
        await journal.claim(each)
    lock = "SELECT FROM settlements WHERE (network, payer, nonce) = ($1, $2, $3) FOR UPDATE"

    async def is_waiting() -> bool:
        async with database.connection() as own:
            return bool(await own.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))

    async with database.transaction() as db:
        await db.execute(lock, *first.identity.row_key)
        recording = asyncio.create_task(_record(other_pool, second, first))
        await until(is_waiting)
        await db.execute(f"{lock} NOWAIT", *second.identity.row_key)
    assert await recording == [True, True]


async def _record(pool: Database, *claims: Claim) -> list[bool]:
    entries = [
        EnvelopeEntry(each, envelope(tag=n, source=n), 0, START.date(), asset_is_named=True)
        for n, each in enumerate(claims, 1)
    ]
    async with pool.transaction() as db:
        return await envelope_store.record_sending(db, entries)
