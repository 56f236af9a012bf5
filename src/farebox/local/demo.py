"""The whole path of a payment on one machine, told as it happens.

PostgreSQL, two networks, the service, a paid API and a buyer: all real, all ours, all stopped at
the end.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from farebox.buyer.choose import Wishes
from farebox.buyer.outcome import Paid
from farebox.buyer.pay import Buyer
from farebox.buyer.wallet import Wallet, create_wallet
from farebox.buyer.web import HttpWeb, WebRequest
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.demo_chain import Chain, open_chain
from farebox.local.demo_sign_in import let_sign_in, new_signing_key, served
from farebox.local.demo_story import Story, TellingPurse, TellingWatcher, receipt_line
from farebox.local.devnet_binary import built_devnet
from farebox.local.example_api import PAID_PATH, example_api, requirements
from farebox.local.facilitator_client import FacilitatorAway, HttpFacilitator
from farebox.local.faults import LocalFault, explain_disk
from farebox.local.loopback_server import bind, serving
from farebox.local.postgres import EmbeddedPostgres
from farebox.local.postgres_folder import PostgresNotStarted
from farebox.local.service_process import Service, ServiceOptions, start_service
from farebox.stellar.rpc import TransactionFound

_READY_S: Final = 30.0
_LISTED_LOOKS: Final = 100
_LISTED_LOOK_S: Final = 0.1
QUESTION: Final = "find me a weather forecast for Lisbon"
PRICE: Final = BaseUnits(500_000)  # 0.05 USDC


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the service and the paid API listen; 0 takes a free one."""

    service: int = 0
    api: int = 0


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything the demo has running."""

    folder: Path
    wallet: Wallet
    chains: dict[Network, Chain]
    web: HttpWeb
    service: Service
    facilitator: HttpFacilitator
    api_url: str

    @property
    def wallet_path(self) -> Path:
        """The buyer's key file."""
        return self.folder / "wallet.json"

    async def ended(self) -> None:
        """Return never, unless a part ends by itself.

        Raises:
            LocalFault: one did.
        """
        parts = {"the service": self.service.wait()}
        parts |= {f"the {each.label} devnet": self.chains[each].devnet.wait() for each in Network}
        waiting = {asyncio.ensure_future(work): name for name, work in parts.items()}
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        raise LocalFault(f"The demo ends: {waiting[done.pop()]} ended by itself.")


@asynccontextmanager
async def open_stage(story: Story, ports: Ports) -> AsyncIterator[Stage]:
    """Everything runs inside this context, and nothing after it.

    Must be entered on the main thread, because the database server dies with its thread.

    Raises:
        LocalFault: a part cannot be started; the sentence says what to do.
    """
    bind(ports.service, option="--port").close()
    with bind(ports.api, option="--api-port") as listener:
        binary = await built_devnet(story.step)
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(_folder())
            database = stack.enter_context(_postgres(folder))
            story.step("PostgreSQL runs")
            web = await stack.enter_async_context(HttpWeb())
            wallet = create_wallet(folder / "wallet.json")
            chains = await _open_chains(stack, wallet, web, binary=binary, folder=folder)
            story.step("two devnets run; on each a buyer with 100 USDC, a seller and a relayer")
            service = await _start(stack, database, chains, folder, ports)
            facilitator = await stack.enter_async_context(HttpFacilitator(service.url))
            await _ready(facilitator)
            story.step(f"the facilitator runs: {service.url}; wallets may sign in to it")
            accepts = [
                requirements(each.network, pay_to=each.seller, price=PRICE)
                for each in chains.values()
            ]
            app = example_api(facilitator, accepts, TellingWatcher(story))
            api_url = await stack.enter_async_context(serving(app, listener))
            story.step(f"a paid API runs: {api_url}{PAID_PATH}")
            yield Stage(folder, wallet, chains, web, service, facilitator, api_url)


