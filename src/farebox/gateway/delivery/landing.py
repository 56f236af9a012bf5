"""Record that a reserved payment has landed: together with its one success, or not at all."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from farebox.facilitator.journal import store as journal_store
from farebox.gateway.delivery import payment_store
from farebox.gateway.payment import GatewayPayment
from farebox.storage.pool import Connection


class SuccessTaken(Exception):
    """Another request has the payment's one success; the transaction must be rolled back."""


class ReservationLost(Exception):
    """The reservation no longer exists: another process has changed it; roll back."""


@dataclass(frozen=True, slots=True)
class Landing:
    """A landed payment; `is_foreign`: a stranger's transaction used its authorization."""

    tx_hash: str
    is_foreign: bool = False


async def record_landing(
    db: Connection,
    held: GatewayPayment,
    landing: Landing,
    *,
    at: datetime,
    attempt_for: timedelta | None,
    may_repeat: bool = True,
) -> GatewayPayment:
    """Take the payment's success and record it as paid, inside a transaction.

    A foreign transaction has no success to take: the reservation alone makes the payment this
    request's.

    Args:
        db: the connection, in a transaction that an exception rolls back.
        held: the reservation that the caller holds.
        landing: the transaction.
        at: the present moment.
        attempt_for: how long the first attempt may take; None without a waiting buyer.
        may_repeat: whether the upstream may get the request again after this attempt.

    Raises:
        SuccessTaken: another request has the success.
        ReservationLost: the payment is not reserved any more.
    """
    if not landing.is_foreign:
        attempt = (held.identity, held.request_digest, held.success_id)
        (is_taken,) = await journal_store.take_successes(db, [attempt], at=at)
        if not is_taken:
            raise SuccessTaken
    payment = await payment_store.record_paid(
        db, held.identity, landing.tx_hash, attempt_for=attempt_for, may_repeat=may_repeat
    )
    if payment is None:
        raise ReservationLost
    return payment
