"""The JSON shapes of listings, as x402 version 2 and its bazaar spell them.

An optional member that is unknown is left out, never null: stock clients refuse a null.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from farebox.catalog.browsing.browse import BrowsePage
from farebox.catalog.listing import (
    ListedTerms,
    Listing,
    ListingType,
    Ownership,
    Probe,
    ProbeState,
    Resource,
)
from farebox.catalog.tokens.token import Token, TokenKind
from farebox.kernel.networks import Network
from farebox.x402.wire import X402_VERSION

# members that hold a stranger's words: an agent reads them as data, never as instructions
_UNTRUSTED: Final = {
    "resource": "resource",
    "description": "description",
    "mimeType": "mime_type",
    "serviceName": "service_name",
    "tags": "tags",
    "iconUrl": "icon_url",
    "toolName": "tool_name",
    "extensions": "extensions",
}
MomentText = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
AmountText = Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9]+$"})]
RawObject = Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]
Count = Annotated[int, Meta(ge=0)]
UnappliedFilters = list[str] | UnsetType


class TermsExtraBody(msgspec.Struct, frozen=True, rename="camel"):
    """The service pays the network fees."""

    are_fees_sponsored: Annotated[bool, Meta(extra_json_schema={"const": True})]


class ListedTermsBody(msgspec.Struct, frozen=True, rename="camel"):
    """The last settled terms of one scheme and asset."""

    scheme: str
    network: Network
    asset: str
    amount: AmountText
    pay_to: str
    max_timeout_seconds: int
    extra: TermsExtraBody


class TokenBody(msgspec.Struct, frozen=True, rename="camel"):
    """The contract behind an asset's address."""

    kind: TokenKind
    code: str | UnsetType = UNSET
    issuer: str | UnsetType = UNSET
    wasm_hash: str | UnsetType = UNSET
    owner: str | UnsetType = UNSET


class QualityBody(msgspec.Struct, frozen=True, rename="camel"):
    """The settled use of a listing."""

    payers: Count
    settlements: Count
    listed_at: MomentText
    last_settled_at: MomentText


class ProbeBody(msgspec.Struct, frozen=True, rename="camel"):
    """The state of the resource as its liveness probes found it."""

    state: ProbeState
    checked_at: MomentText
    since: MomentText | UnsetType = UNSET


