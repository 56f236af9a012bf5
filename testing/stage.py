"""The stage of a run: two devnets behind TLS, our service, and an npm seller on both networks."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import DevnetOptions, HeaderForm, Party, Scene, start_devnet
from testing.horizon import HorizonStub
from testing.ledger import Ledger
from testing.machine import (
    ROOT,
    ServedNetwork,
    authority_bundle,
    node_server,
    our_service,
    say,
)

CLOSE_MS: Final = 1000
PUBLIC_CADENCE_S: Final = 5  # the cadence of the public networks, for Horizon
PRICE: Final = "$0.01"
PRICE_UNITS: Final = 100_000
DESCRIPTION: Final = "A report worth paying for"
HORIZON_PRELOAD: Final = ROOT / "e2e" / "horizon.cjs"
_PAYERS: Final = 2  # a buyer, and the relayer of the service


@dataclass(frozen=True, slots=True)
class Market:
    """One network of a stage: its buyer, its seller and its ledger client."""

    served: ServedNetwork
    scene: Scene
    ledger: Ledger
    path: str

    @property
    def network(self) -> Network:
        """The network."""
        return self.served.network

    @property
    def buyer(self) -> Party:
        """The account that buys."""
        return self.scene.payers[0]

    @property
    def pay_to(self) -> str:
        """The account that sells."""
        return self.scene.payees[0].address

    async def seller_balance(self) -> int:
        """Read the balance of the seller, base units."""
        return await self.ledger.balance(
            self.pay_to, code=self.scene.code, issuer=self.scene.issuer
        )


@dataclass(frozen=True, slots=True)
class Stage:
    """The running parts of a stage."""

    header: HeaderForm
    folder: Path
    service_url: str
    seller_url: str
    horizon: HorizonStub
    node_env: dict[str, str]
    markets: tuple[Market, ...]

    def url(self, market: Market) -> str:
        """Return the URL of the paid resource of a network."""
        return f"{self.seller_url}{market.path}"


Preparation = Callable[[Sequence[Market]], Awaitable[Mapping[str, str]]]


@contextlib.asynccontextmanager
async def open_stage(
    header: HeaderForm,
    folder: Path,
    *,
    settings: Mapping[str, str] | None = None,
    discovery: Mapping[str, object] | None = None,
    with_seller: bool = True,
    prefix: Sequence[str] = (),
    parties: int = 0,
    prepare: Preparation | None = None,
) -> AsyncIterator[Stage]:
    """Start all parts of a stage; stop them at the end of the block.

    `settings` are further settings of the service; `discovery` is the seller's declaration; without
    a seller `seller_url` is empty. `prefix` is put before the service's command. Each network has
    `parties` more payers and payees; `prepare` acts on the ledgers before the service starts, and
    returns settings of it.
    """
    async with contextlib.AsyncExitStack() as stack:
        say(f"starting two devnets (--tls, --header {header}, a ledger a second)")
        markets = tuple(
            [await _market(network, header, folder, stack, parties) for network in Network]
        )
        served = [market.served for market in markets]
        if prepare is not None:
            settings = {**(settings or {}), **await prepare(markets)}
        say("starting PostgreSQL and the facilitator")
        service_url = await stack.enter_async_context(
            our_service(served, folder=folder, prefix=prefix, settings=settings)
        )
        bundle = await asyncio.to_thread(authority_bundle, served, folder / "authorities.pem")
        horizon = HorizonStub(cadence_s=PUBLIC_CADENCE_S)
        horizon_url = await stack.enter_async_context(horizon.serving())
        seller_url = ""
        if with_seller:
            say("starting the npm seller")
            seller = json.dumps(_seller(service_url, markets, discovery))
            seller_url = await stack.enter_async_context(
                node_server(
                    ROOT / "e2e" / "seller.mjs", env={"SELLER": seller}, log=folder / "seller.log"
                )
            )
        yield Stage(
            header=header,
            folder=folder,
            service_url=service_url,
            seller_url=seller_url,
            horizon=horizon,
            node_env={"NODE_EXTRA_CA_CERTS": str(bundle), "HORIZON_URL": horizon_url},
            markets=markets,
        )


async def _market(
    network: Network,
    header: HeaderForm,
    folder: Path,
    stack: contextlib.AsyncExitStack,
    parties: int,
) -> Market:
    name = network.name.lower()
    options = DevnetOptions(
        passphrase=network.passphrase,
        close_ms=CLOSE_MS,
        header=header,
        tls=folder / f"tls-{name}",
        log=folder / f"devnet-{name}.log",
    )
    devnet = await stack.enter_async_context(await start_devnet(options, progress=say))
    scene = await devnet.scene(payers=_PAYERS + parties, payees=1 + parties)
    relayer: Secret[str] = scene.payers[1].secret
    ledger = await Ledger.open(devnet.rpc_url, devnet.authority)
    stack.push_async_callback(ledger.close)
    return Market(ServedNetwork(network, devnet, relayer), scene, ledger, f"/{name}/report")


def _seller(
    facilitator: str, markets: tuple[Market, ...], discovery: Mapping[str, object] | None
) -> dict[str, object]:
    routes = [
        {"path": m.path, "network": m.network.value, "payTo": m.pay_to, "price": PRICE}
        | {"description": DESCRIPTION}
        | ({"discovery": discovery} if discovery else {})
        for m in markets
    ]
    return {"facilitator": facilitator, "routes": routes}
