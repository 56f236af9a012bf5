import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import FINAL, NEXT, Claim, Ending, Recording, SettlementState
from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.amounts import MAX_BASE_UNITS, BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.submission.fate import SentEnvelope
from farebox.x402.reasons import Reason
from support.manual_clock import START, ManualClock

CONFIRMED = Ending(SettlementState.CONFIRMED, ledger=102, fee_charged=23_000)
CLAIM_LOST = Recording.CLAIM_LOST
DEAD = Ending(SettlementState.DEAD, Reason.TRANSACTION_FAILED)


def claim(*, payer: int = 1, nonce: int = 5, network: Network = Network.TESTNET) -> Claim:
    return Claim(
        identity=PaymentIdentity(network, account_address(bytes([payer]) * 32), nonce),
        claim_id=uuid4(),
        request_digest=bytes([9]) * 32,
        asset=contract_address(bytes(32)),
        amount=BaseUnits(10_000),
        pay_to=account_address(bytes([2]) * 32),
        expires_at_ledger=200,
        claimed_at=START,
        max_timeout_s=60,
    )


def envelope(*, tag: int = 1, source: int = 3) -> SentEnvelope:
    return SentEnvelope(
        tx_hash=bytes([tag]) * 32,
        inner_hash=None,
        envelope=Secret(b"signed"),
        source=account_address(bytes([source]) * 32),
        source_sequence=7,
        max_time=START + timedelta(seconds=45),
        fee_limit=Stroops(30_000),
        sent_after_ledger=100,
    )


@pytest.fixture
def journal(database: Database) -> SettlementJournal:
    return SettlementJournal(database, ManualClock())


async def test_one_of_fifty_claims_of_a_payment_holds(journal: SettlementJournal) -> None:
    claims = [replace(claim(), claim_id=uuid4()) for _ in range(50)]
    held = await asyncio.gather(*(journal.claim(each) for each in claims))
    assert held.count(True) == 1
    row = await journal.find(claims[0].identity)
    assert row is not None
    assert row.claim_id == claims[held.index(True)].claim_id


@pytest.mark.parametrize(
    "other", [claim(payer=4), claim(nonce=6), claim(nonce=-(2**63)), claim(network=Network.PUBNET)]
)
async def test_another_payer_nonce_or_network_is_another_payment(
    journal: SettlementJournal, other: Claim
) -> None:
    assert await journal.claim(claim())
    assert await journal.claim(other)


async def test_what_was_said_of_the_resource_is_kept_with_the_claim_and_goes_with_it(
    journal: SettlementJournal, database: Database
) -> None:
    said = replace(claim(), discovery=b'{"resource":null,"bazaar":{}}', max_timeout_s=77)
    silent = claim(payer=4)
    assert all(await asyncio.gather(journal.claim(said), journal.claim(silent)))
    async with database.connection() as db:
        rows = await db.fetch("SELECT payer, discovery, max_timeout_s FROM settlements")
    assert {row["payer"]: (row["discovery"], row["max_timeout_s"]) for row in rows} == {
        said.identity.payer: (said.discovery, 77),
        silent.identity.payer: (None, 60),
    }
    assert await journal.release(said.identity, said.claim_id)
    assert await journal.find(said.identity) is None


async def test_a_row_gives_back_what_was_written(journal: SettlementJournal) -> None:
    mine, sent = replace(claim(), amount=BaseUnits(MAX_BASE_UNITS)), envelope()
    await journal.claim(mine)
    await journal.sending(mine, sent)
    row = await journal.find(mine.identity)
    assert row is not None
    assert (row.state, row.amount, row.pay_to) == ("sending", MAX_BASE_UNITS, mine.pay_to)
    assert row.sent is not None
    assert row.sent.envelope.reveal() == b"signed"
    assert replace(row.sent, envelope=sent.envelope) == sent
    assert (row.tx_hash, row.is_answered, row.reason) == ("01" * 32, False, None)


async def test_a_released_claim_can_be_taken_again(journal: SettlementJournal) -> None:
    mine = claim()
    await journal.claim(mine)
    assert not await journal.release(mine.identity, UUID(int=0)), "only its holder gives it back"
    assert await journal.release(mine.identity, mine.claim_id)
    assert await journal.claim(claim())


async def test_what_is_sent_cannot_be_released(journal: SettlementJournal) -> None:
    mine = claim()
    await journal.claim(mine)
    await journal.sending(mine, envelope())
    assert not await journal.release(mine.identity, mine.claim_id)
    assert await journal.release_stale(Network.TESTNET, older_than_s=-1) == 0


async def test_a_claim_that_was_given_away_cannot_be_sent(journal: SettlementJournal) -> None:
    mine = claim()
    await journal.claim(mine)
    assert await journal.release_stale(Network.TESTNET, older_than_s=0.0 - 1) == 1
    assert await journal.sending(mine, envelope()) is Recording.CLAIM_LOST
    await journal.claim(claim())
    assert await journal.sending(mine, envelope()) is Recording.CLAIM_LOST, (
        "the new claim is another's"
    )


async def test_a_source_carries_one_unresolved_envelope(journal: SettlementJournal) -> None:
    first, second = claim(nonce=1), claim(nonce=2)
    await journal.claim(first)
    await journal.claim(second)
    assert await journal.sending(first, envelope(tag=1)) is Recording.WRITTEN
    assert await journal.sending(second, envelope(tag=2)) is Recording.SOURCE_BUSY
    assert await journal.end(envelope(tag=1).tx_hash, DEAD)
    assert await journal.sending(second, envelope(tag=2)) is Recording.WRITTEN


