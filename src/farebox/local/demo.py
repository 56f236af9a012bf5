"""The demo: a payment from start to end on one machine.

It runs PostgreSQL, two devnets, the service, a paid API and a buyer, and stops them at the end.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from farebox.buyer.choose import BuyerPreferences
from farebox.buyer.outcome import Paid
from farebox.buyer.pay import Buyer
from farebox.buyer.seller_client import HttpSellerClient, SellerRequest
from farebox.buyer.wallet import Wallet, create_wallet
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.certificates import Authority
from farebox.local.demo_automation import DemoAutomation
from farebox.local.demo_console import console_setting
from farebox.local.demo_gateway import GatewayScene
from farebox.local.demo_log import DemoApprover, DemoLog, DemoWatcher, receipt_line
from farebox.local.demo_network import (
    DemoNetwork,
    deploy_sign_in,
    new_signing_key,
    served_network,
    start_demo_network,
)
from farebox.local.demo_plan import PlanScene
from farebox.local.devnet_binary import built_devnet
from farebox.local.example_api import PAID_PATH, example_api, requirements
from farebox.local.facilitator_client import FacilitatorUnavailable, HttpFacilitator, Json
from farebox.local.faults import LocalFault, explain_disk_error
from farebox.local.gateway_settings import gateway_settings
from farebox.local.loopback_server import bind, serving
from farebox.local.postgres import EmbeddedPostgres
from farebox.local.postgres_folder import PostgresNotStarted
from farebox.local.service_process import Service, ServiceOptions, start_service
from farebox.local.wrapped_api import NAME, WrappedApi
from farebox.stellar.rpc import TransactionFound

_READY_S: Final = 30.0
_LISTED_POLLS: Final = 100
_LISTED_POLL_S: Final = 0.1
QUESTION: Final = "find me a weather forecast for Lisbon"
PRICE: Final = BaseUnits(500_000)  # 0.05 USDC


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of the service and the paid API; 0 takes a free one."""

    service: int = 0
    api: int = 0


@dataclass(frozen=True, slots=True)
class DemoSetup:
    """The running parts of the demo."""

    folder: Path
    wallet: Wallet
    networks: dict[Network, DemoNetwork]
    client: HttpSellerClient
    service: Service
    facilitator: HttpFacilitator
    api_url: str
    gateway: GatewayScene
    plan: PlanScene
    has_console: bool

    @property
    def wallet_path(self) -> Path:
        """The buyer's key file."""
        return self.folder / "wallet.json"

    async def wait(self) -> None:
        """Wait until a part ends by itself.

        Raises:
            LocalFault: one has ended.
        """
        parts = {"the service": self.service.wait()}
        parts |= {f"the {each.label} devnet": self.networks[each].devnet.wait() for each in Network}
        waiting = {asyncio.ensure_future(work): name for name, work in parts.items()}
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        raise LocalFault(f"The demo ends: {waiting[done.pop()]} ended by itself.")


@asynccontextmanager
async def start_demo(demo_log: DemoLog, ports: Ports) -> AsyncIterator[DemoSetup]:
    """Run the parts of the demo inside this context.

    Must be entered on the main thread, because the database server ends with its thread.

    Raises:
        LocalFault: a part cannot be started; the message says what to do.
    """
    bind(ports.service, option="--port").close()
    with bind(ports.api, option="--api-port") as listener:
        binary = await built_devnet(demo_log.step)
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(_folder())
            database = stack.enter_context(_postgres(folder))
            demo_log.step("PostgreSQL runs")
            client = await stack.enter_async_context(HttpSellerClient())
            wallet = create_wallet(folder / "wallet.json")
            networks = await _start_networks(stack, wallet, client, binary=binary, folder=folder)
            demo_log.step("two devnets run; on each a buyer with 100 USDC, a seller and a relayer")
            wrapped, authority = WrappedApi(), Authority(folder)
            await stack.enter_async_context(wrapped.serving(authority.server(NAME)))
            further = gateway_settings(authority, NAME, wrapped.port)
            testnet = networks[Network.TESTNET]
            console, automation = console_setting(wallet, testnet, folder), DemoAutomation(testnet)
            further |= console | automation.settings
            service = await _start(stack, database, networks, automation, folder, ports, further)
            facilitator = await stack.enter_async_context(HttpFacilitator(service.url))
            await _wait_until_ready(facilitator)
            demo_log.step(f"the facilitator runs: {service.url}; wallets can sign in")
            app = example_api(facilitator, _prices(networks), DemoWatcher(demo_log))
            api_url = await stack.enter_async_context(serving(app, listener))
            demo_log.step(f"a paid API runs: {api_url}{PAID_PATH}")
            scene = GatewayScene(service.url, testnet, wallet, client, wrapped)
            plan = PlanScene(service.url, automation, wallet, folder / "api-key.header")
            parts = (folder, wallet, networks, client, service, facilitator, api_url, scene, plan)
            yield DemoSetup(*parts, has_console=bool(console))


