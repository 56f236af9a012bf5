"""The demo's second half: an existing API is put behind x402, bought from, and breaks."""

import json
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from farebox.buyer.authorization import authorize
from farebox.buyer.choose import BuyerPreferences, choose
from farebox.buyer.offer import Offer, Option, read_offer
from farebox.buyer.outcome import read_receipt
from farebox.buyer.pay import payment_payload
from farebox.buyer.seller_client import HttpSellerClient, SellerRequest, SellerResponse
from farebox.buyer.wallet import Wallet
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.secret import Secret
from farebox.local.demo_log import DemoLog
from farebox.local.demo_network import DemoNetwork
from farebox.local.faults import LocalFault
from farebox.local.owner_client import sign_in
from farebox.local.wrapped_api import NAME, WrappedApi
from farebox.stellar.known_tokens import USDC
from farebox.x402.headers import encode_header

SLUG: Final = "lisbon-forecast"
PRICE: Final = BaseUnits(200_000)  # 0.02 USDC


@dataclass(frozen=True, slots=True)
class GatewayScene:
    """The parts of the demo that buy through the gateway."""

    service_url: str
    network: DemoNetwork
    wallet: Wallet
    client: HttpSellerClient
    api: WrappedApi

    @property
    def url(self) -> str:
        """The URL of the wrapper."""
        return f"{self.service_url}/gateway/{SLUG}"


async def sell_through_gateway(scene: GatewayScene, demo_log: DemoLog) -> None:
    """Wrap the API, buy from it, and get a failed call delivered later without another charge.

    Raises:
        LocalFault: a step does not do what it should.
    """
    await wrap(scene, demo_log)
    bought = await send_paid(scene, await sign_payment(scene))
    _expect(bought, 200)
    demo_log.step(f"a buyer pays 0.02 USDC at {scene.url} and gets the API's response")
    demo_log.detail(bought.body.decode())
    payment = await sign_payment(scene)
    scene.api.is_broken = True
    failed = await send_paid(scene, payment)
    _expect(failed, 502)
    details = _decode(failed.body)["error"]["details"]
    demo_log.step(f"the API breaks: the buyer gets the receipt, and {details['attemptsLeft']} more")
    demo_log.detail(details["payment"])
    scene.api.is_broken = False
    delivered = await send_paid(scene, payment)
    _expect(delivered, 200)
    receipts = [read_receipt(each.payment_response) for each in (failed, delivered)]
    if None in receipts or receipts[0] != receipts[1]:
        raise LocalFault("The repeated request was not delivered for the same payment.")
    demo_log.step("the same request with the same payment is delivered, and not charged again")


async def wrap(scene: GatewayScene, demo_log: DemoLog) -> None:
    """Sign in as the seller, store the API's token, and create and enable a wrapper."""
    network = scene.network.network
    owner = await sign_in(scene.service_url, network, scene.network.seller)
    secret = await owner.post(
        "/v1/vault/secrets",
        {"name": "forecast api", "value": scene.api.token.reveal(), "purpose": "bearer"},
    )
    wrapper = await owner.post(
        "/v1/wrappers",
        {
            "name": "Lisbon forecast",
            "description": "Tomorrow's weather in Lisbon, from an API that knows no payments",
            "slug": SLUG,
            "upstreamUrl": f"https://{NAME}/forecast",
            "authType": "bearer",
            "secretId": secret["id"],
            "network": network.value,
            "asset": USDC[network].contract,
            "amount": str(PRICE),
            "payTo": scene.network.seller.address,
        },
    )
    await owner.post(f"/v1/wrappers/{wrapper['id']}/enable")
    demo_log.step(f"an API behind TLS, with a bearer token in the vault, is sold at {scene.url}")


async def sign_payment(scene: GatewayScene) -> Secret[str]:
    """Sign a payment for the wrapper's offer."""
    unpaid = await scene.client.send(SellerRequest(scene.url))
    offer = read_offer(unpaid.payment_required)
    preferences = BuyerPreferences((scene.network.network,), max_amount=PRICE)
    option = choose(offer, preferences) if isinstance(offer, Offer) else None
    if not isinstance(offer, Offer) or not isinstance(option, Option):
        raise LocalFault(f"The gateway's offer cannot be read: {unpaid.status}.")
    authorization = await authorize(option.terms, scene.wallet, scene.network.rpc)
    return Secret(encode_header(payment_payload(offer, option, authorization)))


async def send_paid(scene: GatewayScene, payment: Secret[str]) -> SellerResponse:
    """Send the paid request; the same payment may be sent again."""
    return await scene.client.send(SellerRequest(scene.url), payment)


def _expect(response: SellerResponse, status: int) -> None:
    receipt = read_receipt(response.payment_response)
    if response.status != status or receipt is None or not receipt.is_success:
        text = json.dumps(response.body.decode(errors="replace")[:300])
        raise LocalFault(f"The gateway answered {response.status} in place of {status}: {text}")


def _decode(body: bytes) -> dict[str, Any]:
    return msgspec.json.decode(body, type=dict[str, Any])
