"""What callers call their requests: the seller's key and the buyer's payment identifier.

"The same body" under one name is the same transaction bytes and the same canonical terms
(`Payment.request_digest`), however the JSON around them is spelled.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from farebox.facilitator.identity import PaymentIdentity
from farebox.kernel.caller import OwnerId
from farebox.stellar.ledger_clock import SLOWEST_CADENCE_S, LedgerReading
from farebox.x402.reasons import Reason

_KEY: Final = re.compile(rb"[\x21-\x7e]{1,255}\Z")
_KEPT_AFTER_EXPIRY: Final = timedelta(hours=24)


class NameKind(StrEnum):
    """Who gave the name."""

    KEY = "idempotency-key"  # the seller, in a header of its request
    IDENTIFIER = "payment-identifier"  # the buyer, in the payload


@dataclass(frozen=True, slots=True)
class RequestName:
    """A name, and within what it is unique."""

    kind: NameKind
    scope: str
    name: str


@dataclass(frozen=True, slots=True)
class NamedRequest:
    """One request of one payment with all it is called, and how long that is remembered."""

    names: tuple[RequestName, ...]
    identity: PaymentIdentity
    digest: bytes
    keep_until: datetime

    @property
    def key(self) -> RequestName | None:
        """The name whose answer is kept."""
        return next((name for name in self.names if name.kind is NameKind.KEY), None)


def read_idempotency_key(values: Sequence[bytes]) -> str | Reason | None:
    """The key in a request's `Idempotency-Key` headers; None when there is none."""
    if not values:
        return None
    if len(values) > 1 or not _KEY.match(values[0]):
        return Reason.INVALID_IDEMPOTENCY_KEY
    return values[0].decode("ascii")


def names_of(
    identity: PaymentIdentity,
    *,
    key: str | None,
    identifier: str | None,
    caller: OwnerId | None = None,
) -> tuple[RequestName, ...]:
    """What a request is called.

    A known caller has its keys to itself, whatever credential it shows. One without credentials
    has them within the one payment it settles, so that no stranger can meet them; a payer has its
    identifiers to itself.
    """
    payer = f"{identity.network.value} {identity.payer}"
    names = []
    if key is not None:
        scope = f"{payer} {identity.nonce}" if caller is None else caller
        names.append(RequestName(NameKind.KEY, scope, key))
    if identifier is not None:
        names.append(RequestName(NameKind.IDENTIFIER, payer, identifier))
    return tuple(names)


def kept_until(expires_at_ledger: int, now: LedgerReading) -> datetime:
    """A day past the end of an authorization, at five seconds a ledger or more."""
    ahead_s = max(0, expires_at_ledger - now.sequence) * max(now.cadence_s, SLOWEST_CADENCE_S)
    return now.close_at + timedelta(seconds=ahead_s) + _KEPT_AFTER_EXPIRY
