"""From a settled payment to what browsing shows of it, through the whole service."""

import asyncio
from typing import Any, Final

from farebox.kernel.networks import Network
from support.listed import about, fresh_url, settle_and_hear
from support.promises import case, promise
from support.settled import http_bazaar, tool_bazaar
from support.stage import Stage, key_of

_LOOKS: Final = 200
_LOOK_PAUSE_S: Final = 0.1


async def shown(stage: Stage, pay_to: str, url: str) -> dict[str, Any]:
    """The one listing of a recipient at a URL."""
    answer = await stage.client.get(f"/discovery/merchant?payTo={pay_to}&limit=100")
    (item,) = (item for item in answer.json()["resources"] if item["resource"] == url)
    return dict(item)


async def until_counted(stage: Stage, pay_to: str, url: str, **quality: int) -> dict[str, Any]:
    """The listing once its quality is as expected."""
    item = await shown(stage, pay_to, url)
    for _ in range(_LOOKS):
        if item["quality"].items() >= quality.items():
            return item
        await asyncio.sleep(_LOOK_PAUSE_S)
        item = await shown(stage, pay_to, url)
    raise TimeoutError(f"the quality stays {item['quality']}")


@case("CT-042")
@promise("browse:filter-pay-to", "entry:shows-what-a-buyer-needs")
async def test_payers_are_counted_once_each_soon_after_they_have_paid(stage: Stage) -> None:
    url = fresh_url()
    bazaar = http_bazaar()
    other = await stage.another_payer()
    first, again, last = [await stage.draft(amount=7_001) for _ in range(3)]
    for draft in (first, again, last.but(payer=other.address, signers=(key_of(other),))):
        outcome, _ = await settle_and_hear(stage, about(draft.request(), url, bazaar))
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


async def test_the_same_tool_on_two_networks_is_two_listings(stage: Stage) -> None:
    url = fresh_url()
    for network in Network:
        draft = await stage.draft(network)
        outcome, _ = await settle_and_hear(stage, about(draft.request(), url, tool_bazaar("look")))
        assert outcome["success"] is True, outcome
        item = await until_counted(stage, draft.pay_to, url, payers=1, settlements=1)
        assert (item["network"], item["type"], item["toolName"]) == (network.value, "mcp", "look")
        assert item["ownership"] == "unverified"
