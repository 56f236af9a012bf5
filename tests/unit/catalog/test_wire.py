"""The response bodies of listings, asserted whole."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from farebox.catalog.browsing.browse import BrowsePage
from farebox.catalog.listing import ListedTerms, Listing, ListingType, Metadata, Quality, Resource
from farebox.catalog.wire import browse_body, listing_body, merchant_body
from farebox.kernel.amounts import MAX_BASE_UNITS, BaseUnits
from farebox.kernel.networks import Network
from support.listing_rows import ASSET, SELLER
from support.promises import promise

AT = datetime(2026, 11, 1, 12, 30, 5, 678_901, tzinfo=UTC)
EXTENSIONS = b'{"bazaar":{"info":{"n":100000000000000000000000001,"x":1.10}},"z":"\xc3\xa9"}'
TOOL = Listing(
    id=1,
    network=Network.PUBNET,
    resource=Resource(
        type=ListingType.MCP,
        key="mcp://tool/forecast#forecast",
        url="mcp://tool/forecast",
        metadata=Metadata("</script>", "application/json", "Weather", ("sun", "rain"), "https://i"),
        extensions=EXTENSIONS,
        extension_keys=("bazaar",),
        parameters="",
        tool_name="forecast",
    ),
    pay_to=SELLER,
    accepts=(ListedTerms("exact", ASSET, BaseUnits(MAX_BASE_UNITS), SELLER, 60),),
    updated_at=AT,
    quality=Quality(payers=2, settlements=9, listed_at=AT, last_settled_at=AT),
)


@promise("entry:last-update", "entry:shows-what-a-buyer-needs", "version:canonical-resource-shape")
def test_listing_body_has_every_member_a_buyer_needs() -> None:
    raw = msgspec.json.encode(listing_body(TOOL))
    assert b'"extensions":' + EXTENSIONS in raw
    body = json.loads(raw)
    del body["extensions"]
    assert body == {
        "resource": "mcp://tool/forecast",
        "type": "mcp",
        "x402Version": 2,
        "accepts": [
            {
                "scheme": "exact",
                "network": "stellar:pubnet",
                "asset": ASSET,
                "amount": "170141183460469231731687303715884105727",
                "payTo": SELLER,
                "maxTimeoutSeconds": 60,
                "extra": {"areFeesSponsored": True},
            }
        ],
        "lastUpdated": "2026-11-01T12:30:05.678Z",
        "description": "</script>",
        "mimeType": "application/json",
        "serviceName": "Weather",
        "tags": ["sun", "rain"],
        "iconUrl": "https://i",
        "toolName": "forecast",
        "network": "stellar:pubnet",
        "ownership": "unverified",
        "quality": {
            "payers": 2,
            "settlements": 9,
            "listedAt": "2026-11-01T12:30:05.678Z",
            "lastSettledAt": "2026-11-01T12:30:05.678Z",
        },
        "untrusted": [
            *("resource", "description", "mimeType", "serviceName", "tags", "iconUrl", "toolName"),
            "extensions",
        ],
    }


def test_listing_body_omits_unknown_members() -> None:
    bare = replace(TOOL.resource, metadata=Metadata(), tool_name=None, method="GET")
    body = json.loads(msgspec.json.encode(listing_body(replace(TOOL, resource=bare))))
    assert None not in body.values()
    unknown = {"description", "mimeType", "serviceName", "tags", "iconUrl", "toolName"}
    assert not unknown & body.keys()
    assert body["method"] == "GET"
    assert body["untrusted"] == ["resource", "extensions"]


def test_page_body_states_its_limit_and_unapplied_filters() -> None:
    page = BrowsePage((TOOL,), limit=100, offset=7, total=8)
    assert json.loads(msgspec.json.encode(browse_body(page, ()))) == {
        "x402Version": 2,
        "items": [json.loads(msgspec.json.encode(listing_body(TOOL)))],
        "pagination": {"limit": 100, "offset": 7, "total": 8},
    }
    merchant = msgspec.json.encode(merchant_body(SELLER, page, ("color",)))
    assert json.loads(merchant) == {
        "payTo": SELLER,
        "resources": [json.loads(msgspec.json.encode(listing_body(TOOL)))],
        "pagination": {"limit": 100, "offset": 7, "total": 8},
        "unappliedFilters": ["color"],
    }
