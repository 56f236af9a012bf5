"""`farebox wallet`: create a key, fund it, show its balances."""

from pathlib import Path

import click

from farebox.buyer.holdings import Holdings, UsdcFunding, WalletFunder, read_holdings
from farebox.buyer.seller_client import HttpSellerClient
from farebox.buyer.wallet import Wallet, create_wallet, default_path, open_wallet, wallet_of
from farebox.cli.exits import UserActionRequired, run
from farebox.cli.networks import (
    NetworkName,
    NodeEndpoint,
    check_passphrase,
    node_endpoint,
    node_options,
    wallet_option,
)
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.clock import SystemClock
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.local.devnet import ask_scene
from farebox.stellar.known_tokens import USDC, format_units, parse_units


@click.group("wallet")
def command() -> None:
    """Create a key to pay with, fund it, show its balances.

    One key pays on both networks. Only you can read the file; the key is never printed.
    """


@command.command("new")
@wallet_option
def new(wallet_path: Path | None) -> None:
    """Create a random key and print its address.

    An existing file is never overwritten.
    """
    path = wallet_path or default_path()
    try:
        wallet = create_wallet(path)
    except Refusal as error:
        raise UserActionRequired(error.message) from error
    click.echo(wallet.address)
    click.echo(
        f"The key is in {path}. Anyone with that file can spend the money: keep it safe.", err=True
    )


@command.command("balance")
@click.option("--network", type=NetworkName(), required=True, help="testnet or pubnet.")
@node_options
@wallet_option
def balance(
    network: Network, rpc_url: str | None, rpc_authority: Path | None, wallet_path: Path | None
) -> None:
    """Print the wallet's balances on a network, in its latest ledger."""
    wallet = _open(wallet_path)
    node = node_endpoint(network, rpc_url, rpc_authority)
    _show(wallet, node, run(_balance(wallet, node)))


@command.command("fund")
@click.option("--network", type=NetworkName(), required=True, help="testnet or pubnet.")
@node_options
@wallet_option
@click.option("--friendbot", metavar="URL", help="The friendbot. Default: the node's own.")
@click.option(
    "--devnet-admin",
    metavar="URL",
    help="The admin URL of a local devnet, which funds USDC too.",
)
@click.option(
    "--usdc",
    metavar="AMOUNT",
    default="100",
    show_default=True,
    help="The amount of USDC from a devnet.",
)
def fund(
    network: Network,
    rpc_url: str | None,
    rpc_authority: Path | None,
    wallet_path: Path | None,
    friendbot: str | None,
    devnet_admin: str | None,
    usdc: str,
) -> None:
    """Fund the wallet with test coins from a friendbot, and add a trustline for USDC.

    On the public testnet USDC comes from a faucet, whose address is printed.
    """
    wallet = _open(wallet_path)
    node = node_endpoint(network, rpc_url, rpc_authority)
    amount = parse_units(usdc)
    if not amount:
        raise click.BadParameter("give an amount such as 100 or 0.5", param_hint="--usdc")
    friendbot_url = friendbot or node.friendbot_url
    holdings = run(_fund(wallet, node, friendbot_url, devnet_admin, amount))
    _show(wallet, node, holdings)
    if not holdings.usdc:
        click.echo(_usdc_advice(network, wallet), err=True)


async def _balance(wallet: Wallet, node: NodeEndpoint) -> Holdings:
    async with node.open() as rpc:
        await check_passphrase(rpc, node)
        return await read_holdings(rpc, node.network, wallet.address)


async def _fund(
    wallet: Wallet, node: NodeEndpoint, friendbot: str | None, admin: str | None, amount: BaseUnits
) -> Holdings:
    async with node.open() as rpc, HttpSellerClient() as client:
        await check_passphrase(rpc, node)
        funder = WalletFunder(rpc, client, SystemClock(), node.network)
        if friendbot is not None:
            await funder.fund_from_friendbot(wallet.address, friendbot)
        funding = None
        if admin is not None:
            scene = await ask_scene(admin, payers=1, payees=0, payer_units=amount)
            funding = UsdcFunding(wallet_of(scene.payers[0].secret), amount)
        await funder.ensure_usdc_trustline(wallet, funding)
        return await read_holdings(rpc, node.network, wallet.address)


def _open(path: Path | None) -> Wallet:
    try:
        return open_wallet(path or default_path())
    except Refusal as error:
        raise UserActionRequired(error.message) from error


def _show(wallet: Wallet, node: NodeEndpoint, holdings: Holdings) -> None:
    click.echo(f"{wallet.address} on {node.network.label}")
    native = "no account yet" if holdings.native is None else f"{format_units(holdings.native)} XLM"
    click.echo(f"  {native}")
    usdc = "no USDC trustline" if holdings.usdc is None else USDC[node.network].show(holdings.usdc)
    click.echo(f"  {usdc}")


def _usdc_advice(network: Network, wallet: Wallet) -> str:
    if network is Network.TESTNET:
        return f"Test USDC: request it for {wallet.address} (Stellar) at https://faucet.circle.com."
    return f"Send USDC to {wallet.address} to be able to pay."
