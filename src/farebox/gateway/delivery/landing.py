"""Record that a reserved payment has landed: together with its one success, or not at all."""

from datetime import datetime, timedelta

from farebox.facilitator.journal import store as journal_store
from farebox.gateway.delivery import payment_store
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.storage.pool import Connection


class SuccessTaken(Exception):
    """Another request has the payment's one success; the transaction must be rolled back."""


class ReservationLost(Exception):
    """The reservation no longer exists: another process has changed it; roll back."""


async def record_landing(
    db: Connection,
    held: GatewayPayment,
    tx_hash: str,
    *,
    at: datetime,
    attempt_for: timedelta | None,
) -> GatewayPayment:
    """Take the payment's success and record it as paid, inside a transaction.

    The success of a transaction of another party is taken as well: the journal has it for the
    request whose row was there before that transaction, and for no other one
    (docs/decisions/0047). Of a settlement that was lost and restored nobody knows whether it was
    answered: the payment is owed, unless this very request had it reserved before it landed.

    Args:
        db: the connection, in a transaction that an exception rolls back.
        held: the reservation that the caller holds.
        tx_hash: the transaction.
        at: the present moment.
        attempt_for: how long the first attempt may take; None without a waiting buyer.

    Raises:
        SuccessTaken: another request has the success, or the transaction is no payment of this one.
        ReservationLost: the payment is not reserved any more.
    """
    attempt = (held.identity, held.request_digest, held.success_id)
    (is_taken,) = await journal_store.take_successes(db, [attempt], at=at)
    is_owed = not is_taken and await _take_restored(db, held, has_buyer=attempt_for is not None)
    payment = await payment_store.record_paid(
        db,
        held,
        tx_hash,
        state=PaymentState.OWED if is_owed else PaymentState.PAID,
        attempt_for=None if is_owed else attempt_for,
    )
    if payment is None:
        raise ReservationLost
    return payment


async def _take_restored(db: Connection, held: GatewayPayment, *, has_buyer: bool) -> bool:
    """Take the success of a restored settlement; whether the payment is owed, not delivered.

    Only a request that was reserved before the landing, and so by another call, may be delivered:
    afterwards everybody can present the payment.

    Raises:
        SuccessTaken: there is no such settlement.
    """
    restored = await journal_store.take_restored_success(
        db,
        held.identity,
        held.success_id,
        asset=held.asset,
        amount=held.amount,
        pay_to=held.pay_to,
    )
    if restored is None:
        raise SuccessTaken
    digest, landed_at = restored
    is_known = digest == held.request_digest and held.reserved_at < landed_at
    return held.is_first_hold or not has_buyer or not is_known
