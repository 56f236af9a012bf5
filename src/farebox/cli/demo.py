"""`farebox demo`: run a payment from start to end on this machine."""

import asyncio
import json
import shlex
import signal
import sys
import time
from pathlib import Path
from urllib.parse import quote_plus

import click

from farebox.cli.exits import PORT, Unavailable, UserActionRequired
from farebox.kernel.errors import Outage, Refusal
from farebox.local.demo import QUESTION, DemoSetup, Ports, find_listing, pay_once, start_demo
from farebox.local.demo_gateway import SLUG, sell_through_gateway
from farebox.local.demo_log import DemoLog
from farebox.local.demo_plan import PLANS, run_plan
from farebox.local.example_api import PAID_PATH
from farebox.local.faults import LocalFault


@click.command("demo")
@click.option("--once", is_flag=True, help="Stop after the plan has run.")
@click.option(
    "--port", type=PORT, default=0, help="The facilitator's port; 0 (default) takes a free one."
)
@click.option(
    "--api-port",
    type=PORT,
    default=0,
    help="The port of the paid API; 0 (default) takes a free one.",
)
@click.option("--started-at", type=float, hidden=True)
def command(*, once: bool, port: int, api_port: int, started_at: float | None) -> None:
    """Run everything on this machine, make one payment and run one plan.

    Starts PostgreSQL, two local Stellar networks, the facilitator and a small paid API; creates
    and funds a buyer and a seller; pays once. Then it puts an existing API behind the gateway,
    buys from it, and has a failed call delivered later; and it makes a plan, which runs a
    contract. At the end it prints commands to try and runs until Ctrl-C. No data is kept. Standard
    output is one line of JSON with the figures.
    """
    demo_log = DemoLog(_print, started_at=started_at if started_at is not None else time.time())
    try:
        transaction = asyncio.run(_demo(demo_log, Ports(port, api_port), is_once=once))
    except LocalFault as fault:
        raise UserActionRequired(str(fault)) from fault
    except (Outage, Refusal) as error:
        raise Unavailable(error.message) from error
    if transaction is None:
        raise Unavailable("Stopped before the payment was made.")
    if once:
        _print_figures(transaction, demo_log)


async def _demo(demo_log: DemoLog, ports: Ports, *, is_once: bool) -> str | None:
    """Return the transaction's hash; None when a signal stopped the demo before."""
    _cancel_on_signals()
    transaction = None
    try:
        async with start_demo(demo_log, ports) as setup:
            transaction = await pay_once(setup, demo_log)
            await find_listing(setup, demo_log)
            await sell_through_gateway(setup.gateway, demo_log)
            await run_plan(setup.plan, demo_log)
            if not is_once:
                _print_suggestions(setup)
                _print_figures(transaction, demo_log)
                await setup.wait()
    except asyncio.CancelledError:
        demo_log.step("stopped")
    return transaction


def _cancel_on_signals() -> None:
    """Cancel this task at the first signal; later ones do not interrupt the clean-up."""
    task, signalled = asyncio.current_task(), asyncio.Event()

    def stop() -> None:
        if task is not None and not signalled.is_set():
            signalled.set()
            task.cancel()

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(each, stop)


def _print_figures(transaction: str, demo_log: DemoLog) -> None:
    figures = {"paid": True, "transaction": transaction, "seconds": demo_log.seconds()}
    click.echo(json.dumps(figures))


def _print_suggestions(setup: DemoSetup) -> None:
    farebox, wallet = _program_name(), shlex.quote(str(setup.wallet_path))
    paid = setup.api_url + PAID_PATH
    lines = [
        "",
        "Everything keeps running. Try, in another terminal:",
        f"  curl -i {paid}",
        f"  curl -s {setup.service.url}/supported",
        f"  curl -s {setup.service.url}/health/ready",
        f"  curl -i {setup.service.url}/gateway/{SLUG}",
        f"  curl -s {setup.service.url}/.well-known/stellar.toml",
        f"  curl -s '{setup.service.url}/discovery/search?query={quote_plus(QUESTION)}'",
        f"  curl -s -H @{shlex.quote(str(setup.plan.header))} {setup.service.url}{PLANS}",
    ]
    for network, each in setup.networks.items():
        options = f"--network {network.label} --rpc-url {each.devnet.rpc_url} --wallet {wallet}"
        lines.append(f"  {farebox} pay {paid} {options}")
        lines.append(f"  {farebox} wallet balance {options}")
    keeper = f"The keeper contract for plans of your own: {setup.plan.automation.keeper}"
    lines += ["", *_describe_console(setup), keeper, "", "Ctrl-C stops everything."]
    for line in lines:
        _print(line)


def _describe_console(setup: DemoSetup) -> list[str]:
    if not setup.has_console:
        return ["There is no console here: install Node.js 20 or newer, and run this again."]
    return [
        f"The console: {setup.service.url}/",
        "  Sign in with Freighter, whose place a development wallet takes here. Its buyer can buy",
        "  the forecast under Discover; its seller sees what was sold under Sell and Payments.",
    ]


def _program_name() -> str:
    """The path by which this command was run, so that printed commands work."""
    path = Path(sys.argv[0])
    return shlex.quote(str(path)) if path.name == "farebox" else "farebox"


def _print(line: str) -> None:
    click.echo(line, err=True)
