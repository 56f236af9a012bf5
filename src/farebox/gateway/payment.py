"""A payment at the gateway: the request it belongs to, its state, and its attempts to deliver."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import OwnerId

MAX_ATTEMPTS: Final = 5
RETRIES_FOR: Final = timedelta(hours=24)
UNPROVEN_EVERY: Final = timedelta(hours=1)  # looks at a payment whose outcome is unproven
REPLAYED_FOR: Final = timedelta(seconds=60)  # the response to a payment without a private part


class PaymentState(StrEnum):
    """The state of a payment at the gateway; it goes forward, and ends in one of the last three."""

    RESERVED = "reserved"  # counted by the limits; nothing has landed as far as is known
    PAID = "paid"  # landed; its response is not delivered yet
    DELIVERED = "delivered"
    OWED = "owed"  # landed, and no further attempt may be made
    REFUNDED = "refunded"


@dataclass(frozen=True, slots=True)
class BuyerRequest:
    """The parts of a request that a payment is bound to, as they were received."""

    slug: str
    method: str
    path: str
    query: str | None  # None when the URL has no question mark
    body_digest: bytes  # SHA-256

    def binding(self) -> bytes:
        """Return the SHA-256 digest that equal requests alone have."""
        digest = hashlib.sha256()
        for part in (self.slug, self.method, self.path, self.query):
            text = b"" if part is None else part.encode()
            digest.update(b"-" if part is None else b"%d:" % len(text) + text)
        digest.update(self.body_digest)
        return digest.digest()


@dataclass(frozen=True, slots=True)
class GatewayPayment:
    """A row of the gateway's payments."""

    identity: PaymentIdentity
    wrapper_id: str
    owner: OwnerId
    slug: str
    binding: bytes
    request_digest: bytes  # as in the settlement journal
    presented_digest: bytes | None  # of `PAYMENT-SIGNATURE`; None in rows of older versions
    asset: Address
    amount: BaseUnits
    pay_to: Address
    state: PaymentState
    tx_hash: str  # empty while it is reserved
    attempts: int  # to deliver, that began
    epoch: int  # the fencing token: it grows with every hold and every attempt
    attempt_until: datetime | None  # None while no call holds it and no attempt is in progress
    may_repeat: bool
    reserved_at: datetime
    paid_at: datetime | None

    @property
    def success_id(self) -> UUID:
        """The id under which the bound request takes the payment's success, on every replica."""
        return UUID(bytes=self.binding[:16])

    @property
    def is_first_hold(self) -> bool:
        """Whether the call that made the reservation holds it still."""
        return self.state is PaymentState.RESERVED and self.epoch == 0

    @property
    def unused_attempts(self) -> int:
        """How many of the five attempts have not started, whatever the state."""
        return MAX_ATTEMPTS - self.attempts

    def attempts_left(self, now: datetime) -> int:
        """Return how many attempts to deliver are left at `now`."""
        if self.state is not PaymentState.PAID or self.paid_at is None or not self.may_repeat:
            return 0
        return self.unused_attempts if now < self.paid_at + RETRIES_FOR else 0


@dataclass(frozen=True, slots=True)
class PresentedRequest:
    """A request with the payment that is presented for it, as both were received.

    An authorization is public once it has landed, and its nonce may be signed for several
    transfers: neither tells whose payment it is (docs/decisions/0047).
    """

    identity: PaymentIdentity
    binding: bytes  # of the `BuyerRequest`
    request_digest: bytes  # of the payment
    presented_digest: bytes  # SHA-256 of the value of `PAYMENT-SIGNATURE`
    is_private: bool  # that value holds a payment identifier, which is on no ledger

    def owns(self, payment: GatewayPayment) -> bool:
        """Whether a payment is that of this request: of the bytes that presented it first."""
        is_presented = payment.presented_digest in (None, self.presented_digest)
        known = (payment.binding, payment.request_digest)
        return is_presented and known == (self.binding, self.request_digest)

    def may_get_again(self, payment: GatewayPayment, now: datetime) -> bool:
        """Whether the request gets the stored response to its own payment again at `now`.

        Whatever is not private can be made from the ledger: then the retry of a stock client is
        the limit.
        """
        if self.is_private and payment.presented_digest is not None:
            return True
        return payment.paid_at is not None and now < payment.paid_at + REPLAYED_FOR
