"""The stage of automation: a devnet, the contracts of plans, and our service with a paymaster."""

import asyncio
import base64
import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from stellar_sdk import Keypair, scval

from e2e.automation_cases import SOLD, Case, Place
from e2e.automation_chain import NET, AutomationChain, call
from e2e.automation_owners import Owner, external_signer
from e2e.machine import (
    FAREBOX,
    ROOT,
    RunFailed,
    ServedNetwork,
    build_environment,
    our_process,
    say,
    subfolder,
)
from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.kernel.secret import Secret
from farebox.local.devnet import DevnetOptions, Party, Scene, start_devnet
from farebox.local.postgres import EmbeddedPostgres

CLOSE_MS: Final = 1000
LIQUIDITY: Final = 10**10
PRICE: Final = 10**14  # the oracle's, of both tokens
RUN_PRICE: Final = 1_000  # base units of the asset
CHANNELS: Final = 8
_SENDERS: Final = 12
_COMMAND_S: Final = 180
_SUFFIX: Final = NET.name


@dataclass(frozen=True, slots=True)
class AutomationStage:
    """The running parts."""

    chain: AutomationChain
    service: str
    settings: Mapping[str, str]
    place: Place
    cashier: Party  # pays for the plans that the service makes no run of
    visitor: Party  # owns the plans that are made in the console
    owners: tuple[Party, ...]  # accounts with the asset, one for each case
    recipients: tuple[Party, ...]  # two for each case, and two for the console

    def contract(self, which: ServiceContract) -> str:
        """A contract of the service, as the operator's command has printed it."""
        return self.settings[f"FAREBOX_{which.setting}_{_SUFFIX}"]

    async def owner(self, case: Case, number: int) -> Owner:
        """The account of a case: one of the scene, or a new smart account with some asset."""
        payer = self.payer(number)
        key = Keypair.from_secret(payer.reveal())
        if not case.generation:
            return Owner(key.public_key, key)
        own, verifier = Keypair.random(), self.contract(ServiceContract.VERIFIER)
        signers = scval.to_vec([external_signer(verifier, own)])
        account = await self.chain.deploy(f"smart_account_{case.generation}", signers)
        await self.chain.give(key, self.place.asset, account, 100 * SOLD)
        return Owner(account, own, case.generation, verifier)

    async def place_of(self, number: int, *, gap: int) -> Place:
        """The contracts of a case: a keeper and recipients of its own, the others shared."""
        keeper = await new_keeper(self.chain, gap)
        pair = self.recipients[2 * number : 2 * number + 2]
        return replace(self.place, keeper=keeper, recipients=tuple(each.address for each in pair))

    def payer(self, number: int) -> Secret[str]:
        """The key that pays for the runs of a case: the owner's, if it is a classic account."""
        return self.owners[number].secret


@contextlib.asynccontextmanager
async def open_automation_stage(
    folder: Path, *, owners: int, settings: Mapping[str, str] | None = None
) -> AsyncIterator[AutomationStage]:
    """Start all parts; stop them at the end of the block. `settings` are further ones."""
    async with contextlib.AsyncExitStack() as stack:
        say("starting a devnet with the limits of mainnet, a ledger a second")
        options = DevnetOptions(
            passphrase=NET.passphrase, close_ms=CLOSE_MS, log=folder / "devnet.log"
        )
        devnet = await stack.enter_async_context(await start_devnet(options, progress=say))
        scene = await devnet.scene(payers=owners + _SENDERS + 5, payees=4 + 2 * owners)
        chain = AutomationChain(devnet, scene, [_key(each) for each in scene.payers[:_SENDERS]])
        relayer, paymaster, filler, cashier, visitor, *parties = scene.payers[_SENDERS:]
        say("deploying a market, an oracle and keepers")
        place = await _place(chain, scene, _key(filler))
        served = ServedNetwork(NET, devnet, relayer.secret)
        server = stack.enter_context(
            EmbeddedPostgres(subfolder(folder, "postgres"), is_throwaway=True)
        )
        own = {
            **_settings(server.url, paymaster.secret, scene),
            f"FAREBOX_SOROSWAP_ROUTER_{_SUFFIX}": place.router,
            **(settings or {}),
        }
        own |= await _set_up(served, own, folder)
        say("starting the service")
        running = await stack.enter_async_context(
            our_process([served], folder=subfolder(folder, "service"), settings=own)
        )
        yield AutomationStage(
            chain,
            running.url,
            own,
            place,
            cashier,
            visitor,
            tuple(parties),
            scene.payees[2:],
        )


