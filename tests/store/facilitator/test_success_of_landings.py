"""The one success of a payment that landed elsewhere, or whose row was lost and restored."""

from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from farebox.facilitator.journal import store
from farebox.facilitator.journal.foreign_landing import ForeignLanding, LostRecord
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import FinalStatus, PaymentIdentity, SettlementState
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.secret import Secret
from farebox.stellar.transfer_envelope import LandedCall
from farebox.storage.pool import Database
from farebox.x402.payment import Payment, PaymentTerms
from farebox.x402.reasons import Reason
from support.claims import NET, SOURCE, claim, signed_envelope
from support.journal_rows import ASSET, SELLER, Paid, insert_settlement
from support.manual_clock import START, ManualClock

DIGEST = bytes(32)  # of every inserted row
AMOUNT = Paid().amount
ELSEWHERE = "state = 'failed', reason = $1, landed_hash = tx_hash"


async def landed(database: Database, change: str, *values: object) -> PaymentIdentity:
    identity = await insert_settlement(database, Paid())
    async with database.connection() as db:
        own = f"UPDATE settlements SET {change} WHERE nonce = {identity.nonce}"
        await db.execute(own, *values)
    return identity


async def take(database: Database, identity: PaymentIdentity, digest: bytes = DIGEST) -> bool:
    async with database.connection() as db:
        (is_taken,) = await store.take_successes(db, [(identity, digest, uuid4())], at=START)
    return is_taken


async def take_restored(
    database: Database, identity: PaymentIdentity, *, amount: int = AMOUNT
) -> tuple[bytes, datetime] | None:
    async with database.connection() as db:
        return await store.take_restored_success(
            db,
            identity,
            uuid4(),
            asset=ASSET,
            amount=amount,  # type: ignore[arg-type]  # base units
            pay_to=SELLER,
        )


async def test_success_of_a_payment_that_landed_elsewhere_is_taken_once(
    database: Database,
) -> None:
    """Control: a payment that failed inside the fee bump of a stranger has none."""
    change = f"{ELSEWHERE}, landed_at = claimed_at + interval '1 second'"
    for reason in (Reason.FOREIGN_LANDING, Reason.DUPLICATE_SETTLEMENT):
        identity = await landed(database, change, reason.value)
        assert not await take(database, identity, bytes([1]) * 32)
        assert await take(database, identity)
        assert not await take(database, identity)
    assert not await take(database, await landed(database, change, Reason.TRANSACTION_FAILED.value))


async def test_landing_that_is_not_after_the_claim_has_no_success(database: Database) -> None:
    """Another seller had the payment first, and our node was behind when it judged it."""
    for landed_at in ("claimed_at - interval '50 seconds'", "claimed_at", "NULL"):
        change = f"{ELSEWHERE}, landed_at = {landed_at}"
        identity = await landed(database, change, Reason.FOREIGN_LANDING.value)
        assert not await take(database, identity), landed_at


@pytest.mark.parametrize(("after_s", "is_taken"), [(1, True), (-20, False)])
async def test_recorded_landing_has_a_success_where_its_ledger_closed_after_the_claim(
    database: Database, after_s: int, *, is_taken: bool
) -> None:
    journal, held, sent = SettlementJournal(database, ManualClock()), claim(), signed_envelope()
    await journal.claim(held)
    await journal.record_sending(held, sent)
    landing = FinalStatus(
        SettlementState.FAILED,
        Reason.FOREIGN_LANDING,
        landed_hash=bytes([8]) * 32,
        landed_at=held.claimed_at + timedelta(seconds=after_s),
    )
    assert await journal.record_final(sent.tx_hash, landing)
    assert await journal.take_success(held.identity, held.request_digest) == is_taken


async def test_restored_row_has_the_close_time_of_its_ledger(database: Database) -> None:
    held = claim()
    terms = PaymentTerms(NET, ASSET, BaseUnits(1), SELLER, 60)
    call = LandedCall(SOURCE, SOURCE, 7, None, (), b"signed", None)
    landing = ForeignLanding(bytes([8]) * 32, 105, START, call, b"envelope", is_ours=True)
    lost = LostRecord(Payment(terms, Secret(b"transaction")), held.identity, 200, landing)
    assert await SettlementJournal(database, ManualClock()).restore(lost)
    async with database.connection() as db:
        row = await db.fetchrow("SELECT restored_at, landed_at FROM settlements")
    assert tuple(row or ()) == (START, START)


async def test_success_of_a_restored_row_is_taken_once_for_its_transfer(
    database: Database,
) -> None:
    change = "answered_at = now(), restored_at = now(), landed_at = $1"
    identity = await landed(database, change, START)
    assert not await take(database, identity)
    assert await take_restored(database, identity, amount=1) is None
    assert await take_restored(database, identity) == (DIGEST, START)
    assert await take_restored(database, identity) is None


async def test_row_that_was_not_restored_has_no_restored_success(database: Database) -> None:
    for change in (
        "answered_at = NULL",
        "answered_at = now(), answered_by = gen_random_uuid()",
        "answered_at = now(), landed_at = now()",  # by a version that did not record to whom
    ):
        assert await take_restored(database, await landed(database, change)) is None, change
