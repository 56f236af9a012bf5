"""The stage of automation: a devnet, the contracts of plans, and our service with a paymaster."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from stellar_sdk import Keypair, scval

from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.kernel.secret import Secret
from farebox.local.devnet import DevnetOptions, Party, Scene, start_devnet
from farebox.local.postgres import EmbeddedPostgres
from farebox.vault.master_keys import new_master_key
from testing.automation_cases import SOLD, Case, Place
from testing.automation_chain import NET, AutomationChain
from testing.machine import ServedNetwork, our_process, say, subfolder
from testing.plan_service import deploy_exchange, new_keeper, plan_settings, set_up_plans
from testing.smart_accounts import Owner, external_signer

CLOSE_MS: Final = 1000
_SENDERS: Final = 12


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
        return self.settings[f"FAREBOX_{which.setting}_{NET.name}"]

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
            **_settings(server.url),
            **plan_settings(scene, paymaster.secret, scene.payees[1].address, place.router),
            **(settings or {}),
        }
        own |= await set_up_plans(served, own, folder, with_sign_in=True)
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


async def _place(chain: AutomationChain, scene: Scene, filler: Keypair) -> Place:
    """Deploy what plans call."""
    exchange = await deploy_exchange(chain, scene, filler)
    return Place(
        asset=scene.asset,
        native=scene.native,
        keeper="",
        other_keeper=await new_keeper(chain),
        pair=exchange.pair,
        router=exchange.router,
        other_router=await exchange.another_router(chain),
        oracle=exchange.oracle,
        recipients=(),
        stranger=scene.payees[0].address,
    )


def _settings(database: Secret[str]) -> dict[str, str]:
    """A service that knows its accounts and keeps secrets."""
    return {
        "FAREBOX_DATABASE_URL": database.reveal(),
        "FAREBOX_AUTH_SIGNING_SECRET": Keypair.random().secret,
        "FAREBOX_MASTER_KEYS": new_master_key(None).reveal(),
        "FAREBOX_CHALLENGES_PER_MINUTE": "0",
        "FAREBOX_CHANGES_PER_MINUTE": "0",
        "FAREBOX_SEARCH_SEMANTIC": "off",
        "FAREBOX_LEDGER_TIME_TOLERANCE_S": "0",  # the network's clock is moved
    }


def _key(party: Party) -> Keypair:
    return Keypair.from_secret(party.secret.reveal())
