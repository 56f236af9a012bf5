"""The listing of a settled payment as browsing shows it, through the whole service."""

from typing import Any

from farebox.kernel.networks import Network
from support.journal_rows import http_bazaar, tool_bazaar
from support.listing_requests import new_url, settle_with_listing_status, with_resource
from support.promises import case, promise
from support.stage import Stage, key_of
from testing.waiting import until


async def shown(stage: Stage, pay_to: str, url: str) -> dict[str, Any]:
    """The one listing of a recipient at a URL."""
    answer = await stage.client.get(f"/discovery/merchant?payTo={pay_to}&limit=100")
    (item,) = (item for item in answer.json()["resources"] if item["resource"] == url)
    return dict(item)


async def until_counted(stage: Stage, pay_to: str, url: str, **quality: int) -> dict[str, Any]:
    """The listing once its quality is as expected."""

    async def counted() -> dict[str, Any] | None:
        found = await shown(stage, pay_to, url)
        return found if found["quality"].items() >= quality.items() else None

    item: dict[str, Any] = await until(counted)
    return item


@case("CT-042")
@promise("browse:filter-pay-to", "entry:shows-what-a-buyer-needs")
async def test_listing_counts_each_payer_once_after_payments(stage: Stage) -> None:
    url = new_url()
    bazaar = http_bazaar()
    other = await stage.another_payer()
    first, again, last = [await stage.draft(amount=7_001) for _ in range(3)]
    for draft in (first, again, last.but(payer=other.address, signers=(key_of(other),))):
        outcome, _ = await settle_with_listing_status(
            stage, with_resource(draft.request(), url, bazaar)
        )
        assert outcome["success"] is True, outcome
    item = await until_counted(stage, first.pay_to, url, payers=2, settlements=3)
    assert item["accepts"] == [
        {
            "scheme": "exact",
            "network": "stellar:testnet",
            "asset": first.asset,
            "amount": "7001",
            "payTo": first.pay_to,
            "maxTimeoutSeconds": 900,
            "extra": {"areFeesSponsored": True},
        }
    ]
    assert item["extensions"] == {"bazaar": bazaar}
    assert item["quality"]["lastSettledAt"] == item["lastUpdated"] > item["quality"]["listedAt"]


async def test_tool_on_two_networks_has_two_listings(stage: Stage) -> None:
    url = new_url()
    for network in Network:
        draft = await stage.draft(network)
        outcome, _ = await settle_with_listing_status(
            stage, with_resource(draft.request(), url, tool_bazaar("look"))
        )
        assert outcome["success"] is True, outcome
        item = await until_counted(stage, draft.pay_to, url, payers=1, settlements=1)
        assert (item["network"], item["type"], item["toolName"]) == (network.value, "mcp", "look")
        assert item["ownership"] == "unverified"
