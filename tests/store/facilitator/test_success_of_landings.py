"""The one success of a payment that landed elsewhere, or whose row was lost and restored."""

from uuid import uuid4

import pytest

from farebox.facilitator.journal import store
from farebox.facilitator.settlement import PaymentIdentity
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason
from support.journal_rows import ASSET, SELLER, Paid, insert_settlement
from support.manual_clock import START

DIGEST = bytes(32)  # of every inserted row
AMOUNT = Paid().amount


async def landed(database: Database, change: str, *values: object) -> PaymentIdentity:
    identity = await insert_settlement(database, Paid())
    async with database.connection() as db:
        await db.execute(f"UPDATE settlements SET {change}", *values)
    return identity


async def take(database: Database, identity: PaymentIdentity, digest: bytes = DIGEST) -> bool:
    async with database.connection() as db:
        (is_taken,) = await store.take_successes(db, [(identity, digest, uuid4())], at=START)
    return is_taken


async def take_restored(
    database: Database, identity: PaymentIdentity, *, amount: int = AMOUNT
) -> bytes | None:
    async with database.connection() as db:
        return await store.take_restored_success(
            db,
            identity,
            uuid4(),
            asset=ASSET,
            amount=amount,  # type: ignore[arg-type]  # base units
            pay_to=SELLER,
        )


@pytest.mark.parametrize("reason", [Reason.FOREIGN_LANDING, Reason.DUPLICATE_SETTLEMENT])
async def test_success_of_a_payment_that_landed_elsewhere_is_taken_once(
    database: Database, reason: Reason
) -> None:
    change = "state = 'failed', reason = $1, landed_hash = tx_hash"
    identity = await landed(database, change, reason.value)
    assert not await take(database, identity, bytes([1]) * 32)
    assert await take(database, identity)
    assert not await take(database, identity)


async def test_failure_inside_the_fee_bump_of_a_stranger_has_no_success(
    database: Database,
) -> None:
    change = "state = 'failed', reason = $1, landed_hash = tx_hash"
    identity = await landed(database, change, Reason.TRANSACTION_FAILED.value)
    assert not await take(database, identity)


async def test_success_of_a_restored_row_is_taken_once_for_its_transfer(
    database: Database,
) -> None:
    identity = await landed(database, "answered_at = now()")
    assert not await take(database, identity)
    assert await take_restored(database, identity, amount=1) is None
    assert await take_restored(database, identity) == DIGEST
    assert await take_restored(database, identity) is None


@pytest.mark.parametrize(
    "change",
    ["answered_at = NULL", "answered_at = now(), answered_by = gen_random_uuid()"],
    ids=["not answered", "answered"],
)
async def test_row_that_was_not_restored_has_no_restored_success(
    database: Database, change: str
) -> None:
    assert await take_restored(database, await landed(database, change)) is None
