"""Delivered responses in PostgreSQL."""

from datetime import timedelta

from farebox.gateway.delivery import payment_store, reservation_store, response_store
from farebox.gateway.delivery.kept_response import (
    KeptResponse,
    SealedResponse,
    read_kept_response,
)
from farebox.gateway.payment import PaymentState
from farebox.storage.pool import Database
from support.gateway_payments import HASH, enabled_wrapper, new_payment

DAY = timedelta(days=1)
RESPONSE = KeptResponse(201, ((b"content-type", b"text/plain"), (b"x-a", b"\xff")), b"\0body\xff")


async def test_response_is_found_until_it_expires(database: Database) -> None:
    wrapper = await enabled_wrapper(database)
    kept, expired = new_payment(wrapper), new_payment(wrapper)
    async with database.connection() as db:
        for new, kept_for in ((kept, DAY), (expired, -DAY)):
            held = await reservation_store.reserve(db, new, held_for=DAY)
            assert held is not None
            paid = await payment_store.record_paid(db, held, HASH, attempt_for=DAY)
            assert paid is not None
            sealed = SealedResponse(RESPONSE.to_secret().reveal(), kept_for)
            for is_first in (True, False):  # the second end stores nothing
                is_ended = await payment_store.end_attempt(
                    db, paid, PaymentState.DELIVERED, status=201, may_repeat=False, kept=sealed
                )
                assert is_ended is is_first
        found = await response_store.find_response(db, kept.identity)
        assert found == (201, RESPONSE.to_secret().reveal())
        assert await response_store.find_response(db, expired.identity) is None
        assert await response_store.delete_expired(db, limit=10) == 1
        assert await response_store.delete_expired(db, limit=10) == 0
        assert await response_store.find_response(db, kept.identity) is not None


def test_kept_response_is_read_back_byte_for_byte() -> None:
    assert read_kept_response(201, RESPONSE.to_secret()) == RESPONSE
    assert "body" not in repr(RESPONSE.to_secret())
