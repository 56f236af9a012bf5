"""The service with its built console behind a real port, and a Chromium that visits it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.async_api import Browser
from starlette.types import Receive, Scope, Send

from farebox.app.console import read_console
from farebox.buyer.wallet import wallet_of
from farebox.kernel.networks import Network
from farebox.local.development_wallet import WalletAccount, wallet_script
from support.paid_gateway import PaidGateway, paid_gateway
from support.serving import serving
from support.stage import Stage
from testing.browser import Visitor, chromium_path, open_chromium, visit
from testing.machine import free_port

BUYER: Final = 1  # the place of an account in the wallet
SELLER: Final = 2


class ForeignSite:
    """A foreign site, at two names of this machine: HTML by path."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.requests: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for _ in range(2):
                await send({"type": f"{(await receive())['type']}.complete"})
            return
        self.requests.append(f"{scope['method']} {scope['path']}")
        body = self.pages.get(scope["path"], "").encode()
        headers = [(b"content-type", b"text/html"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True, slots=True)
class ConsoleSite:
    """The running parts."""

    url: str
    gateway: PaidGateway
    browser: Browser
    foreign: ForeignSite
    foreign_port: int
    visitors: list[Visitor] = field(default_factory=list)

    def wallet(self, network: Network = Network.TESTNET) -> str:
        """Write the wallet of the network's buyer and seller."""
        scene = self.gateway.stage.networks[network].scene
        accounts = (
            WalletAccount("Buyer", wallet_of(scene.payers[0].secret)),
            WalletAccount("Seller", wallet_of(scene.payees[0].secret)),
        )
        return wallet_script(accounts, network)

    async def visit(self, **options: Any) -> Visitor:
        """Open a profile of its own, with the wallet."""
        visitor = await visit(self.browser, self.url, scripts=[self.wallet()], **options)
        self.visitors.append(visitor)
        return visitor

    async def signed_in(self, account: int = SELLER) -> Visitor:
        """Open a profile in which a person has signed in with this account of the wallet."""
        visitor = await self.visit()
        visitor.wallet.account = account
        await visitor.open("/")
        await visitor.sign_in()
        return visitor


@asynccontextmanager
async def console_site(stage: Stage, database: str, folder: Path) -> AsyncIterator[ConsoleSite]:
    """Start the service and the browser; the test fails where either is missing."""
    console = read_console(None)
    if not console.files:
        pytest.fail(console.summary)
    if chromium_path() is None:
        pytest.fail("There is no Chromium here: scripts/chromium installs it, as root on Debian.")
    port, foreign = free_port(), ForeignSite()
    url = f"http://127.0.0.1:{port}"
    async with (
        paid_gateway(
            stage, database, folder, FAREBOX_PUBLIC_URL=url, FAREBOX_CATALOG_LOCAL="1"
        ) as gateway,
        serving(gateway.client, port=port),
        serving(foreign) as (_, foreign_port),
        open_chromium() as browser,
    ):
        yield ConsoleSite(url, gateway, browser, foreign, foreign_port)
