"""The network of the proof of automation: paymaster, contracts, plans, and what owners find."""

import base64
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from stellar_sdk import Keypair, scval

from farebox.app.vault_services import automation_sealers
from farebox.automation.authority.installation import SessionContracts
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.automation.sessions.deploy_contracts import DEPLOYED
from farebox.kernel.addresses import Address
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, Party, Scene
from farebox.vault.master_keys import MasterKeys, read_master_keys
from prove.automation_sessions import InstalledPlan, Installer, read_contracts
from prove.environment import Environment, open_environment
from prove.run_interceptor import RunInterceptor
from prove.world import NETWORK, World, create_channels, open_world
from testing.automation_cases import SOLD, Place
from testing.automation_chain import AutomationChain
from testing.commands import run_farebox
from testing.contracts import ask_friendbot, deploy_keeper
from testing.machine import ROOT
from testing.plan_service import Exchange, deploy_exchange, new_keeper
from testing.smart_accounts import Owner, external_signer

PAYERS: Final = 28  # of the scene; the first ones are those of the other cases
_FILLER, _GIVER = 2, 3  # their numbers
_SENDERS: Final = slice(4, 8)  # who sends what no service pays for
_OWNERS: Final = slice(8, PAYERS)
_KEEPERS: Final = 12
_GENERATION: Final = "d"  # of the smart account
_GIVEN: Final = 1_000 * SOLD  # to the smart account

# runs a command of the service with further settings; the settings that it printed
Command = Callable[[Sequence[str], Mapping[str, str]], Awaitable[Mapping[str, str]]]


@dataclass(eq=False, slots=True)
class OwnerScenery:
    """The parts that the owners' plans use; `put` fills what is empty."""

    signing: Keypair = field(default_factory=Keypair.random)  # of challenges
    settings: dict[str, str] = field(default_factory=dict)
    exchange: Exchange | None = None
    keepers: list[str] = field(default_factory=list)
    token_code: bytes = b""  # hash of the code of a token with manners
    account: Owner | None = None  # a smart account

    async def put(self, devnet: Devnet, scene: Scene, verifier: str, run: Command) -> None:
        """Deploy the exchange, keepers, the sign-in contract and a smart account."""
        chain = chain_of(devnet, scene)
        self.exchange = await deploy_exchange(chain, scene, key_of(scene.payers[_FILLER]))
        self.keepers = [await new_keeper(chain) for _ in range(_KEEPERS)]
        self.token_code = await chain.upload("mannered_token")
        own = Keypair.random()
        signers = scval.to_vec([external_signer(verifier, own)])
        account = await chain.deploy(f"smart_account_{_GENERATION}", signers)
        await chain.give(key_of(scene.payers[_GIVER]), scene.asset, account, _GIVEN)
        self.account = Owner(account, own, _GENERATION, verifier)
        signing = {"FAREBOX_AUTH_SIGNING_SECRET": self.signing.secret}
        printed = await run(("auth", "deploy", "--network", NETWORK.label), signing)
        router = {f"FAREBOX_SOROSWAP_ROUTER_{NETWORK.name}": self.exchange.router}
        self.settings = {**signing, **router, **printed}

    def place(self, scene: Scene, keeper: str) -> Place:
        """What a plan calls and pays; its keeper is its own."""
        exchange = self.exchange
        if exchange is None:
            raise LookupError("nothing was put on the network")
        payees = tuple(each.address for each in scene.payees)
        return Place(
            asset=scene.asset,
            native=scene.native,
            keeper=keeper,
            other_keeper=keeper,
            pair=exchange.pair,
            router=exchange.router,
            other_router=exchange.router,
            oracle=exchange.oracle,
            recipients=payees[1:3],
            stranger=payees[0],
        )


def chain_of(devnet: Devnet, scene: Scene) -> AutomationChain:
    """The network as programs of the public SDK use it, with accounts of their own."""
    return AutomationChain(devnet, scene, [key_of(each) for each in scene.payers[_SENDERS]])


def owners_of(scene: Scene) -> tuple[Party, ...]:
    """The accounts that own and pay for plans."""
    return scene.payers[_OWNERS]


