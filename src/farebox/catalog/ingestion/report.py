"""What a settlement is told of its listing, in the facilitator's words."""

from typing import Final, Protocol, assert_never

from farebox.catalog.discovery.drop_reason import DropReason
from farebox.catalog.ingestion.listing_outcome import Listed, ListingOutcome, Rejected, Undecided
from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.listing_report import ListingReport, ListingStatus
from farebox.x402.discovery import DiscoveryText

CHECKING: Final = "ownership_check_pending"


class Ingesting(Protocol):
    """Lists a settled payment's resource."""

    async def list(self, identity: PaymentIdentity) -> ListingOutcome: ...


class SettledListings:
    """Lists at once what was just paid for. What comes to no end here is the outbox's."""

    def __init__(self, ingestion: Ingesting) -> None:
        self._ingestion = ingestion

    async def listed(self, identity: PaymentIdentity, discovery: DiscoveryText) -> ListingReport:
        """List the resource of a settled payment, or say why it is not listed.

        Raises:
            DatabaseUnavailable: it is listed later.
        """
        if discovery.is_oversized:
            return ListingReport(ListingStatus.REJECTED, DropReason.DISCOVERY_TOO_LARGE)
        outcome = await self._ingestion.list(identity)
        match outcome:
            case Listed():
                return ListingReport(ListingStatus.SUCCESS)
            case Rejected(reason):
                return ListingReport(ListingStatus.REJECTED, reason)
            case Undecided():
                return ListingReport(ListingStatus.PROCESSING, CHECKING)
            case _:
                assert_never(outcome)
