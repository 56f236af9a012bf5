"""A payment at the gateway: the request it belongs to, its state, and its attempts to deliver."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.caller import OwnerId

MAX_ATTEMPTS: Final = 5
RETRIES_FOR: Final = timedelta(hours=24)


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
    request_digest: bytes
    state: PaymentState
    tx_hash: str  # empty while it is reserved
    attempts: int
    attempt_until: datetime | None  # None while no attempt is in progress
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
        return self.state is PaymentState.RESERVED and self.attempts == 0

    @property
    def unused_attempts(self) -> int:
        """How many of the five attempts have not started, whatever the state."""
        return MAX_ATTEMPTS - self.attempts

    def attempts_left(self, now: datetime) -> int:
        """Return how many attempts to deliver are left at `now`."""
        if self.state is not PaymentState.PAID or self.paid_at is None or not self.may_repeat:
            return 0
        return self.unused_attempts if now < self.paid_at + RETRIES_FOR else 0
