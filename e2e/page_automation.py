"""What `docs/automation.md` finds on the stage: a paymaster with channels, and a keeper."""

import asyncio
import ssl
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
import requests
from stellar_sdk import Keypair, SorobanServer, scval
from stellar_sdk.client.requests_client import RequestsClient

from farebox.kernel.networks import Network
from testing.contracts import deploy_contract
from testing.machine import FAREBOX, ROOT, RunFailed, build_environment
from testing.stage import Market

_KEEPER: Final = ROOT / "contracts" / "wasm" / "keeper.wasm"
_CHANNELS: Final = ("channels", "create", "--for", "automation", "--count", "2")
_COMMAND_S: Final = 120.0
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
            await _ask_friendbot(devnet.rpc_url, authority, key.public_key)
        await _create_channels({**settings, **market.served.settings(), **self.settings()})
        keeper = await asyncio.to_thread(_deploy, devnet.rpc_url, authority, deployer)
        await _until_paid_for(service_url)
        return keeper


async def _ask_friendbot(rpc_url: str, authority: Path, address: str) -> None:
    trusted = ssl.create_default_context(cafile=authority)
    async with (
        aiohttp.ClientSession() as session,
        session.get(
            f"{rpc_url.rstrip('/')}/friendbot", params={"addr": address}, ssl=trusted
        ) as answer,
    ):
        if answer.status != 200:
            raise RunFailed(f"friendbot answered {answer.status}")


async def _create_channels(settings: Mapping[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *FAREBOX,
        *_CHANNELS,
        *("--network", Network.TESTNET.label),
        env=build_environment(settings),
        stdout=sys.stderr,
        stderr=sys.stderr,
    )
    code = await asyncio.wait_for(process.wait(), _COMMAND_S)
    if code != 0:
        raise RunFailed(f"farebox channels create ended with {code}")


async def _until_paid_for(service_url: str) -> None:
    deadline = time.monotonic() + _COMMAND_S
    async with aiohttp.ClientSession() as session:
        while reasons := await _read_reasons(session, service_url):
            if time.monotonic() > deadline:
                raise RunFailed(f"no plan can run: {', '.join(reasons)}")
            await asyncio.sleep(_POLL_S)


async def _read_reasons(session: aiohttp.ClientSession, service_url: str) -> list[str]:
    """Why no plan can run on testnet, as readiness says it."""
    async with session.get(f"{service_url}/health/ready") as answer:
        part = (await answer.json())["parts"][Network.TESTNET.value]
    return [each for each in part.get("reasons", ()) if each.startswith(_OF_PLANS)]


def _deploy(rpc_url: str, authority: Path, deployer: Keypair) -> str:
    session = requests.Session()
    session.verify, session.trust_env = str(authority), False
    arguments = (scval.to_bool(False), scval.to_uint64(0))
    with SorobanServer(rpc_url, RequestsClient(session=session)) as server:
        wasm = _KEEPER.read_bytes()
        return deploy_contract(server, Network.TESTNET, deployer, wasm, *arguments)
