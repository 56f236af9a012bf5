"""What `docs/automation.md` finds on the stage: a paymaster with channels, and a keeper."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import aiohttp
from stellar_sdk import Keypair

from farebox.kernel.networks import Network
from testing.commands import run_farebox
from testing.contracts import ask_friendbot, deploy_keeper
from testing.machine import RunFailed, wait_until
from testing.stage import Market

_CHANNELS: Final = ("channels", "create", "--for", "automation", "--count", "2")
_READY_S: Final = 120.0
_POLL_S: Final = 0.5
_OF_PLANS: Final = ("automation", "paymaster")  # how the reasons of readiness begin


@dataclass(frozen=True, slots=True)
class PageAutomation:
    """The paymaster of the public test network's stand-in."""

    paymaster: Keypair = field(default_factory=Keypair.random, repr=False)

    def settings(self) -> dict[str, str]:
        """Return the setting by which the service runs plans on testnet."""
        return {"FAREBOX_PAYMASTER_SECRET_TESTNET": self.paymaster.secret}

    async def prepare(self, market: Market, settings: Mapping[str, str], service_url: str) -> str:
        """Fund the paymaster, create its channels, and deploy a keeper; return its address.

        `settings` are those of the service, with the URL of its database. Afterwards the service
        knows that it can pay.

        Raises:
            RunFailed: a step failed.
        """
        devnet, deployer = market.served.devnet, Keypair.random()
        authority = devnet.authority
        if authority is None:
            raise RunFailed("the stage's nodes have no authority")
        for key in (self.paymaster, deployer):
            await ask_friendbot(devnet.rpc_url, key.public_key, authority=authority)
        own = {**settings, **market.served.settings(), **self.settings()}
        await run_farebox((*_CHANNELS, "--network", Network.TESTNET.label), own)
        keeper = await deploy_keeper(devnet.rpc_url, deployer, authority=authority)
        await _until_paid_for(service_url)
        return keeper


async def _until_paid_for(service_url: str) -> None:
    async with aiohttp.ClientSession() as session:

        async def is_ready() -> bool:
            return not await _read_reasons(session, service_url)

        await wait_until(is_ready, "plans can run", within_s=_READY_S, pause_s=_POLL_S)


async def _read_reasons(session: aiohttp.ClientSession, service_url: str) -> list[str]:
    """Why no plan can run on testnet, as readiness says it."""
    async with session.get(f"{service_url}/health/ready") as answer:
        part = (await answer.json())["parts"][Network.TESTNET.value]
    return [each for each in part.get("reasons", ()) if each.startswith(_OF_PLANS)]
