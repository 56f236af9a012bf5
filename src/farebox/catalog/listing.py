"""A listing: the catalog's record of one paid resource on one network."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from farebox.catalog.tokens.token import Token
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network


class ListingType(StrEnum):
    """The kind of the paid resource."""

    HTTP = "http"
    MCP = "mcp"


class Ownership(StrEnum):
    """Whether the recipient is proven to control the resource."""

    UNVERIFIED = "unverified"  # a payment to this recipient named this resource
    VERIFIED = "verified"  # the resource itself answered a 402 that names the recipient


@dataclass(frozen=True, slots=True)
class ListedTerms:
    """The last settled terms of one scheme and asset; the network is the listing's."""

    scheme: str
    asset: Address
    amount: BaseUnits
    pay_to: Address
    max_timeout_s: int
    token: Token | None = None  # None until the asset was looked up


@dataclass(frozen=True, slots=True)
class Metadata:
    """The seller's description of the resource: bounded, no control characters, not trusted."""

    description: str | None = None
    mime_type: str | None = None
    service_name: str | None = None
    tags: tuple[str, ...] = ()
    icon_url: str | None = None


def host_of(canonical_url: str) -> str:
    """Return the host of a canonical URL without its port: `LISTED_HOST` in SQL."""
    return canonical_url.split("/", 3)[2].partition(":")[0]


@dataclass(frozen=True, slots=True)
class Resource:
    """The resource that accepted discovery data describes."""

    type: ListingType
    key: str  # unique together with the network
    url: str  # canonical; the path is the route template where there is one
    metadata: Metadata
    extensions: bytes  # one JSON object, `{"bazaar": {"info": …, "schema": …}}`, byte for byte
    extension_keys: tuple[str, ...]
    parameters: str  # names and descriptions of parameters as plain words, for search
    tool_name: str | None = None  # MCP only
    method: str | None = None  # HTTP only
    paid_url: str = ""  # the URL that was paid for, without a template; not shown

    @property
    def host(self) -> str:
        """The host of the URL without its port; `tool` for a tool without a URL."""
        return host_of(self.url)


@dataclass(frozen=True, slots=True)
class Quality:
    """Sybil-resistant counts of a listing's payments under its present binding."""

    payers: int  # independent payers; see `quality/payer_clusters.py`
    settlements: int
    listed_at: datetime
    last_settled_at: datetime


class ProbeState(StrEnum):
    """How a resource answers unpaid requests."""

    UNKNOWN = "unknown"  # not enough results yet
    CONFIRMED = "confirmed"  # its 402 names the listing's recipient
    OTHER_RECIPIENT = "other_recipient"  # its 402 names other recipients only
    NO_PAYMENT_ASKED = "no_payment_asked"  # its response is no 402
    UNREADABLE = "unreadable"  # its 402 cannot be parsed
    UNREACHABLE = "unreachable"  # it cannot be reached or gives no complete response
    NOT_CALLED = "not_called"  # the outbound policy refuses its address


@dataclass(frozen=True, slots=True)
class Probe:
    """The outcome of a listing's probes."""

    state: ProbeState
    checked_at: datetime
    since: datetime | None  # since when `state` holds; None while it is unknown


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing as browse and search return it."""

    id: int
    network: Network
    resource: Resource
    pay_to: Address
    accepts: tuple[ListedTerms, ...]
    updated_at: datetime
    quality: Quality
    ownership: Ownership = Ownership.UNVERIFIED
    probe: Probe | None = None  # None before the first result under the present recipient


@dataclass(frozen=True, slots=True)
class ListingFilters:
    """Equality filters of browse and search; None does not filter.

    The values are those of the request: one that no listing has matches nothing.
    """

    type: str | None = None  # as in `ListingType`
    network: str | None = None  # CAIP-2
    pay_to: str | None = None
    scheme: str | None = None
    extension: str | None = None  # a key of the listing's extensions
