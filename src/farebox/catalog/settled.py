"""What a final settlement hands to the catalog."""

from dataclasses import dataclass
from datetime import datetime

from farebox.catalog.listing import ListedTerms, Resource
from farebox.facilitator.identity import PaymentIdentity


@dataclass(frozen=True, slots=True)
class Settled:
    """A payment on the ledger; of two, the one in the later ledger stands."""

    identity: PaymentIdentity
    terms: ListedTerms
    ledger: int
    at: datetime  # when it was known to be final; the order inside one ledger


@dataclass(frozen=True, slots=True)
class SettledText:
    """A settlement with the bytes that its request said of the resource, unread."""

    settled: Settled
    discovery: bytes
    outcome: str | None  # what came of it; None while that is open


@dataclass(frozen=True, slots=True)
class SettledResource:
    """A settlement with the resource it paid for."""

    settled: Settled
    resource: Resource
