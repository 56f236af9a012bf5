"""`farebox devnet`: run a local Stellar network."""

import asyncio
import json
import signal
from pathlib import Path

import click

from farebox.cli.exits import PORT, Unavailable, UserActionRequired
from farebox.cli.networks import NetworkName
from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet, DevnetOptions, HeaderForm, start_devnet
from farebox.local.faults import LocalFault


@click.command("devnet")
@click.option(
    "--network",
    type=NetworkName(),
    default=Network.TESTNET,
    help="The network whose passphrase and USDC issuer it uses: testnet (default) or pubnet.",
)
@click.option("--passphrase", metavar="TEXT", help="Another passphrase.")
@click.option(
    "--port",
    type=PORT,
    default=8000,
    show_default=True,
    help="The port of Stellar RPC; 0 takes a free one.",
)
@click.option(
    "--admin-port",
    type=PORT,
    default=0,
    help="The port of the admin API; 0 (default) takes a free one.",
)
@click.option(
    "--close-ms",
    metavar="MS|manual",
    default="5000",
    show_default=True,
    help="Milliseconds between ledgers; manual: only the admin API closes them.",
)
@click.option(
    "--header",
    type=click.Choice([form.value for form in HeaderForm]),
    default=HeaderForm.MS.value,
    show_default=True,
    help="The close time in ledger headers: in milliseconds (protocol 30) or in seconds.",
)
@click.option(
    "--limits",
    type=click.Choice(["mainnet", "testnet", "slp7", "unlimited"]),
    default="mainnet",
    show_default=True,
    help="The network limits and fees at the start.",
)
@click.option("--latency-ms", default=0, help="Milliseconds added to every response.")
@click.option("--retention-ledgers", type=int, help="Ledgers that are retained.")
@click.option("--threads", type=int, help="Threads for requests, and for simulations.")
@click.option(
    "--rpc-behaviour",
    type=click.Choice(["25", "27.0", "28", "30"]),
    help="The release of Stellar RPC to imitate (default 30).",
)
@click.option("--ledger-meta-bytes", type=int, help="The minimum size of a ledger's metadataXdr.")
@click.option(
    "--max-transactions-limit", type=int, help="The maximum page size of getTransactions."
)
@click.option("--no-simulation-events", is_flag=True, help="Leave events out of simulations.")
@click.option(
    "--tls",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Serve RPC over HTTPS; its certificate authority is in DIR/authority.pem.",
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

    The first start compiles it (about two minutes); later ones take under a second. Its state is
    lost when it stops. Standard output is one line of JSON with the addresses.
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
    _run(options)


def _run(options: DevnetOptions) -> None:
    try:
        code = asyncio.run(_serve(options))
    except LocalFault as fault:
        raise UserActionRequired(str(fault)) from fault
    if code != 0:
        raise Unavailable(f"The devnet ended by itself with exit code {code}.")


def _read_close(text: str) -> int | None:
    if text == "manual":
        return None
    if not text.isascii() or not text.isdigit():
        raise click.BadParameter("give milliseconds, or manual", param_hint="--close-ms")
    return int(text)


async def _serve(options: DevnetOptions) -> int:
    loop, signalled = asyncio.get_running_loop(), asyncio.Event()
    async with await start_devnet(options, progress=_print) as devnet:
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, signalled.set)
        _announce(devnet, options)
        ended, stopped = asyncio.create_task(devnet.wait()), asyncio.create_task(signalled.wait())
        await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        is_signalled = signalled.is_set()
        await devnet.stop()
        code = await ended
        return 0 if is_signalled else code


def _announce(devnet: Devnet, options: DevnetOptions) -> None:
    _print(f"Stellar RPC  {devnet.rpc_url}")
    _print(f"friendbot    curl '{devnet.rpc_url}/friendbot?addr=G…'")
    _print(f"admin        {devnet.admin_url}")
    _print(f"passphrase   {options.passphrase}")
    if devnet.authority is not None:
        _print(f"authority    {devnet.authority}")
    _print("Ctrl-C stops it.")
    authority = str(devnet.authority) if devnet.authority else None
    announcement = {"event": "listening", "rpc": devnet.rpc_url, "admin": devnet.admin_url}
    click.echo(
        json.dumps(announcement | {"passphrase": options.passphrase, "authority": authority})
    )


def _print(line: str) -> None:
    click.echo(line, err=True)
