"""The stage of the console: two devnets, the service with its console, and an API behind TLS.

The service runs plans on the first network, whose ledger has a keeper, an exchange and an oracle.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stellar_sdk import Keypair

from farebox.app.console import read_console
from farebox.buyer.wallet import wallet_of
from farebox.kernel.networks import Network
from farebox.local.certificates import Authority
from farebox.local.development_wallet import WalletAccount, wallet_script
from farebox.local.devnet import HeaderForm
from farebox.local.gateway_settings import gateway_settings
from farebox.local.postgres import EmbeddedPostgres
from farebox.local.wrapped_api import NAME, WrappedApi
from testing.automation_chain import NET, AutomationChain
from testing.machine import RunFailed, our_process, subfolder
from testing.plan_service import deploy_exchange, new_keeper, plan_settings, set_up_plans
from testing.stage import Market, Stage, open_stage

BUYER: Final = 1  # the place of an account in the wallet
SELLER: Final = 2
PLANNERS: Final = (3, 4)  # owners of plans, one for each round: none has credit of the other's
_SENDERS: Final = 3  # accounts that deploy contracts
# and the paymaster; there are as many payees more, one of which sells runs
_PARTIES: Final = len(PLANNERS) + _SENDERS + 1


@dataclass(frozen=True, slots=True)
class PlanScene:
    """What the plans act on; the scene of `chain` has both tokens."""

    chain: AutomationChain
    keeper: str
    oracle: str
    recipients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConsoleStage:
    """The running parts."""

    stage: Stage
    api: WrappedApi
    folder: Path
    settings: Mapping[str, str]
    plans: PlanScene

    @property
    def url(self) -> str:
        """The origin of the service, which serves the console at `/`."""
        return self.stage.service_url

    def market(self, network: Network) -> Market:
        """Return the accounts of a network."""
        return next(each for each in self.stage.markets if each.network is network)

    def wallet(self, network: Network = Network.TESTNET, *, asks: bool = True) -> str:
        """Write the wallet of the network's buyer, seller, and owners of plans."""
        scene = self.market(network).scene
        accounts = (
            WalletAccount("Buyer", wallet_of(scene.payers[0].secret)),
            WalletAccount("Seller", wallet_of(scene.payees[0].secret)),
            *(
                WalletAccount(f"Planner {number}", wallet_of(each.secret))
                for number, each in enumerate(scene.payers[-len(PLANNERS) :], start=1)
            ),
        )
        return wallet_script(accounts, network, asks=asks)

    @contextlib.asynccontextmanager
    async def replica(self, name: str, settings: Mapping[str, str]) -> AsyncIterator[str]:
        """Run another process of the service with further settings; yield its origin."""
        served = [market.served for market in self.stage.markets]
        async with our_process(
            served, folder=subfolder(self.folder, name), settings={**self.settings, **settings}
        ) as process:
            yield process.url


@contextlib.asynccontextmanager
async def open_console_stage(
    folder: Path, *, prefix: Sequence[str] = ()
) -> AsyncIterator[ConsoleStage]:
    """Start all parts; stop them at the end of the block.

    `prefix` is put before the service's command.

    Raises:
        RunFailed: the console is not built.
    """
    console = read_console(None)
    if not console.files:
        raise RunFailed(f"The {console.summary}: install Node.js 20 or newer, run scripts/setup")
    api, authority = WrappedApi(), Authority(folder)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(api.serving(authority.server(NAME)))
        server = stack.enter_context(
            EmbeddedPostgres(subfolder(folder, "postgres"), is_throwaway=True)
        )
        own = {
            "FAREBOX_DATABASE_URL": server.url.reveal(),
            "FAREBOX_CATALOG_LOCAL": "1",
            "FAREBOX_AUTH_SIGNING_SECRET": Keypair.random().secret,
            "FAREBOX_CHALLENGES_PER_MINUTE": "0",
            "FAREBOX_CHANGES_PER_MINUTE": "0",
            **gateway_settings(authority, NAME, api.port),
        }
        setup = _PlanSetup(own, subfolder(folder, "plans"))
        stage = await stack.enter_async_context(
            open_stage(
                HeaderForm.SECONDS,
                subfolder(folder, "stage"),
                settings=own,
                with_seller=False,
                prefix=prefix,
                parties=_PARTIES,
                prepare=setup.prepare,
            )
        )
        yield ConsoleStage(stage, api, folder, {**own, **setup.settings}, setup.scene())


class _PlanSetup:
    """Makes the wallet's network one that plans run on, before the service starts."""

    def __init__(self, own: Mapping[str, str], folder: Path) -> None:
        self.settings: dict[str, str] = {}
        self._own, self._folder = own, folder
        self._scene: PlanScene | None = None

    async def prepare(self, markets: Sequence[Market]) -> Mapping[str, str]:
        """Deploy what plans act on and what the service needs; return its settings."""
        market = next(each for each in markets if each.network is NET)
        _, _, paymaster, *others = market.scene.payers
        _, revenue, *recipients = market.scene.payees
        keys = [Keypair.from_secret(each.secret.reveal()) for each in others[:_SENDERS]]
        chain = AutomationChain(market.served.devnet, market.scene, keys[1:])
        exchange = await deploy_exchange(chain, market.scene, keys[0])
        settings = plan_settings(market.scene, paymaster.secret, revenue.address, exchange.router)
        deployed = await set_up_plans(market.served, {**self._own, **settings}, self._folder)
        self.settings = {**settings, **deployed}
        self._scene = PlanScene(
            chain=chain,
            keeper=await new_keeper(chain),
            oracle=exchange.oracle,
            recipients=tuple(each.address for each in recipients),
        )
        return self.settings

    def scene(self) -> PlanScene:
        """Return what plans act on.

        Raises:
            RunFailed: nothing is prepared.
        """
        if self._scene is None:
            raise RunFailed("nothing was prepared for plans")
        return self._scene
