"""What came of listing a settled payment's resource."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LISTED: Final = "listed"  # as `settlements.listing_outcome` has it, beside the reasons


class NotListed(StrEnum):
    """Why a resource with acceptable text is not listed; every code is told to the seller."""

    BOUND_ELSEWHERE = "bound_to_another_recipient"
    TOO_MANY = "too_many_listings"
    NOT_KEPT = "discovery_not_kept"  # the settlement was made by a request without this text
    FAILED = "listing_failed"  # a fault of the program, tried often enough


@dataclass(frozen=True, slots=True)
class Listed:
    """The resource stands in the catalog with the settled terms."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """It is not listed, for good; `reason` is a machine-readable code."""

    reason: str


@dataclass(frozen=True, slots=True)
class Undecided:
    """The key is bound to another recipient: the resource itself has to say whose it is."""


Outcome = Listed | Rejected
ListingOutcome = Outcome | Undecided


def outcome_of(text: str) -> Outcome:
    """Read what a row says of its listing."""
    return Listed() if text == LISTED else Rejected(text)


def outcome_text(outcome: Outcome) -> str:
    """What a row says of its listing."""
    return LISTED if isinstance(outcome, Listed) else outcome.reason
