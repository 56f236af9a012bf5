"""What was sold before anybody opens the console: one delivered call, and one that is owed."""

from dataclasses import dataclass
from typing import Final

from farebox.buyer.outcome import read_receipt
from farebox.buyer.seller_client import HttpSellerClient, SellerResponse
from farebox.buyer.wallet import wallet_of
from farebox.gateway.payment import MAX_ATTEMPTS
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.demo_gateway import GatewayScene, send_paid, sign_payment, wrap
from farebox.local.demo_log import DemoLog
from farebox.local.demo_network import DemoNetwork
from farebox.stellar.rpc_http import HttpSorobanRpc
from testing.console_stage import ConsoleStage
from testing.machine import RunFailed, say

_NETWORK: Final = Network.TESTNET


@dataclass(frozen=True, slots=True)
class Sales:
    """The transactions of the two payments."""

    delivered: str
    owed: str


async def sell_and_owe(stage: ConsoleStage) -> Sales:
    """Wrap the API as the seller, and buy from it twice; the second call is never delivered.

    Raises:
        RunFailed: a payment has no receipt.
    """
    market = stage.market(_NETWORK)
    devnet, scene = market.served.devnet, market.scene
    async with (
        HttpSorobanRpc(_NETWORK, Secret(devnet.rpc_url), authority=devnet.authority) as rpc,
        HttpSellerClient() as client,
    ):
        seller = wallet_of(scene.payees[0].secret)
        network = DemoNetwork(_NETWORK, devnet, rpc, wallet_of(market.served.relayer), seller)
        buyer = wallet_of(scene.payers[0].secret)
        gateway = GatewayScene(stage.url, network, buyer, client, stage.api)
        await wrap(gateway, DemoLog(say, started_at=0.0))
        delivered = await send_paid(gateway, await sign_payment(gateway))
        payment = await sign_payment(gateway)
        stage.api.is_broken = True
        failed = [await send_paid(gateway, payment) for _ in range(MAX_ATTEMPTS)]
        stage.api.is_broken = False
    return Sales(_transaction(delivered), _transaction(failed[0]))


def _transaction(response: SellerResponse) -> str:
    receipt = read_receipt(response.payment_response)
    if receipt is None or not receipt.is_success:
        raise RunFailed(f"a payment before the journey failed: {response.status}")
    return receipt.transaction