def _settings(database: Secret[str], paymaster: Secret[str], scene: Scene) -> dict[str, str]:
    """A service with everything that plans need, which sells runs."""
    return {
        "FAREBOX_DATABASE_URL": database.reveal(),
        "FAREBOX_AUTH_SIGNING_SECRET": Keypair.random().secret,
        "FAREBOX_MASTER_KEYS": f"1:{base64.b64encode(os.urandom(32)).decode()}",
        "FAREBOX_CHALLENGES_PER_MINUTE": "0",
        "FAREBOX_CHANGES_PER_MINUTE": "0",
        "FAREBOX_SEARCH_SEMANTIC": "off",
        f"FAREBOX_PAYMASTER_SECRET_{_SUFFIX}": paymaster.reveal(),
        f"FAREBOX_AUTOMATION_BUDGET_OWNER_STROOPS_{_SUFFIX}": "0",
        f"FAREBOX_AUTOMATION_BUDGET_TOTAL_STROOPS_{_SUFFIX}": "0",
        f"FAREBOX_REVENUE_ACCOUNT_{_SUFFIX}": scene.payees[1].address,
        f"FAREBOX_RUN_ASSET_{_SUFFIX}": scene.asset,
        f"FAREBOX_RUN_PRICE_{_SUFFIX}": str(RUN_PRICE),
    }


async def _set_up(
    served: ServedNetwork, settings: Mapping[str, str], folder: Path
) -> dict[str, str]:
    """Run the operator's commands; the settings that they print."""
    say("deploying the contracts of sign-in and of sessions: farebox auth, farebox automation")
    label = ("--network", NET.label)
    found: dict[str, str] = {}
    for group in ("auth", "automation"):
        words = (group, "deploy", *label)
        printed = await asyncio.to_thread(_command, words, served, settings, folder)
        found |= dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)
    say(f"creating {CHANNELS} channels of the paymaster, and of the relayer")
    for purpose in ("automation", "settlement"):
        create = ("channels", "create", "--for", purpose, "--count", str(CHANNELS), *label)
        await asyncio.to_thread(_command, create, served, settings, folder)
    return found


def _command(
    words: Sequence[str], served: ServedNetwork, settings: Mapping[str, str], folder: Path
) -> str:
    """Run a command of the product with the service's settings; what it prints."""
    done = subprocess.run(
        [*FAREBOX, *words],
        cwd=ROOT,
        env=build_environment({**settings, **served.settings(), "FAREBOX_DATA_DIR": str(folder)}),
        capture_output=True,
        text=True,
        timeout=_COMMAND_S,
        check=False,
    )
    if done.returncode:
        raise RunFailed(f"farebox {' '.join(words)} failed:\n{done.stderr.strip()[-800:]}")
    return done.stdout


async def _place(chain: AutomationChain, scene: Scene, filler: Keypair) -> Place:
    """Deploy what plans call, fill the pool, and set both prices."""
    asset, native = scene.asset, scene.native
    pair = await chain.deploy("pool", scval.to_address(asset), scval.to_address(native))
    for token in (asset, native):
        await chain.give(filler, token, pair, LIQUIDITY)
    await chain.land(call(pair, "sync", ()))
    pools = scval.to_vec([scval.to_address(pair)])
    oracle = await chain.deploy("price_feed")
    at = scval.to_uint64(await chain.now())
    for token in (asset, native):
        named = scval.to_vec([scval.to_symbol("Stellar"), scval.to_address(token)])
        await chain.land(call(oracle, "set", (named, scval.to_int128(PRICE), at)))
    return Place(
        asset=asset,
        native=native,
        keeper="",
        other_keeper=await new_keeper(chain),
        pair=pair,
        router=await chain.deploy("router", pools),
        other_router=await chain.deploy("router", pools),
        oracle=oracle,
        recipients=(),
        stranger=scene.payees[0].address,
    )


async def new_keeper(chain: AutomationChain, gap: int = 0) -> str:
    """Deploy a keeper that anybody may run, with so many seconds between two runs at least."""
    return await chain.deploy("keeper", scval.to_bool(False), scval.to_uint64(gap))


def _key(party: Party) -> Keypair:
    return Keypair.from_secret(party.secret.reveal())
