"""`farebox sponsor`: the kill switch of a network, and the state of its sponsor budgets."""

import os
from datetime import timedelta
from typing import Final

import click

from farebox.app.settings import NetworkSettings, Settings
from farebox.audit.event import Action
from farebox.automation.paymaster import budget_store as automation_budgets
from farebox.automation.paymaster.budget_store import SpendScope
from farebox.cli.database import has_database, run_with_database
from farebox.cli.exits import UserActionRequired, load_settings
from farebox.cli.networks import NetworkName
from farebox.cli.operator_commands import write_command
from farebox.facilitator.budgets import budget_store
from farebox.facilitator.budgets.budget import UNLIMITED, Budgets, Counter, oldest_day, utc_day
from farebox.facilitator.budgets.limit_sentences import describe_limits
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database

_COUNTERS: Final = 5  # shown of each scope, the largest
_AUTOMATION: Final = "automation"
_purpose_option = click.option(
    "--for",
    "purpose",
    type=click.Choice(["settlement", _AUTOMATION]),
    default="settlement",
    show_default=True,
    help="settlement: payments, by the relayer; automation: runs of plans, by the paymaster.",
)
_network_option = click.option(
    "--network", type=NetworkName(), required=True, help="testnet or pubnet."
)


@click.group("sponsor")
def command() -> None:
    """Stop and start paying network fees, and show what was spent.

    Configured like serve. Takes effect in every process on the database, without a restart.
    """


@command.command("stop")
@_network_option
@_purpose_option
def stop(network: Network, purpose: str) -> None:
    """Send nothing more on a network.

    When this returns, no further payment (or, for automation, no further run) is recorded; those
    already sent are still observed.
    """
    is_automation = purpose == _AUTOMATION
    change = _stop_automation if is_automation else _stop
    has_changed = run_with_database(lambda _, database: change(database, network))
    what = f"automation on {network.label}" if is_automation else network.label
    click.echo(f"{what} is stopped" + ("" if has_changed else " already"))


@command.command("start")
@_network_option
@_purpose_option
def start(network: Network, purpose: str) -> None:
    """Pay on a network again."""
    is_automation = purpose == _AUTOMATION
    change = _start_automation if is_automation else _start
    has_changed = run_with_database(lambda _, database: change(database, network))
    what = f"automation on {network.label}" if is_automation else network.label
    click.echo(f"{what} is paid for" + ("" if has_changed else " already"))


@command.command("status")
@_network_option
def status(network: Network) -> None:
    """Show whether a network is paid for, and today's budget counters (UTC), in stroops.

    A line for each of the largest counters of a scope: scope, reserved and spent amount, limit or
    -, and name. A sentence for each limit: how many payments it covers. Exit code 1: the counters
    do not match the journal.
    """
    settings = load_settings(os.environ, needs_network=False)
    if not has_database(settings):
        raise UserActionRequired(
            f"There is no database in {settings.data_dir}: set FAREBOX_DATABASE_URL or "
            "FAREBOX_DATA_DIR as for serve."
        )
    lines, drift = run_with_database(
        lambda settings, database: _status(settings, database, network), is_read_only=True
    )
    for line in lines:
        click.echo(line)
    for each in drift:
        click.echo(
            f"sponsor: {each.network} {each.day} {each.scope} {each.name} has {each.counted}, "
            f"the journal has {each.summed}",
            err=True,
        )
    if drift:
        raise SystemExit(1)


async def _stop(database: Database, network: Network) -> bool:
    async with database.transaction() as db:
        await budget_store.lock_networks(db, [network])
        await write_command(db, Action.NETWORK_STOPPED, network.value)
        return await budget_store.stop_network(db, network, at=SystemClock().now())


async def _start(database: Database, network: Network) -> bool:
    async with database.transaction() as db:
        await write_command(db, Action.NETWORK_STARTED, network.value)
        return await budget_store.start_network(db, network)


async def _stop_automation(database: Database, network: Network) -> bool:
    async with database.transaction() as db:
        await write_command(db, Action.NETWORK_STOPPED, f"{network.value} {_AUTOMATION}")
        return await automation_budgets.stop_network(db, network, at=SystemClock().now())


async def _start_automation(database: Database, network: Network) -> bool:
    async with database.transaction() as db:
        await write_command(db, Action.NETWORK_STARTED, f"{network.value} {_AUTOMATION}")
        return await automation_budgets.start_network(db, network)


async def _automation_status(
    own: NetworkSettings | None, db: Connection, network: Network
) -> list[str]:
    """The state of automation and its largest counters of today; nothing without a paymaster."""
    stopped_at = await automation_budgets.read_stop_time(db, network)
    day = utc_day(SystemClock().now())
    counters = await automation_budgets.read_largest(db, network, day, each=_COUNTERS)
    has_paymaster = own is not None and own.paymaster_secret is not None
    if not (has_paymaster or stopped_at or counters):
        return []
    limits = {} if own is None else _limits(own)
    state = f"stopped since {stopped_at:%Y-%m-%dT%H:%M:%SZ}" if stopped_at else "paid for"
    return [
        f"automation on {network.label} is {state}",
        *(
            f"{scope:12} {stroops:>15} {limits.get(scope) or '-':>15} {name}".rstrip()
            for scope, name, stroops in counters
        ),
    ]


def _limits(own: NetworkSettings) -> dict[SpendScope, int]:
    return {
        SpendScope.TOTAL: own.automation_budget_total,
        SpendScope.OWNER: own.automation_budget_owner,
    }


async def _status(
    settings: Settings, database: Database, network: Network
) -> tuple[list[str], list[budget_store.CounterDrift]]:
    own = settings.networks.get(network)
    budgets = own.budgets if own is not None else UNLIMITED
    day = utc_day(SystemClock().now())
    async with database.connection() as db:
        fee = await budget_store.read_mean_fee(db, network)
        stopped_at = await budget_store.read_stop_time(db, network)
        counters = await budget_store.read_largest_counters(db, network, day, each=_COUNTERS)
        automation = await _automation_status(own, db, network)
        drift = await budget_store.find_drift(db, since=oldest_day(day) + timedelta(days=1))
    state = f"stopped since {stopped_at:%Y-%m-%dT%H:%M:%SZ}" if stopped_at else "paid for"
    limits = describe_limits(network, budgets, fee) if own is not None else []
    lines = [f"{network.label} is {state}", *(_line(each, budgets) for each in counters)]
    return lines + limits + automation, drift


def _line(total: tuple[Counter, int], budgets: Budgets) -> str:
    counter, stroops = total
    limit = budgets.limit(counter.scope) or "-"
    return f"{counter.scope:12} {stroops:>15} {limit:>15} {counter.name}".rstrip()
