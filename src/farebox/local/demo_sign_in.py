"""What wallets need to sign in to the demo's service: the web-auth contract on each network."""

import asyncio
from collections.abc import Mapping

from stellar_sdk import Keypair

from farebox.app.auth_tools import contract_of_payer, deploy_at_start
from farebox.app.configuration import read_settings
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.demo_chain import Chain
from farebox.local.service_process import ServedNetwork


def new_signing_key() -> Secret[str]:
    """The seed of an account that signs challenges and nothing else."""
    return Secret(Keypair.random().secret)


def served(chain: Chain) -> ServedNetwork:
    """The network as the service is told of it; its contract need not be there yet."""
    relayer = chain.relayer.seed
    return ServedNetwork(chain.devnet.rpc_url, relayer, contract_of_payer(chain.network, relayer))


async def let_sign_in(chains: Mapping[Network, Chain], signing: Secret[str]) -> None:
    """The contract and the signing account are on every network.

    Raises:
        Refusal: a network does not take them.
        Outage: a network is away.
    """
    await asyncio.gather(*(_deploy(chain, signing) for chain in chains.values()))


async def _deploy(chain: Chain, signing: Secret[str]) -> None:
    environment = served(chain).settings(chain.network)
    environment["FAREBOX_AUTH_SIGNING_SECRET"] = signing.reveal()
    await deploy_at_start(read_settings(environment), chain.network)
