"""The outcome of listing a settled payment's resource."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

OWNERSHIP_CHECK_PENDING: Final = "ownership_check_pending"  # the code in a listing report
LISTED: Final = "listed"  # the value of `settlements.listing_outcome` besides the reasons


class RejectionReason(StrEnum):
    """Reasons against listing a resource with valid discovery data; the seller gets the code."""

    BOUND_ELSEWHERE = "bound_to_another_recipient"
    TOO_MANY = "too_many_listings"
    NOT_KEPT = "discovery_not_kept"  # the request that settled had no discovery data or other data
    GATEWAY_URL = "gateway_url_reserved"  # only sales at this service's gateway name its URLs
    FAILED = "listing_failed"  # a bug: all attempts failed


SENTENCES: Final = MappingProxyType(
    {
        RejectionReason.BOUND_ELSEWHERE: "The resource, or another one of its host, is listed with "
        "another recipient, and its own 402 does not confirm this one.",
        RejectionReason.TOO_MANY: "The recipient has the most listings that one recipient may have "
        "under a host, and the resource's own 402 does not confirm this one.",
        RejectionReason.NOT_KEPT: "The request that settled the payment had other discovery data, "
        "or none.",
        RejectionReason.GATEWAY_URL: "The URL is one of this service's hosts: only sales at its "
        "gateway count for it.",
        RejectionReason.FAILED: "An unexpected fault; the operator must look.",
    }
)


@dataclass(frozen=True, slots=True)
class Listed:
    """The resource is listed with the settled terms."""


@dataclass(frozen=True, slots=True)
class ListingRejected:
    """The resource is not listed, finally; `reason` is a machine-readable code."""

    reason: str


@dataclass(frozen=True, slots=True)
class OwnershipCheckPending:
    """The resource's own 402 decides; `otherwise` is the reason where it does not confirm."""

    otherwise: RejectionReason = RejectionReason.BOUND_ELSEWHERE


FinalOutcome = Listed | ListingRejected
ListingOutcome = FinalOutcome | OwnershipCheckPending


def parse_outcome(text: str) -> FinalOutcome:
    """Parse a stored outcome."""
    return Listed() if text == LISTED else ListingRejected(text)


def render_outcome(outcome: FinalOutcome) -> str:
    """Render an outcome as it is stored."""
    return LISTED if isinstance(outcome, Listed) else outcome.reason
