"""`farebox check-settings`: judge the configuration without starting anything."""

import os

import click

from farebox.app.catalog_services import absence_of_meaning
from farebox.app.settings import Settings
from farebox.cli.endings import settings_or_end


@click.command("check-settings")
def command() -> None:
    """Say whether this configuration can be served, and what is wrong with it.

    Reads the FAREBOX_* variables and the TOML file that FAREBOX_CONFIG names. Names every fault
    at once and shows no value. Exit code 0 when it can be served, 2 when not.
    """
    settings = settings_or_end(os.environ)
    click.echo("The settings can be served.")
    for line in _summary(settings):
        click.echo(f"  {line}")


def _summary(settings: Settings) -> list[str]:
    database = "the one FAREBOX_DATABASE_URL names" if settings.database_url else "embedded"
    absence = absence_of_meaning(settings)
    search = f"words alone: {absence}" if absence else "words and meaning"
    lines = [f"listen on {settings.host}, port {settings.port}", f"database: {database}"]
    lines.append(f"search by {search}")
    keys = settings.master_keys
    kept = f"sealed with master key {keys.sealing}" if keys else "none, without a master key"
    lines.append(f"sellers' secrets: {kept}")
    for network in settings.networks.values():
        paymaster = "with" if network.paymaster_secret else "without"
        lines.append(f"{network.network.value}: {paymaster} a paymaster")
    return lines