def key_of(party: Party) -> Keypair:
    """The key of an account of the scene."""
    return Keypair.from_secret(party.secret.reveal())


KEEPERS: Final = 2  # an open plan of a case has one of its own
_CHANNELS: Final = 4
_SETTLEMENT_CHANNELS: Final = 2  # for payments of runs


@dataclass(eq=False, slots=True)
class AutomationScenery:
    """What the proof puts on the network and into the settings; `put` fills what is empty."""

    paymaster: Keypair = field(default_factory=Keypair.random)
    stranger: Keypair = field(default_factory=Keypair.random)
    master_key: Secret[str] = field(
        default_factory=lambda: Secret(f"1:{base64.b64encode(os.urandom(32)).decode()}")
    )
    keepers: list[Address] = field(default_factory=list)
    contracts: dict[str, str] = field(default_factory=dict)  # settings that name them
    installed: dict[AuthorityMode, InstalledPlan] = field(default_factory=dict)
    owners: OwnerScenery = field(default_factory=OwnerScenery)

    @property
    def settings(self) -> dict[str, str]:
        """The settings of the service that turn automation on."""
        return {
            "FAREBOX_PAYMASTER_SECRET_TESTNET": self.paymaster.secret,
            "FAREBOX_MASTER_KEYS": self.master_key.reveal(),
            **self.contracts,
        }

    @property
    def master_keys(self) -> MasterKeys:
        """The keys that seal the secrets of a plan."""
        keys = read_master_keys(self.master_key.reveal())
        if not isinstance(keys, MasterKeys):
            raise TypeError(keys)
        return keys

    async def put(self, devnet: Devnet, scene: Scene, settings: Mapping[str, str]) -> None:
        """Create the accounts, the channels, the keepers and the plans that are installed."""
        deployer = Keypair.random()
        for each in (self.paymaster, self.stranger, deployer):
            await ask_friendbot(devnet.rpc_url, each.public_key)
        own = {**settings, **self.settings}
        await create_channels(own, _CHANNELS, purpose="automation")
        deploy = ("automation", "deploy", "--network", "testnet")
        self.contracts = read_contracts(await run_farebox(deploy, own))
        self.keepers = [await deploy_keeper(devnet.rpc_url, deployer) for _ in range(KEEPERS)]
        sealers = automation_sealers(self.master_keys)
        named = SessionContracts(*(self._contract(each) for each in DEPLOYED))
        installer = Installer(devnet.rpc_url, scene, deployer, self.keepers[0], named, sealers)
        self.installed = await installer.install()
        verifier = self._contract(ServiceContract.VERIFIER)
        await self.owners.put(devnet, scene, verifier, partial(self._run, own))

    async def _run(
        self, own: Mapping[str, str], words: Sequence[str], more: Mapping[str, str]
    ) -> dict[str, str]:
        return read_contracts(await run_farebox(words, {**own, **more}))

    def _contract(self, contract: ServiceContract) -> Address:
        return Address(self.contracts[f"FAREBOX_{contract.setting}_{NETWORK.name}"])


@dataclass(frozen=True, slots=True)
class AutomationWorld:
    """The shared fixtures of all cases of automation."""

    world: World
    scenery: AutomationScenery

    @asynccontextmanager
    async def environment(
        self, more: Mapping[str, str] | None = None
    ) -> AsyncIterator[Environment]:
        """Open a fresh environment whose replicas run automation; `more` are further settings."""
        settings = {"FAREBOX_RPC_TIMEOUT_S": "2", **self.scenery.settings, **(more or {})}
        async with open_environment(
            self.world, settings, make_interceptor=RunInterceptor
        ) as environment:
            yield environment


@asynccontextmanager
async def open_automation_world(
    folder: Path,
    *,
    workers: int,
    sources: Path = ROOT / "src",
    channels: int = _SETTLEMENT_CHANNELS,
) -> AsyncIterator[AutomationWorld]:
    """Open a world with automation; see `open_world`."""
    scenery = AutomationScenery()
    async with open_world(
        folder,
        sources=sources,
        channels=channels,
        payers=PAYERS,
        payees=3,
        workers=workers,
        preparation=scenery.put,
    ) as world:
        yield AutomationWorld(world, scenery)