async def test_a_refused_envelope_gives_way_to_one_other(journal: SettlementJournal) -> None:
    mine, first, second = claim(), envelope(tag=1), envelope(tag=2)
    await journal.claim(mine)
    await journal.sending(mine, first)
    assert await journal.replace(mine, dead=first.tx_hash, sent=second) is Recording.WRITTEN
    assert await journal.replace(mine, dead=first.tx_hash, sent=envelope(tag=3)) is CLAIM_LOST
    assert not await journal.end(first.tx_hash, CONFIRMED), "the row is about the second now"
    assert await journal.submitted(second.tx_hash)


async def test_an_envelope_that_a_node_took_and_that_died_gives_way_to_one_to_be_sent(
    journal: SettlementJournal,
) -> None:
    mine, first, second = claim(), envelope(tag=1), envelope(tag=2)
    await journal.claim(mine)
    await journal.sending(mine, first)
    await journal.submitted(first.tx_hash)
    assert await journal.replace(mine, dead=first.tx_hash, sent=second) is Recording.WRITTEN
    row = await journal.find(mine.identity)
    assert row is not None
    assert (row.state, row.tx_hash) == (SettlementState.SENDING, second.tx_hash.hex())
    assert await journal.withdraw(mine.identity, second.tx_hash, claim_id=mine.claim_id), (
        "it was never sent"
    )


async def test_an_envelope_that_never_left_frees_its_payment(journal: SettlementJournal) -> None:
    mine = claim()
    await journal.claim(mine)
    await journal.sending(mine, envelope())
    assert await journal.withdraw(mine.identity, envelope().tx_hash, claim_id=mine.claim_id)
    assert await journal.find(mine.identity) is None


async def test_what_another_process_took_over_is_neither_withdrawn_nor_replaced(
    journal: SettlementJournal,
) -> None:
    mine, first, second = claim(), envelope(tag=1), envelope(tag=2)
    await journal.claim(mine)
    await journal.sending(mine, first)
    known = await journal.find(mine.identity)
    assert known is not None
    taken = await asyncio.gather(*(journal.take_over(known, first.tx_hash) for _ in range(20)))
    assert len([each for each in taken if each is not None]) == 1, "one alone sends it again"
    assert not await journal.withdraw(mine.identity, first.tx_hash, claim_id=mine.claim_id)
    assert await journal.replace(mine, dead=first.tx_hash, sent=second) is CLAIM_LOST
    still = await journal.find(mine.identity)
    assert still is not None
    assert still.tx_hash == first.tx_hash.hex()


async def test_what_is_withdrawn_cannot_be_taken_over(journal: SettlementJournal) -> None:
    mine, sent = claim(), envelope()
    await journal.claim(mine)
    await journal.sending(mine, sent)
    known = await journal.find(mine.identity)
    assert known is not None
    assert await journal.withdraw(mine.identity, sent.tx_hash, claim_id=mine.claim_id)
    assert await journal.take_over(known, sent.tx_hash) is None


async def test_one_of_fifty_callers_owns_the_success(journal: SettlementJournal) -> None:
    mine = claim()
    await journal.claim(mine)
    await journal.sending(mine, envelope())
    assert not await journal.take_success(mine.identity, mine.request_digest), "not confirmed yet"
    await journal.end(envelope().tx_hash, CONFIRMED)
    assert not await journal.take_success(mine.identity, bytes(32)), "another request's words"
    taken = await asyncio.gather(
        *(journal.take_success(mine.identity, mine.request_digest) for _ in range(50))
    )
    assert taken.count(True) == 1
    row = await journal.find(mine.identity)
    assert row is not None
    assert row.is_answered


@pytest.mark.parametrize("state", sorted(FINAL))
async def test_an_end_is_written_once(journal: SettlementJournal, state: SettlementState) -> None:
    mine = claim()
    await journal.claim(mine)
    await journal.sending(mine, envelope())
    assert await journal.end(envelope().tx_hash, Ending(state, Reason.TRANSACTION_FAILED))
    for other in FINAL:
        assert not await journal.end(envelope().tx_hash, Ending(other))
    assert not await journal.submitted(envelope().tx_hash)
    row = await journal.find(mine.identity)
    assert row is not None
    assert row.state is state


def test_no_state_leads_back() -> None:
    order = list(SettlementState)
    another_envelope = (SettlementState.SUBMITTED, SettlementState.SENDING)  # one proven dead
    for state, followers in NEXT.items():
        back = [each for each in followers if order.index(each) < order.index(state)]
        assert all((state, each) == another_envelope for each in back)
        assert not (state in FINAL and followers)


async def test_only_sent_rows_of_that_age_wait_for_reconciliation(
    journal: SettlementJournal,
) -> None:
    await journal.claim(claim(nonce=1))
    sent = claim(nonce=2)
    await journal.claim(sent)
    await journal.sending(sent, envelope())
    rows = await journal.unresolved(Network.TESTNET, older_than_s=0, limit=10)
    assert [row.identity for row in rows] == [sent.identity]
    assert await journal.unresolved(Network.TESTNET, older_than_s=1, limit=10) == []
    assert await journal.unresolved(Network.PUBNET, older_than_s=0, limit=10) == []
