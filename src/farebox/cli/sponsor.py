"""`farebox sponsor`: stop and start paying on a network, and see what today has cost."""

import os
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import click

from farebox.app.settings import Settings
from farebox.cli.database import database_of, migrate_or_end
from farebox.cli.endings import settings_or_end
from farebox.cli.networks import NetworkName
from farebox.cli.running import run
from farebox.facilitator.budgets import budget_store
from farebox.facilitator.budgets.budget import UNLIMITED, Budgets, Counter, utc_day
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database

T = TypeVar("T")
_SHOWN: Final = 5  # of each scope the largest
_network_option = click.option(
    "--network", type=NetworkName(), required=True, help="testnet or pubnet."
)


@click.group("sponsor")
def command() -> None:
    """Stop and start paying network fees, and see what they have come to.

    Configured like serve. Every process on the database obeys; none needs a restart.
    """


@command.command("stop")
@_network_option
def stop(network: Network) -> None:
    """Send nothing more on a network.

    Once this has ended no further payment is written down; what was sent before is still watched.
    """

    was_paid_for = _work(lambda _, db: _stop(db, network))
    click.echo(f"{network.label} is stopped" + ("" if was_paid_for else " already"))


@command.command("start")
@_network_option
def start(network: Network) -> None:
    """Pay on a network again."""
    was_stopped = _work(lambda _, db: budget_store.start_network(db, network))
    click.echo(f"{network.label} is paid for" + ("" if was_stopped else " already"))


@command.command("status")
@_network_option
def status(network: Network) -> None:
    """Show whether a network is paid for, and what today (UTC) stands at, in stroops.

    A line for each counter: scope, what is reserved and spent, its limit or -, and whose it is;
    of each scope the largest. Exit code 1: the counters do not match the journal.
    """
    lines, drift = _work(lambda settings, db: _status(settings, db, network))
    for line in lines:
        click.echo(line)
    for each in drift:
        click.echo(
            f"sponsor: {each.network} {each.day} {each.scope} {each.name} counts {each.counted}, "
            f"its rows come to {each.summed}",
            err=True,
        )
    if drift:
        raise SystemExit(1)


async def _stop(db: Connection, network: Network) -> bool:
    async with db.transaction():
        await budget_store.lock_networks(db, [network])
        return await budget_store.stop_network(db, network, at=SystemClock().now())


async def _status(
    settings: Settings, db: Connection, network: Network
) -> tuple[list[str], list[budget_store.Drift]]:
    own = settings.networks.get(network)
    budgets = own.budgets if own is not None else UNLIMITED
    stopped = await budget_store.stopped_since(db, network)
    standing = f"stopped since {stopped:%Y-%m-%dT%H:%M:%SZ}" if stopped else "paid for"
    day = utc_day(SystemClock().now())
    counters = await budget_store.largest_counters(db, network, day, each=_SHOWN)
    lines = [f"{network.label} is {standing}", *(_line(each, budgets) for each in counters)]
    return lines, await budget_store.find_drift(db)


def _line(found: tuple[Counter, int], budgets: Budgets) -> str:
    counter, stroops = found
    limit = budgets.limit(counter.scope) or "-"
    return f"{counter.scope:12} {stroops:>15} {limit:>15} {counter.name}".rstrip()


def _work(work: Callable[[Settings, Connection], Awaitable[T]]) -> T:
    settings = settings_or_end(os.environ, needs_network=False)
    with database_of(settings) as url:
        migrate_or_end(url)

        async def opened() -> T:
            async with Database(url, connections=1) as database, database.connection() as db:
                return await work(settings, db)

        return run(opened())
