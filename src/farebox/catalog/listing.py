"""A listing: what the catalog knows of one paid resource on one network."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from farebox.catalog.tokens.token import Token
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network


class ListingType(StrEnum):
    """What kind of resource is paid for."""

    HTTP = "http"
    MCP = "mcp"


class Ownership(StrEnum):
    """What is known of who controls the resource."""

    UNVERIFIED = "unverified"  # somebody paid this recipient and named this resource
    VERIFIED = "verified"  # the resource itself answered a 402 that names the recipient


@dataclass(frozen=True, slots=True)
class ListedTerms:
    """The last settled terms of one scheme and asset; the network is the listing's."""

    scheme: str
    asset: Address
    amount: BaseUnits
    pay_to: Address
    max_timeout_s: int
    token: Token | None = None  # what the asset is, once it was looked up


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the seller says of the resource: bounded, without control characters, not trusted."""

    description: str | None = None
    mime_type: str | None = None
    service_name: str | None = None
    tags: tuple[str, ...] = ()
    icon_url: str | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """The resource an accepted piece of discovery data is about."""

    type: ListingType
    key: str  # unique with the network; see `resource_key`
    url: str  # canonical, as shown; a route template in place of the path where there is one
    metadata: Metadata
    extensions: bytes  # one JSON object, `{"bazaar": {"info": …, "schema": …}}`, as it came
    extension_keys: tuple[str, ...]
    parameters: str  # names and descriptions of parameters as plain words, for the search
    tool_name: str | None = None  # MCP only
    method: str | None = None  # HTTP only
    asked_url: str = ""  # the concrete place that was paid for; not shown


@dataclass(frozen=True, slots=True)
class Quality:
    """What is hard to fake about a listing's use; counted under its present binding alone."""

    payers: int  # distinct payers: clusters count once, the recipient's own not at all
    settlements: int
    listed_at: datetime
    last_settled_at: datetime


class ProbeState(StrEnum):
    """What a resource did when nobody paid, the last times it was asked."""

    UNKNOWN = "unknown"  # not yet asked often enough
    CONFIRMED = "confirmed"  # it asks for payment to the listing's recipient
    OTHER_RECIPIENT = "other_recipient"  # it asks for payment to somebody else
    NO_PAYMENT_ASKED = "no_payment_asked"  # it answers, and asks for none
    UNREADABLE = "unreadable"  # its terms cannot be read
    UNREACHABLE = "unreachable"  # it does not answer
    NOT_CALLED = "not_called"  # it is at an address that is not called


@dataclass(frozen=True, slots=True)
class Probe:
    """What is shown of a listing's probes."""

    state: ProbeState
    checked_at: datetime
    since: datetime | None  # when the state was reached; None while it is unknown


@dataclass(frozen=True, slots=True)
class Listing:
    """One listing as it is shown."""

    id: int
    network: Network
    resource: Resource
    pay_to: Address
    accepts: tuple[ListedTerms, ...]
    updated_at: datetime
    quality: Quality
    ownership: Ownership = Ownership.UNVERIFIED
    probe: Probe | None = None  # None until it was asked under its present recipient
