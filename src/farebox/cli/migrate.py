"""`farebox migrate`: bring the database's schema to this version."""

import os

import click

from farebox.cli.database import database_of, migrate_or_end
from farebox.cli.endings import settings_or_end


@click.command("migrate")
def command() -> None:
    """Bring the database's schema to this version (serve does it too).

    Works on FAREBOX_DATABASE_URL, or on the embedded database when that is unset. Safe to run
    from several machines at once.
    """
    settings = settings_or_end(os.environ, needs_network=False)
    with database_of(settings) as url:
        applied = migrate_or_end(url)
    for step in applied:
        click.echo(f"applied {step.name}")
    if not applied:
        click.echo("the schema is up to date")
