"""A request to settle one payment, and its idempotency keys.

There are two kinds of key: the seller's `Idempotency-Key` header and the buyer's payment
identifier. Two requests are the same request when transaction bytes and canonical terms are equal
(`Payment.request_digest`), however the JSON around them is spelled.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from farebox.facilitator.settlement import PaymentIdentity, Settlement
from farebox.facilitator.verification.verdict import SignedTransfer
from farebox.kernel.caller import Caller, CallerKind
from farebox.stellar.ledger_clock import SLOWEST_CADENCE_S, LedgerReading
from farebox.x402.reasons import Reason

_KEY: Final = re.compile(rb"[\x21-\x7e]{1,255}\Z")
_KEPT_AFTER_EXPIRY: Final = timedelta(hours=24)


class KeyKind(StrEnum):
    """The kind of an idempotency key, by the party that chooses it."""

    HEADER = "idempotency-key"  # the seller; its final response is replayed
    IDENTIFIER = "payment-identifier"  # the buyer, in the payload; nothing is replayed


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A key, unique within its kind and scope."""

    kind: KeyKind
    scope: str
    key: str


@dataclass(frozen=True, slots=True)
class SettleRequest:
    """A request to settle a payment that passed every check that needs no network call.

    The cost counts on the budget of `caller`, None for an anonymous one; rate limits count the
    request under `client`.
    """

    transfer: SignedTransfer
    identity: PaymentIdentity
    keys: tuple[IdempotencyKey, ...] = ()
    caller: Caller | None = None
    client: str = ""

    @property
    def digest(self) -> bytes:
        """SHA-256 of the transaction bytes and canonical terms."""
        return self.transfer.payment.request_digest()

    @property
    def is_purchase(self) -> bool:
        """Whether this service settles it for its own goods or runs."""
        return self.caller is not None and self.caller.kind is CallerKind.SERVICE

    def digest_at(self, row: Settlement) -> bytes:
        """Return the digest to compare with the row's; that of no request where it is not theirs.

        Once a purchase has landed, everybody can build its transaction's bytes from the ledger: its
        success is the sale's, whoever sends them to `/settle` (docs/decisions/0047).
        """
        return b"" if row.is_purchase and not self.is_purchase else self.digest

    @property
    def header_key(self) -> IdempotencyKey | None:
        """The key whose response is stored."""
        return next((key for key in self.keys if key.kind is KeyKind.HEADER), None)


def read_idempotency_key(values: Sequence[bytes]) -> str | Reason | None:
    """Read the `Idempotency-Key` headers of a request; None when there is none."""
    if not values:
        return None
    if len(values) > 1 or not _KEY.match(values[0]):
        return Reason.INVALID_IDEMPOTENCY_KEY
    return values[0].decode("ascii")


def build_request(
    transfer: SignedTransfer, *, key: str | None, caller: Caller | None, client: str
) -> SettleRequest:
    """Build the request for an examined payment, with its keys in their scopes.

    The scope of `key` is the caller, by any of its credentials; without a caller it is the one
    payment, so that anonymous callers never share a key. The scope of a payment identifier is the
    payer.
    """
    payment = transfer.payment
    identity = PaymentIdentity(payment.terms.network, transfer.payer, transfer.entry.nonce)
    payer = f"{identity.network.value} {identity.payer}"
    keys = []
    if key is not None:
        scope = f"{payer} {identity.nonce}" if caller is None else caller.owner
        keys.append(IdempotencyKey(KeyKind.HEADER, scope, key))
    if payment.identifier is not None:
        keys.append(IdempotencyKey(KeyKind.IDENTIFIER, payer, payment.identifier))
    return SettleRequest(transfer, identity, tuple(keys), caller, client)


def retention_end(expires_at_ledger: int, now: LedgerReading) -> datetime:
    """The time 24 hours after an authorization ends, at five seconds a ledger or more."""
    ahead_s = max(0, expires_at_ledger - now.sequence) * max(now.cadence_s, SLOWEST_CADENCE_S)
    return now.close_at + timedelta(seconds=ahead_s) + _KEPT_AFTER_EXPIRY
