"""`farebox devnet`: a local Stellar network to try things on."""

import asyncio
import json
import signal
from pathlib import Path

import click

from farebox.cli.endings import MustChange, Unavailable
from farebox.cli.networks import NetworkName
from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet, DevnetOptions, HeaderForm, start_devnet
from farebox.local.faults import LocalFault


@click.command("devnet")
@click.option(
    "--network",
    type=NetworkName(),
    default=Network.TESTNET,
    help="Whose passphrase and USDC issuer it has: testnet (default) or pubnet.",
)
@click.option("--passphrase", metavar="TEXT", help="Any other passphrase instead.")
@click.option("--port", default=8000, show_default=True, help="Of Stellar RPC; 0 takes a free one.")
@click.option("--admin-port", default=0, help="Of the admin calls; 0 (default) takes a free one.")
@click.option(
    "--close-ms",
    metavar="MS|manual",
    default="5000",
    show_default=True,
    help="Milliseconds between two ledgers, or by the admin call only.",
)
@click.option(
    "--header",
    type=click.Choice([form.value for form in HeaderForm]),
    default=HeaderForm.MS.value,
    show_default=True,
    help="How ledger headers state the time: as protocol 30, or as older clients can read.",
)
@click.option(
    "--limits",
    type=click.Choice(["mainnet", "testnet", "slp7", "unlimited"]),
    default="mainnet",
    show_default=True,
    help="Whose limits and fees it starts with.",
)
@click.option("--latency-ms", default=0, help="Milliseconds added to every answer.")
@click.option("--retention-ledgers", type=int, help="Ledgers that are remembered.")
@click.option("--threads", type=int, help="Threads that answer, and that simulate.")
@click.option(
    "--rpc-behaviour",
    type=click.Choice(["25", "27.0", "28", "30"]),
    help="Which release of Stellar RPC it copies (default 30).",
)
@click.option("--ledger-meta-bytes", type=int, help="Least size of a ledger's metadataXdr.")
@click.option("--max-transactions-limit", type=int, help="Largest page of getTransactions.")
@click.option("--no-simulation-events", is_flag=True, help="Leave events out of simulations.")
@click.option(
    "--tls",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Serve RPC over HTTPS; the authority to trust is kept in DIR/authority.pem.",
)
def command(
    *,
    network: Network,
    passphrase: str | None,
    port: int,
    admin_port: int,
    close_ms: str,
    header: str,
    limits: str,
    latency_ms: int,
    retention_ledgers: int | None,
    threads: int | None,
    rpc_behaviour: str | None,
    ledger_meta_bytes: int | None,
    max_transactions_limit: int | None,
    no_simulation_events: bool,
    tls: Path | None,
) -> None:
    """Run a local Stellar network on the real Soroban host until Ctrl-C.

    The first start compiles it (about two minutes); later ones take under a second. Nothing is
    kept when it stops. Standard output is one line of JSON with the addresses.
    """
    options = DevnetOptions(
        passphrase=passphrase or network.passphrase,
        close_ms=_read_close(close_ms),
        header=HeaderForm(header),
        limits=limits,
        latency_ms=latency_ms,
        tls=tls,
        threads=threads,
        port=port,
        admin_port=admin_port,
        rpc_behaviour=rpc_behaviour,
        ledger_meta_bytes=ledger_meta_bytes,
        max_transactions_limit=max_transactions_limit,
        no_simulation_events=no_simulation_events,
        extra=("--retention-ledgers", str(retention_ledgers)) if retention_ledgers else (),
    )
    try:
        code = asyncio.run(_serve(options))
    except LocalFault as fault:
        raise MustChange(str(fault)) from fault
    if code != 0:
        raise Unavailable(f"The devnet ended by itself with exit code {code}.")


def _read_close(text: str) -> int | None:
    if text == "manual":
        return None
    if not text.isascii() or not text.isdigit():
        raise click.BadParameter("give milliseconds, or manual", param_hint="--close-ms")
    return int(text)


async def _serve(options: DevnetOptions) -> int:
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    async with await start_devnet(options, progress=_say) as devnet:
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, told.set)
        _announce(devnet, options)
        ended, stopped = asyncio.create_task(devnet.wait()), asyncio.create_task(told.wait())
        await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        is_told = told.is_set()
        await devnet.stop()
        code = await ended
        return 0 if is_told else code


def _announce(devnet: Devnet, options: DevnetOptions) -> None:
    _say(f"Stellar RPC  {devnet.rpc_url}")
    _say(f"friendbot    curl '{devnet.rpc_url}/friendbot?addr=G…'")
    _say(f"admin        {devnet.admin_url}")
    _say(f"passphrase   {options.passphrase}")
    if devnet.authority is not None:
        _say(f"authority    {devnet.authority}")
    _say("Ctrl-C stops it.")
    authority = str(devnet.authority) if devnet.authority else None
    said = {"event": "listening", "rpc": devnet.rpc_url, "admin": devnet.admin_url}
    click.echo(json.dumps(said | {"passphrase": options.passphrase, "authority": authority}))


def _say(line: str) -> None:
    click.echo(line, err=True)