def _prices(networks: Mapping[Network, DemoNetwork]) -> list[Json]:
    return [
        requirements(each.network, pay_to=each.seller.address, price=PRICE)
        for each in networks.values()
    ]


async def _wait_until_ready(facilitator: HttpFacilitator) -> None:
    try:
        await facilitator.wait_until_ready(wait_s=_READY_S)
    except FacilitatorUnavailable as error:
        raise LocalFault("The service runs but is not ready in time; see its log.") from error


async def pay_once(setup: DemoSetup, demo_log: DemoLog) -> str:
    """Pay the API on testnet from the buyer's wallet; returns the transaction's hash.

    Raises:
        LocalFault: the payment failed, or the balances do not show it.
    """
    testnet = setup.networks[Network.TESTNET]
    before = await _balances(setup, demo_log, "before")
    buyer = Buyer(setup.wallet, setup.client, {testnet.network: testnet.rpc})
    request = SellerRequest(setup.api_url + PAID_PATH)
    demo_log.step(f"the buyer requests GET {request.url}")
    approver = DemoApprover(demo_log, setup.wallet.address)
    outcome = await buyer.pay(
        request, BuyerPreferences((testnet.network,), max_amount=PRICE), approver
    )
    if not isinstance(outcome, Paid) or outcome.response is None:
        raise LocalFault(f"The demo's payment did not go through: {outcome!r}")
    demo_log.step(f"the API answers {outcome.response.status} with the receipt in PAYMENT-RESPONSE")
    demo_log.detail(outcome.response.body.decode())
    transaction = await testnet.rpc.get_transaction(outcome.transaction)
    if not isinstance(transaction, TransactionFound):
        raise LocalFault("The payment's transaction is not on the ledger.")
    demo_log.detail(receipt_line(transaction))
    after = await _balances(setup, demo_log, "after")
    if (before[0] - after[0], after[1] - before[1]) != (PRICE, PRICE):
        raise LocalFault("The balances do not show the payment.")
    return outcome.transaction


async def find_listing(setup: DemoSetup, demo_log: DemoLog) -> None:
    """Search the catalog for the API, which the payment has listed.

    Raises:
        LocalFault: the search does not find it.
    """
    paid = setup.api_url + PAID_PATH
    for _ in range(_LISTED_POLLS):
        urls = await setup.facilitator.search(QUESTION)
        if paid in urls:
            break
        await asyncio.sleep(_LISTED_POLL_S)
    else:
        raise LocalFault("The search does not find the API that was paid for.")
    demo_log.step(f"the payment has listed the API; a search for “{QUESTION}” finds it")
    for url in urls:
        demo_log.detail(url)


async def _balances(setup: DemoSetup, demo_log: DemoLog, when: str) -> tuple[int, int]:
    testnet = setup.networks[Network.TESTNET]
    buyer, seller = await asyncio.gather(
        testnet.usdc_of(setup.wallet.address), testnet.usdc_of(testnet.seller.address)
    )
    holdings = {"buyer": (setup.wallet.address, buyer), "seller": (testnet.seller.address, seller)}
    demo_log.balances(when, holdings)
    return buyer, seller


async def _start_networks(
    stack: AsyncExitStack, wallet: Wallet, client: HttpSellerClient, *, binary: Path, folder: Path
) -> dict[Network, DemoNetwork]:
    opened = [
        stack.enter_async_context(
            start_demo_network(
                each, wallet, client, binary=binary, log=folder / f"devnet-{each.label}.log"
            )
        )
        for each in Network
    ]
    return {each.network: each for each in await asyncio.gather(*opened)}


async def _start(
    stack: AsyncExitStack,
    database: Secret[str],
    networks: dict[Network, DemoNetwork],
    automation: DemoAutomation,
    folder: Path,
    ports: Ports,
    further: Mapping[str, str],
) -> Service:
    """Start the service, and deploy its contracts and those of the demo's plans meanwhile."""
    served = {name: served_network(each) for name, each in networks.items()}
    signing = new_signing_key()
    log = folder / "service.log"
    options = ServiceOptions(
        database, served, signing, log=log, port=ports.service, further=further
    )

    async def started() -> Service:
        service = await start_service(options)
        stack.push_async_callback(service.stop)
        await automation.add_channels(database)
        return service

    service, *_ = await asyncio.gather(
        started(), deploy_sign_in(networks, signing), automation.deploy()
    )
    return service


@contextmanager
def _postgres(folder: Path) -> Iterator[Secret[str]]:
    try:
        server = EmbeddedPostgres(folder / "data", is_throwaway=True)
        server.__enter__()
    except PostgresNotStarted as error:
        raise LocalFault(str(error)) from error
    try:
        yield server.url
    finally:
        server.__exit__(None, None, None)


@contextmanager
def _folder() -> Iterator[Path]:
    """A temporary folder that the database's user may enter but not read."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="farebox-demo-"))
    except OSError as error:
        raise explain_disk_error(error, doing="starting the demo") from error
    if os.geteuid() == 0:
        folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
