"""E2E=pages: the snippets of `sell.md`, `buy.md`, `gateway.md`, `wallets.md` and `automation.md`.

They are run in this order. A stage of two devnets with the service replaces the public test
network, so that the same commands run locally; the ledger shows at the end what was paid.
"""

import contextlib
from pathlib import Path
from typing import Final

from e2e.page_automation import PageAutomation
from e2e.page_runner import PageRunner
from e2e.snippets import read_snippets
from farebox.kernel.networks import Network
from farebox.local.certificates import Authority
from farebox.local.devnet import HeaderForm
from farebox.local.gateway_settings import gateway_settings, operator_setting
from farebox.local.postgres import EmbeddedPostgres
from farebox.local.wrapped_api import NAME, WrappedApi
from farebox.stellar.known_tokens import USDC
from testing.machine import ROOT, free_port, scratch_folder, subfolder
from testing.report import run_and_report, timed
from testing.stage import HORIZON_PRELOAD, Market, Stage, open_stage

_NAMES: Final = ("sell.md", "buy.md", "gateway.md", "wallets.md", "automation.md")
PAGES: Final = tuple(ROOT / "docs" / name for name in _NAMES)
PRICE_UNITS: Final = 100_000
PURCHASES: Final = 3  # one by `farebox pay`, one by fetch, one by a signed hash
GATEWAY_UNITS: Final = 10_000  # one purchase through the gateway
_OPERATOR_KEY: Final = "operator-key-of-the-pages-run"


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the pages; return whether all snippets ran and both purchases were paid, and figures."""
    del quick  # the pages are short enough
    settings = {
        "FAREBOX_CATALOG_LOCAL": "1",
        "FAREBOX_FACILITATOR_AUTH_TESTNET": "required",
        **operator_setting(_OPERATOR_KEY),
    }
    api, automation = WrappedApi(), PageAutomation()
    with scratch_folder("farebox-pages-") as scratch:
        authority = Authority(scratch)
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(api.serving(authority.server(NAME)))
            database = stack.enter_context(
                EmbeddedPostgres(subfolder(scratch, "postgres"), is_throwaway=True)
            )
            settings |= gateway_settings(authority, NAME, api.port) | automation.settings()
            settings["FAREBOX_DATABASE_URL"] = database.url.reveal()  # commands use it too
            stage = await stack.enter_async_context(
                open_stage(
                    HeaderForm.SECONDS,
                    subfolder(scratch, "stage"),
                    settings=settings,
                    with_seller=False,
                )
            )
            market = next(m for m in stage.markets if m.network is Network.TESTNET)
            keeper = await automation.prepare(market, settings, stage.service_url)
            runner = _runner(stage, market, api, keeper, subfolder(scratch, "pages"))
            async with contextlib.aclosing(runner):
                for page in PAGES:
                    await runner.run(page.name, read_snippets(page.read_text()))
            received = await _read_received(market, runner.folder)
    figures: dict[str, object] = {
        "snippets": runner.count,
        "snippets_failed": runner.failed,
        "seller_received": received,
    }
    expected = PURCHASES * PRICE_UNITS + GATEWAY_UNITS
    return not runner.failed and received == expected, figures


def _runner(stage: Stage, market: Market, api: WrappedApi, keeper: str, folder: Path) -> PageRunner:
    port, port_of_python = free_port(), free_port()
    devnet = market.served.devnet
    given = {
        "FACILITATOR_URL": stage.service_url,
        "FACILITATOR_KEY": _OPERATOR_KEY,
        "NETWORK": market.network.value,
        "FAREBOX_URL": stage.service_url,
        "FAREBOX_KEY": _OPERATOR_KEY,
        "UPSTREAM_URL": f"https://{NAME}/forecast",
        "UPSTREAM_TOKEN": api.token.reveal(),
        "ASSET": USDC[Network.TESTNET].contract,
        "KEEPER": keeper,
        "RESOURCE_URL": f"http://127.0.0.1:{port}/forecast?city=Lisbon",
    }
    surroundings = {
        **stage.node_env,
        "FAREBOX_RPC_URL_TESTNET": devnet.rpc_url,
        "FAREBOX_RPC_AUTHORITY_TESTNET": str(devnet.authority),
        "SSL_CERT_FILE": stage.node_env["NODE_EXTRA_CA_CERTS"],
        "STELLAR_RPC_URL": devnet.rpc_url,
        "NODE_OPTIONS": f"--require {HORIZON_PRELOAD}",
        "PORT": str(port),
    }
    fund = "farebox wallet fund --network testnet --wallet buyer.json"
    return PageRunner(
        folder,
        given=given,
        surroundings=surroundings,
        by_hand={"usdc": f"{fund} --devnet-admin {devnet.admin_url}"},
        replaced={
            "127.0.0.1:4021": f"127.0.0.1:{port}",
            "127.0.0.1:4022": f"127.0.0.1:{port_of_python}",
            "PORT=4022": f"PORT={port_of_python}",
        },
    )


async def _read_received(market: Market, folder: Path) -> int:
    """Read the USDC balance of the pages' seller, base units; 0 without a seller."""
    address = folder / "seller.address"
    if not address.exists():
        return 0
    code, issuer = market.scene.code, market.scene.issuer
    return await market.ledger.balance(address.read_text().strip(), code=code, issuer=issuer)


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