async def _ready(facilitator: HttpFacilitator) -> None:
    try:
        await facilitator.until_ready(wait_s=_READY_S)
    except FacilitatorAway as away:
        raise LocalFault("The service runs but does not get ready; see its log.") from away


async def pay_once(stage: Stage, story: Story) -> str:
    """The buyer pays the API on testnet; returns the transaction's hash.

    Raises:
        LocalFault: it was not paid, or the balances do not show it.
    """
    chain = stage.chains[Network.TESTNET]
    before = await _balances(stage, story, "before")
    buyer = Buyer(stage.wallet, stage.web, {chain.network: chain.rpc})
    request = WebRequest(stage.api_url + PAID_PATH)
    story.step(f"the buyer asks: GET {request.url}")
    purse = TellingPurse(story, stage.wallet.address)
    outcome = await buyer.pay(request, Wishes((chain.network,), at_most=PRICE), purse)
    if not isinstance(outcome, Paid):
        raise LocalFault(f"The demo's payment did not go through: {outcome!r}")
    story.step(f"the API answers {outcome.answer.status} with the receipt in PAYMENT-RESPONSE")
    story.detail(outcome.answer.body.decode())
    found = await chain.rpc.get_transaction(outcome.receipt.transaction)
    if not isinstance(found, TransactionFound):
        raise LocalFault("The receipt names a transaction that is not on the ledger.")
    story.detail(receipt_line(found))
    after = await _balances(stage, story, "after")
    if (before[0] - after[0], after[1] - before[1]) != (PRICE, PRICE):
        raise LocalFault("The balances do not show the payment.")
    return outcome.receipt.transaction


async def find_listing(stage: Stage, story: Story) -> None:
    """The payment has listed the API, and whoever looks for such a thing finds it.

    Raises:
        LocalFault: the search does not find it.
    """
    paid = stage.api_url + PAID_PATH
    for _ in range(_LISTED_LOOKS):
        found = await stage.facilitator.search(QUESTION)
        if paid in found:
            break
        await asyncio.sleep(_LISTED_LOOK_S)
    else:
        raise LocalFault("The search does not find the API that was paid for.")
    story.step(f"the payment has listed the API; a search for “{QUESTION}” finds it")
    for url in found:
        story.detail(url)


async def _balances(stage: Stage, story: Story, when: str) -> tuple[int, int]:
    chain = stage.chains[Network.TESTNET]
    buyer, seller = await asyncio.gather(
        chain.usdc_of(stage.wallet.address), chain.usdc_of(chain.seller)
    )
    held = {"buyer": (stage.wallet.address, buyer), "seller": (chain.seller, seller)}
    story.balances(when, held)
    return buyer, seller


async def _open_chains(
    stack: AsyncExitStack, wallet: Wallet, web: HttpWeb, *, binary: Path, folder: Path
) -> dict[Network, Chain]:
    opened = [
        stack.enter_async_context(
            open_chain(each, wallet, web, binary=binary, log=folder / f"devnet-{each.label}.log")
        )
        for each in Network
    ]
    return {chain.network: chain for chain in await asyncio.gather(*opened)}


async def _start(
    stack: AsyncExitStack,
    database: Secret[str],
    chains: dict[Network, Chain],
    folder: Path,
    ports: Ports,
) -> Service:
    """The service listens, and what contract accounts sign in by is on the networks."""
    networks, signing = {each: served(chain) for each, chain in chains.items()}, new_signing_key()
    log = folder / "service.log"
    options = ServiceOptions(database, networks, signing, log=log, port=ports.service)

    async def started() -> Service:
        service = await start_service(options)
        stack.push_async_callback(service.stop)
        return service

    service, _ = await asyncio.gather(started(), let_sign_in(chains, signing))
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
    """A folder of this run's own; the database's user may pass through it and read nothing."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="farebox-demo-"))
    except OSError as error:
        raise explain_disk(error, doing="starting the demo") from error
    if os.geteuid() == 0:
        folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
