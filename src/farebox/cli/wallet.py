"""`farebox wallet`: make a key, give it test coins, see what it holds."""

from pathlib import Path

import click

from farebox.buyer.holdings import Funder, Gift, Holdings, read_holdings
from farebox.buyer.tokens import USDC, format_units, parse_units
from farebox.buyer.wallet import Wallet, create_wallet, default_path, open_wallet, wallet_of
from farebox.buyer.web import HttpWeb
from farebox.cli.endings import MustChange
from farebox.cli.networks import (
    NetworkName,
    Reach,
    check_follows,
    node_options,
    reach_of,
    wallet_option,
)
from farebox.cli.running import run
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.clock import SystemClock
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.local.devnet import ask_scene


@click.group("wallet")
def command() -> None:
    """Keep a key to pay with: make one, fund it, see its balances.

    One key pays on both networks. The file can be read by you alone; the key is never printed.
    """


@command.command("new")
@wallet_option
def new(wallet_path: Path | None) -> None:
    """Make a new random key and print its address.

    An existing file is never overwritten.
    """
    path = wallet_path or default_path()
    try:
        wallet = create_wallet(path)
    except Refusal as error:
        raise MustChange(error.message) from error
    click.echo(wallet.address)
    click.echo(f"The key is in {path}. Whoever has that file has the money: keep it.", err=True)


@command.command("balance")
@click.option("--network", type=NetworkName(), required=True, help="testnet or pubnet.")
@node_options
@wallet_option
def balance(
    network: Network, rpc_url: str | None, rpc_authority: Path | None, wallet_path: Path | None
) -> None:
    """Print what the wallet holds on a network, as of its latest ledger."""
    wallet = _open(wallet_path)
    reach = reach_of(network, rpc_url, rpc_authority)
    _show(wallet, reach, run(_balance(wallet, reach)))


@command.command("fund")
@click.option("--network", type=NetworkName(), required=True, help="testnet or pubnet.")
@node_options
@wallet_option
@click.option("--friendbot", metavar="URL", help="Who gives the coins. Default: the node's own.")
@click.option(
    "--devnet-admin",
    metavar="URL",
    help="The admin address of a local devnet: gives USDC as well.",
)
@click.option(
    "--usdc",
    metavar="AMOUNT",
    default="100",
    show_default=True,
    help="How much USDC a devnet gives.",
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
    """Ready the wallet to pay: test coins from a friendbot and a trustline for USDC.

    On the public test network USDC itself comes from a faucet; this command says which.
    """
    wallet = _open(wallet_path)
    reach = reach_of(network, rpc_url, rpc_authority)
    amount = parse_units(usdc)
    if not amount:
        raise click.BadParameter("give an amount such as 100 or 0.5", param_hint="--usdc")
    coins = friendbot or reach.friendbot_url
    held = run(_fund(wallet, reach, coins, devnet_admin, amount))
    _show(wallet, reach, held)
    if not held.usdc:
        click.echo(_where_usdc_comes_from(network, wallet), err=True)


async def _balance(wallet: Wallet, reach: Reach) -> Holdings:
    async with reach.open() as rpc:
        await check_follows(rpc, reach)
        return await read_holdings(rpc, reach.network, wallet.address)


async def _fund(
    wallet: Wallet, reach: Reach, friendbot: str | None, admin: str | None, amount: BaseUnits
) -> Holdings:
    async with reach.open() as rpc, HttpWeb() as web:
        await check_follows(rpc, reach)
        funder = Funder(rpc, web, SystemClock(), reach.network)
        if friendbot is not None:
            await funder.ask_friendbot(wallet.address, friendbot)
        gift = None
        if admin is not None:
            scene = await ask_scene(admin, payers=1, payees=0, payer_units=amount)
            gift = Gift(wallet_of(scene.payers[0].secret), amount)
        await funder.trust_usdc(wallet, gift)
        return await read_holdings(rpc, reach.network, wallet.address)


def _open(path: Path | None) -> Wallet:
    try:
        return open_wallet(path or default_path())
    except Refusal as error:
        raise MustChange(error.message) from error


def _show(wallet: Wallet, reach: Reach, held: Holdings) -> None:
    click.echo(f"{wallet.address} on {reach.network.label}")
    native = "no account yet" if held.native is None else f"{format_units(held.native)} XLM"
    click.echo(f"  {native}")
    usdc = "no USDC trustline" if held.usdc is None else USDC[reach.network].show(held.usdc)
    click.echo(f"  {usdc}")


def _where_usdc_comes_from(network: Network, wallet: Wallet) -> str:
    if network is Network.TESTNET:
        return f"Test USDC: https://faucet.circle.com gives it to {wallet.address} (Stellar)."
    return f"Send USDC to {wallet.address} to be able to pay."
