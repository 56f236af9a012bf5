"""The service on which the actions of skills are performed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from farebox.kernel.networks import Network
from farebox.local.devnet import Scene
from support.paid_gateway import PaidGateway
from support.payments import Draft
from support.skill_calls import Json, SkillCaller
from support.skill_market import PlanMarket


@dataclass(frozen=True, slots=True)
class SkillStage:
    """A service with a seller, a network, and a caller that has read the specs."""

    shop: PaidGateway
    network: Network
    caller: SkillCaller
    markets: Mapping[Network, PlanMarket]
    kept: dict[str, Any] = field(default_factory=dict)  # what requests that are refused share

    @property
    def scene(self) -> Scene:
        """The accounts and tokens of the network."""
        return self.shop.stage.networks[self.network].scene

    @property
    def market(self) -> PlanMarket:
        """What plans call on the network."""
        return self.markets[self.network]

    async def perform(self, slug: str, name: str, value: Json, **headers: str) -> Any:
        """Perform an action without a credential; `headers` are added."""
        return await self.caller.perform(slug, name, value, headers)

    async def manage(self, name: str, value: Json) -> Any:
        """Perform an action of x402-sell as the seller."""
        return await self.caller.perform("x402-sell", name, value, self.shop.seller.headers)

    async def serve(self, **members: Any) -> Json:
        """Create and enable a wrapper on the network."""
        return await self.shop.serve(network=self.network, **members)

    async def draft(self, **changes: Any) -> Draft:
        """Draft a valid payment on the network."""
        return await self.shop.stage.draft(self.network, **changes)

    async def settled(self) -> str:
        """Settle a payment; return its transaction."""
        return await self.shop.stage.assert_settles((await self.draft()).request())

    @property
    def payer(self) -> Any:
        """A funded account."""
        return self.scene.payers[0]
