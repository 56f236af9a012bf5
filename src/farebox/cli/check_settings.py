"""`farebox check-settings`: validate the configuration without starting anything."""

import os

import click

from farebox.app.catalog_services import absence_of_meaning
from farebox.app.console import read_console
from farebox.app.settings import Settings
from farebox.cli.capacity import describe_connections, max_callers, processes_that_fit
from farebox.cli.exits import load_settings
from farebox.facilitator.budgets.limit_sentences import describe_limits
from farebox.storage.faults import DatabaseUnavailable


@click.command("check-settings")
def command() -> None:
    """Validate the configuration and report every fault.

    Reads the FAREBOX_* variables and the TOML file that FAREBOX_CONFIG names, and the number of
    connections of a configured database. Shows no value. Exit code 0 when the configuration is
    valid, 2 when not.
    """
    settings = load_settings(os.environ)
    connections = _connections(settings)
    click.echo("The settings are valid.")
    for line in [*_summary(settings), _callers(settings), connections]:
        click.echo(f"  {line}")


def _callers(settings: Settings) -> str:
    most, wanted = max_callers(settings), settings.ingress.connections
    fewer = f" of {wanted} configured: raise the limit of open files" if most < wanted else ""
    return f"callers' connections: {most} at most{fewer}"


def _connections(settings: Settings) -> str:
    sizes = settings.connections
    unknown = f"database connections: {sizes.total} at most"
    if settings.database_url is None:
        return unknown
    try:
        return describe_connections(sizes, processes_that_fit(settings.database_url, sizes))
    except DatabaseUnavailable:
        return f"{unknown}; the database does not answer, so its limit is unknown"


def _summary(settings: Settings) -> list[str]:
    database = "FAREBOX_DATABASE_URL" if settings.database_url else "embedded"
    absence = absence_of_meaning(settings)
    search = f"words alone: {absence}" if absence else "words and meaning"
    lines = [f"listen on {settings.host}, port {settings.port}", f"database: {database}"]
    lines.append(f"search by {search}")
    lines.append(read_console(settings.console_dir).summary)
    keys = settings.master_keys
    secrets = f"sealed with master key {keys.sealing}" if keys else "none, without a master key"
    lines.append(f"sellers' secrets: {secrets}")
    for network in settings.networks.values():
        paymaster = "with" if network.paymaster_secret else "without"
        lines.append(f"{network.network.value}: {paymaster} a paymaster")
        lines += describe_limits(network.network, network.budgets)
    return lines
