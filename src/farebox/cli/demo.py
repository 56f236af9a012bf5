"""`farebox demo`: watch one paid call from start to end, then try it yourself."""

import asyncio
import json
import shlex
import signal
import sys
import time
from pathlib import Path
from urllib.parse import quote_plus

import click

from farebox.cli.endings import MustChange, Unavailable
from farebox.kernel.errors import Outage, Refusal
from farebox.local.demo import QUESTION, Ports, Stage, find_listing, open_stage, pay_once
from farebox.local.demo_story import Story
from farebox.local.example_api import PAID_PATH
from farebox.local.faults import LocalFault


@click.command("demo")
@click.option("--once", is_flag=True, help="Stop after the payment.")
@click.option("--port", default=0, help="Of the facilitator; 0 (default) takes a free one.")
@click.option("--api-port", default=0, help="Of the paid API; 0 (default) takes a free one.")
@click.option("--started-at", type=float, hidden=True)
def command(*, once: bool, port: int, api_port: int, started_at: float | None) -> None:
    """Run everything on this machine and make one payment before your eyes.

    Starts PostgreSQL, two local Stellar networks, the facilitator and a small paid API; makes and
    funds a buyer and a seller; pays once. Then keeps running until Ctrl-C and says what to try.
    Nothing is kept. Standard output is one line of JSON with the figures.
    """
    story = Story(_say, started_at=started_at if started_at is not None else time.time())
    try:
        transaction = asyncio.run(_demo(story, Ports(port, api_port), is_once=once))
    except LocalFault as fault:
        raise MustChange(str(fault)) from fault
    except (Outage, Refusal) as error:
        raise Unavailable(error.message) from error
    if transaction is None:
        raise Unavailable("Stopped before the payment was made.")
    if once:
        _print_figures(transaction, story)


async def _demo(story: Story, ports: Ports, *, is_once: bool) -> str | None:
    """The transaction's hash; None when it was told to stop before there was one."""
    _cancel_on_signals()
    transaction = None
    try:
        async with open_stage(story, ports) as stage:
            transaction = await pay_once(stage, story)
            await find_listing(stage, story)
            if not is_once:
                _say_what_to_try(stage)
                _print_figures(transaction, story)
                await stage.ended()
    except asyncio.CancelledError:
        story.step("stopped")
    return transaction


def _cancel_on_signals() -> None:
    """The first signal to stop cancels this task; a second one does not disturb the tidying up."""
    task, told = asyncio.current_task(), asyncio.Event()

    def stop() -> None:
        if task is not None and not told.is_set():
            told.set()
            task.cancel()

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(each, stop)


def _print_figures(transaction: str, story: Story) -> None:
    figures = {"paid": True, "transaction": transaction, "seconds": story.seconds()}
    click.echo(json.dumps(figures))


def _say_what_to_try(stage: Stage) -> None:
    farebox, wallet = _own_name(), shlex.quote(str(stage.wallet_path))
    paid = stage.api_url + PAID_PATH
    lines = [
        "",
        "Everything keeps running. Try, in another terminal:",
        f"  curl -i {paid}",
        f"  curl -s {stage.service.url}/supported",
        f"  curl -s {stage.service.url}/health/ready",
        f"  curl -s {stage.service.url}/.well-known/stellar.toml",
        f"  curl -s '{stage.service.url}/discovery/search?query={quote_plus(QUESTION)}'",
    ]
    for network, chain in stage.chains.items():
        reach = f"--network {network.label} --rpc-url {chain.devnet.rpc_url} --wallet {wallet}"
        lines.append(f"  {farebox} pay {paid} {reach}")
        lines.append(f"  {farebox} wallet balance {reach}")
    lines += ["", "Ctrl-C stops everything."]
    for line in lines:
        _say(line)


def _own_name() -> str:
    """How this command was called, so that a printed line works as it stands."""
    called = Path(sys.argv[0])
    return shlex.quote(str(called)) if called.name == "farebox" else "farebox"


def _say(line: str) -> None:
    click.echo(line, err=True)
