"""One of the demo's networks: a devnet with a relayer, a buyer who holds USDC and a seller."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stellar_sdk import Keypair

from farebox.buyer.holdings import Funder, Gift, read_holdings
from farebox.buyer.wallet import Wallet, wallet_of
from farebox.buyer.web import Web
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, DevnetOptions, start_devnet
from farebox.stellar.rpc_http import HttpSorobanRpc

CLOSE_MS: Final = 1000  # five times the real pace: a demo waits for four ledgers, not for minutes
_GIFT: Final = BaseUnits(100 * 10**7)


@dataclass(frozen=True, slots=True)
class Chain:
    """A network that is ready to be paid on."""

    network: Network
    devnet: Devnet
    rpc: HttpSorobanRpc
    relayer: Wallet
    seller: Address

    async def usdc_of(self, address: Address) -> BaseUnits:
        """What an account holds in USDC."""
        held = await read_holdings(self.rpc, self.network, address)
        return held.usdc or BaseUnits(0)


@asynccontextmanager
async def open_chain(
    network: Network, buyer: Wallet, web: Web, *, binary: Path, log: Path
) -> AsyncIterator[Chain]:
    """A devnet with this network's passphrase in which `buyer` holds 100 USDC.

    Raises:
        LocalFault: the devnet cannot be started or refuses.
    """
    options = DevnetOptions(network.passphrase, close_ms=CLOSE_MS, log=log)
    async with (
        await start_devnet(options, binary=binary) as devnet,
        HttpSorobanRpc(network, Secret(devnet.rpc_url)) as rpc,
    ):
        relayer = wallet_of(Secret(Keypair.random().secret))
        funder = Funder(rpc, web, SystemClock(), network)
        friendbot = f"{devnet.rpc_url}/friendbot"
        scene, _, _ = await asyncio.gather(
            devnet.scene(payers=1, payees=1),
            funder.ask_friendbot(relayer.address, friendbot),
            funder.ask_friendbot(buyer.address, friendbot),
        )
        await funder.trust_usdc(buyer, Gift(wallet_of(scene.payers[0].secret), _GIFT))
        yield Chain(network, devnet, rpc, relayer, scene.payees[0].address)
