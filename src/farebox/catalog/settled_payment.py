"""A final settlement as the catalog's input."""

from dataclasses import dataclass
from datetime import datetime

from farebox.catalog.listing import ListedTerms, Resource
from farebox.facilitator.settlement import PaymentIdentity


@dataclass(frozen=True, slots=True)
class SettledPayment:
    """A payment on the ledger; of two, the one in the later ledger takes precedence."""

    identity: PaymentIdentity
    terms: ListedTerms
    ledger: int
    at: datetime  # when finality was known; the order inside one ledger


@dataclass(frozen=True, slots=True)
class SettledDiscovery:
    """A settlement with the discovery data of its request, not parsed yet."""

    settled: SettledPayment
    discovery: bytes | None  # None once the listing outcome is final
    outcome: str | None  # the listing outcome; None while it is open


@dataclass(frozen=True, slots=True)
class SettledResource:
    """A settlement with the resource it paid for."""

    settled: SettledPayment
    resource: Resource
