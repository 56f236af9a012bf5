"""Listings as x402 version 2 and its bazaar spell them.

An optional member that is unknown is left out, never null: stock clients refuse a null.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from farebox.catalog.listing import ListedTerms, Listing, Metadata, Probe, Resource
from farebox.catalog.shown.browse import BrowsePage
from farebox.catalog.tokens.token import token_body
from farebox.x402.wire import X402_VERSION

Body = dict[str, object]
# members that hold a stranger's words: an agent reads them as data, never as instructions
UNTRUSTED: Final = (
    "resource",
    "description",
    "mimeType",
    "serviceName",
    "tags",
    "iconUrl",
    "toolName",
    "extensions",
)


def listing_body(listing: Listing) -> Body:
    """One listing: amounts, networks and extensions to the letter as they were settled."""
    body: Body = {
        **resource_body(listing.resource),
        "accepts": [_terms_body(terms, listing) for terms in listing.accepts],
        **_tokens_body(listing.accepts),
        "lastUpdated": moment(listing.updated_at),
        "network": listing.network.value,
        "ownership": listing.ownership.value,
        "quality": {
            "payers": listing.quality.payers,
            "settlements": listing.quality.settlements,
            "listedAt": moment(listing.quality.listed_at),
            "lastSettledAt": moment(listing.quality.last_settled_at),
        },
        **_probe_body(listing.probe),
    }
    return body | {"untrusted": [name for name in UNTRUSTED if name in body]}


def resource_body(resource: Resource) -> Body:
    """What a listing says of its resource, its payments apart."""
    return {
        "resource": resource.url,
        "type": resource.type.value,
        "x402Version": X402_VERSION,
        **_metadata_body(resource.metadata),
        "extensions": msgspec.Raw(resource.extensions),
        **_present(toolName=resource.tool_name, method=resource.method),
    }


def _terms_body(terms: ListedTerms, listing: Listing) -> Body:
    return {
        "scheme": terms.scheme,
        "network": listing.network.value,
        "asset": terms.asset,
        "amount": str(terms.amount),
        "payTo": terms.pay_to,
        "maxTimeoutSeconds": terms.max_timeout_s,
        "extra": {"areFeesSponsored": True},
    }


def _probe_body(probe: Probe | None) -> Body:
    if probe is None:
        return {}
    since = None if probe.since is None else moment(probe.since)
    said = {"state": probe.state.value, "checkedAt": moment(probe.checked_at)}
    return {"probe": said | _present(since=since)}


def _tokens_body(accepts: Sequence[ListedTerms]) -> Body:
    """What the assets are, by address; an asset that was not looked up yet is left out."""
    tokens = {each.asset: token_body(each.token) for each in accepts if each.token is not None}
    return {"tokens": tokens} if tokens else {}


def _metadata_body(metadata: Metadata) -> Body:
    return _present(
        description=metadata.description,
        mimeType=metadata.mime_type,
        serviceName=metadata.service_name,
        tags=list(metadata.tags) or None,
        iconUrl=metadata.icon_url,
    )


def _present(**members: object) -> Body:
    return {name: value for name, value in members.items() if value is not None}


def moment(at: datetime) -> str:
    """A moment as JavaScript prints it: ISO 8601, milliseconds, `Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def browse_body(page: BrowsePage, unapplied: Sequence[str]) -> Body:
    """The answer of `/discovery/resources`."""
    body: Body = {
        "x402Version": X402_VERSION,
        "items": [listing_body(listing) for listing in page.listings],
        "pagination": _pagination(page),
    }
    return body | unapplied_member(unapplied)


def merchant_body(pay_to: str, page: BrowsePage, unapplied: Sequence[str]) -> Body:
    """The answer of `/discovery/merchant`."""
    body: Body = {
        "payTo": pay_to,
        "resources": [listing_body(listing) for listing in page.listings],
        "pagination": _pagination(page),
    }
    return body | unapplied_member(unapplied)


def unapplied_member(names: Sequence[str]) -> Body:
    """Which parameters had no effect; nothing when all had."""
    return {"unappliedFilters": list(names)} if names else {}


def _pagination(page: BrowsePage) -> Body:
    return {"limit": page.limit, "offset": page.offset, "total": page.total}