class ResourceBody(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A resource and its metadata; `extensions` as they were settled, to the letter."""

    resource: str
    type: ListingType
    x402_version: Literal[2]
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    service_name: str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    icon_url: str | UnsetType = UNSET
    extensions: RawObject
    tool_name: str | UnsetType = UNSET
    method: str | UnsetType = UNSET


class ListingBody(ResourceBody, frozen=True, rename="camel", kw_only=True):
    """A listing; `untrusted` names the members that hold a stranger's words.

    `explain` is only in the results of a search that asks for it.
    """

    accepts: list[ListedTermsBody]
    tokens: dict[str, TokenBody] | UnsetType = UNSET
    last_updated: MomentText
    network: Network
    ownership: Ownership
    quality: QualityBody
    probe: ProbeBody | UnsetType = UNSET
    untrusted: list[str]
    explain: dict[str, Any] | UnsetType = UNSET


class OffsetPaginationBody(msgspec.Struct, frozen=True):
    """The place of a page in its list."""

    limit: Annotated[int, Meta(ge=1, le=100)]
    offset: Count
    total: Count


class BrowseBody(msgspec.Struct, frozen=True, rename="camel"):
    """A page of listings."""

    x402_version: Literal[2]
    items: list[ListingBody]
    pagination: OffsetPaginationBody
    unapplied_filters: UnappliedFilters = UNSET


class MerchantBody(msgspec.Struct, frozen=True, rename="camel"):
    """A page of the listings of one recipient."""

    pay_to: str
    resources: list[ListingBody]
    pagination: OffsetPaginationBody
    unapplied_filters: UnappliedFilters = UNSET


def listing_body(listing: Listing, explanation: dict[str, Any] | UnsetType = UNSET) -> ListingBody:
    """Make the body of a listing; a search may add an explanation."""
    shown = resource_body(listing.resource)
    tokens = {str(each.asset): token_body(each.token) for each in listing.accepts if each.token}
    return ListingBody(
        resource=shown.resource,
        type=shown.type,
        x402_version=shown.x402_version,
        description=shown.description,
        mime_type=shown.mime_type,
        service_name=shown.service_name,
        tags=shown.tags,
        icon_url=shown.icon_url,
        extensions=shown.extensions,
        tool_name=shown.tool_name,
        method=shown.method,
        accepts=[_terms_body(terms, listing.network) for terms in listing.accepts],
        tokens=tokens or UNSET,
        last_updated=moment(listing.updated_at),
        network=listing.network,
        ownership=listing.ownership,
        quality=QualityBody(
            payers=listing.quality.payers,
            settlements=listing.quality.settlements,
            listed_at=moment(listing.quality.listed_at),
            last_settled_at=moment(listing.quality.last_settled_at),
        ),
        probe=UNSET if listing.probe is None else _probe_body(listing.probe),
        untrusted=[
            name for name, member in _UNTRUSTED.items() if getattr(shown, member) is not UNSET
        ],
        explain=explanation,
    )


def resource_body(resource: Resource) -> ResourceBody:
    """Make the members of a listing that describe its resource."""
    metadata = resource.metadata
    return ResourceBody(
        resource=resource.url,
        type=resource.type,
        x402_version=X402_VERSION,
        description=_present(metadata.description),
        mime_type=_present(metadata.mime_type),
        service_name=_present(metadata.service_name),
        tags=metadata.tags or UNSET,
        icon_url=_present(metadata.icon_url),
        extensions=msgspec.Raw(resource.extensions),
        tool_name=_present(resource.tool_name),
        method=_present(resource.method),
    )


def token_body(token: Token) -> TokenBody:
    """Make the body of a token."""
    return TokenBody(
        kind=token.kind,
        code=_present(token.code),
        issuer=_present(token.issuer),
        wasm_hash=token.wasm_hash.hex() if token.wasm_hash else UNSET,
        owner=_present(token.owner),
    )


def _terms_body(terms: ListedTerms, network: Network) -> ListedTermsBody:
    return ListedTermsBody(
        scheme=terms.scheme,
        network=network,
        asset=terms.asset,
        amount=str(terms.amount),
        pay_to=terms.pay_to,
        max_timeout_seconds=terms.max_timeout_s,
        extra=TermsExtraBody(are_fees_sponsored=True),
    )


def _probe_body(probe: Probe) -> ProbeBody:
    since = UNSET if probe.since is None else moment(probe.since)
    return ProbeBody(probe.state, moment(probe.checked_at), since)


def _present(text: str | None) -> str | UnsetType:
    return UNSET if text is None else text


def moment(at: datetime) -> str:
    """Write a moment as JavaScript prints it: ISO 8601, milliseconds, `Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def browse_body(page: BrowsePage, unapplied: Sequence[str]) -> BrowseBody:
    """Make the body of `/discovery/resources`."""
    items = [listing_body(listing) for listing in page.listings]
    return BrowseBody(X402_VERSION, items, _pagination(page), unapplied_filters(unapplied))


def merchant_body(pay_to: str, page: BrowsePage, unapplied: Sequence[str]) -> MerchantBody:
    """Make the body of `/discovery/merchant`."""
    items = [listing_body(listing) for listing in page.listings]
    return MerchantBody(pay_to, items, _pagination(page), unapplied_filters(unapplied))


def unapplied_filters(names: Sequence[str]) -> UnappliedFilters:
    """Name the parameters that had no effect; unset when all had."""
    return [*names] or UNSET


def _pagination(page: BrowsePage) -> OffsetPaginationBody:
    return OffsetPaginationBody(page.limit, page.offset, page.total)
