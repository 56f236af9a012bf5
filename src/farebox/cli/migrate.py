"""`farebox migrate`: apply pending migrations to the database."""

import os

import click

from farebox.cli.database import apply_migrations, database_of
from farebox.cli.exits import load_settings


@click.command("migrate")
def command() -> None:
    """Apply pending migrations to the database, as serve does at its start.

    The database is FAREBOX_DATABASE_URL, or the embedded one when that is unset. Safe to run on
    several machines at once.
    """
    settings = load_settings(os.environ, needs_network=False)
    with database_of(settings) as url:
        applied = apply_migrations(url)
    for migration in applied:
        click.echo(f"applied {migration.name}")
    if not applied:
        click.echo("the schema is up to date")
