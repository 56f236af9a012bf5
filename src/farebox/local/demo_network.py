"""A network of the demo: a devnet with a relayer, a buyer who holds USDC, a seller and sign-in."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stellar_sdk import Keypair

from farebox.app.auth_tools import contract_of_payer, deploy_at_start
from farebox.app.configuration import read_settings
from farebox.buyer.holdings import UsdcFunding, WalletFunder, read_holdings
from farebox.buyer.seller_client import SellerClient
from farebox.buyer.wallet import Wallet, wallet_of
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, DevnetOptions, start_devnet
from farebox.local.service_process import ServedNetwork
from farebox.stellar.rpc_http import HttpSorobanRpc

CLOSE_MS: Final = 1000  # five times the pace of the public networks
PAYERS: Final = 8  # accounts that deploy and pay for automation
_BUYER_UNITS: Final = BaseUnits(100 * 10**7)


@dataclass(frozen=True, slots=True)
class DemoNetwork:
    """A running network with funded accounts."""

    network: Network
    devnet: Devnet
    rpc: HttpSorobanRpc
    relayer: Wallet
    seller: Wallet
    payers: tuple[Wallet, ...] = ()

    async def usdc_of(self, address: Address) -> BaseUnits:
        """Read an account's USDC balance."""
        holdings = await read_holdings(self.rpc, self.network, address)
        return holdings.usdc or BaseUnits(0)


@asynccontextmanager
async def start_demo_network(
    network: Network, buyer: Wallet, client: SellerClient, *, binary: Path, log: Path
) -> AsyncIterator[DemoNetwork]:
    """Run a devnet with this network's passphrase on which `buyer` holds 100 USDC.

    Raises:
        LocalFault: the devnet cannot be started or refuses a request.
    """
    options = DevnetOptions(network.passphrase, close_ms=CLOSE_MS, log=log)
    async with (
        await start_devnet(options, binary=binary) as devnet,
        HttpSorobanRpc(network, Secret(devnet.rpc_url)) as rpc,
    ):
        relayer = wallet_of(Secret(Keypair.random().secret))
        funder = WalletFunder(rpc, client, SystemClock(), network)
        friendbot = f"{devnet.rpc_url}/friendbot"
        scene, _, _ = await asyncio.gather(
            devnet.scene(payers=1 + PAYERS, payees=1),
            funder.fund_from_friendbot(relayer.address, friendbot),
            funder.fund_from_friendbot(buyer.address, friendbot),
        )
        source, *payers = (wallet_of(each.secret) for each in scene.payers)
        await funder.ensure_usdc_trustline(buyer, UsdcFunding(source, _BUYER_UNITS))
        seller = wallet_of(scene.payees[0].secret)
        yield DemoNetwork(network, devnet, rpc, relayer, seller, tuple(payers))


def new_signing_key() -> Secret[str]:
    """Generate the seed of the account that signs challenges."""
    return Secret(Keypair.random().secret)


def served_network(demo: DemoNetwork) -> ServedNetwork:
    """The service's settings for the network; its contract may be deployed later."""
    relayer = demo.relayer.seed
    return ServedNetwork(demo.devnet.rpc_url, relayer, contract_of_payer(demo.network, relayer))


async def deploy_sign_in(networks: Mapping[Network, DemoNetwork], signing: Secret[str]) -> None:
    """Deploy the web-auth contract and create the signing account on every network.

    Raises:
        Refusal: a network refuses a transaction.
        Outage: a network is unavailable.
    """
    await asyncio.gather(*(_deploy(each, signing) for each in networks.values()))


async def _deploy(demo: DemoNetwork, signing: Secret[str]) -> None:
    environment = served_network(demo).settings(demo.network)
    environment["FAREBOX_AUTH_SIGNING_SECRET"] = signing.reveal()
    await deploy_at_start(read_settings(environment), demo.network)
