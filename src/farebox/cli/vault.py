"""`farebox vault`: generate master keys, rekey secrets, show which key seals how many."""

import os
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import click
import orjson

from farebox.app.settings import Settings
from farebox.audit.event import Action
from farebox.automation.sealed_columns import SEALED_DOMAINS
from farebox.cli.database import run_with_database
from farebox.cli.exits import CommandFailed, UserActionRequired, load_settings, sentence
from farebox.cli.operator_commands import write_command
from farebox.storage.pool import Connection, Database
from farebox.vault.master_key_check import (
    VAULT_SECRETS,
    MasterKeyFaults,
    MasterKeyWrong,
    find_master_key_faults,
)
from farebox.vault.master_keys import MasterKeys, new_master_key
from farebox.vault.rekey import BATCH, Rekeying, RekeyProgress
from farebox.vault.sealing import Sealer

_MAX_BATCH = 1000
_DOMAINS: Final = (VAULT_SECRETS, *SEALED_DOMAINS)
_json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one line of JSON instead."
)


@dataclass(frozen=True, slots=True)
class _VaultStatus:
    """The number of secrets by key version, and the state of each key."""

    keys: MasterKeys | None
    counts: Mapping[int, int]
    faults: MasterKeyFaults

    @property
    def versions(self) -> list[int]:
        known = set() if self.keys is None else set(self.keys.keys)
        return sorted(known | self.counts.keys() | self.faults.missing, reverse=True)

    def key_state(self, version: int) -> str:
        if self.keys is None or version not in self.keys.keys:
            return "missing"
        if version in self.faults.wrong:
            return "wrong"
        return "seals" if version == self.keys.sealing else "opens"


class RekeyIncomplete(CommandFailed):
    """Some secrets cannot be opened, or are sealed with another key than the first."""

    exit_code = 3


@click.group("vault")
def command() -> None:
    """Rotate the master keys that seal secrets, while the service runs.

    Configured like serve: FAREBOX_* variables and the file that FAREBOX_CONFIG names. Exit code
    3: some secrets are sealed with a key that is not configured, or not the first one.
    """


@command.command("new-key")
def new_key() -> None:
    """Print a new random master key for FAREBOX_MASTER_KEYS.

    The line is a secret: store it with the settings and nowhere else.
    """
    known = load_settings(os.environ, needs_network=False).master_keys
    entry = new_master_key(known).reveal()
    if known is None:
        click.echo(f"FAREBOX_MASTER_KEYS={entry}")
        return
    click.echo(entry)
    words = (
        "Append this to FAREBOX_MASTER_KEYS on every replica; once all run with it, move it to "
        "the front and run farebox vault rekey."
    )
    click.echo(f"vault: {words}", err=True)


@command.command("status")
@_json_option
def status(*, as_json: bool) -> None:
    """Show how many secrets each key version seals, and whether its key is configured.

    A key is `wrong` when it opens no secret of its version.
    """
    current = run_with_database(_read_status, is_read_only=True)
    if as_json:
        click.echo(orjson.dumps(_status_body(current)))
    else:
        for line in _status_lines(current):
            click.echo(line)
    missing, wrong = current.faults.missing, current.faults.wrong
    sentences = []
    if missing:
        named = ", ".join(map(str, sorted(missing)))
        sentences.append(f"FAREBOX_MASTER_KEYS has no key of version {named}.")
    if wrong:
        sentences.append(sentence(MasterKeyWrong(wrong).message))
    if sentences:
        raise RekeyIncomplete(" ".join(sentences))


@command.command("rekey")
@click.option(
    "--batch",
    type=click.IntRange(1, _MAX_BATCH),
    default=BATCH,
    show_default=True,
    help="Secrets in one transaction.",
)
@_json_option
def rekey(batch: int, *, as_json: bool) -> None:
    """Seal every secret again with the first key of FAREBOX_MASTER_KEYS.

    The service may run meanwhile; a value that its owner rotates stays. The command may be
    interrupted and repeated. Exit code 0: only the first key is needed from now on. Exit code 2:
    nothing was changed; a key does not match its version.
    """

    async def work(settings: Settings, database: Database) -> tuple[RekeyProgress, int]:
        keys = settings.master_keys
        if keys is None:
            raise UserActionRequired(
                "FAREBOX_MASTER_KEYS is not set: farebox vault new-key makes one."
            )
        async with database.connection() as db:
            faults = await find_master_key_faults(db, keys, _DOMAINS)
        if faults.wrong:
            raise UserActionRequired(MasterKeyWrong(faults.wrong).message)
        async with database.connection() as db:
            await write_command(db, Action.SECRETS_RESEALED, f"version {keys.sealing}")
        return await _rekey_all(database, keys, batch), keys.sealing

    progress, version = run_with_database(work)
    if as_json:
        click.echo(orjson.dumps(_rekey_body(progress, version)))
    else:
        click.echo(f"{progress.resealed} secrets were re-sealed with version {version}")
    if progress.unreadable:
        for secret_id in progress.unreadable:
            click.echo(f"vault: {secret_id} cannot be opened", err=True)
        raise RekeyIncomplete(
            f"{len(progress.unreadable)} secrets cannot be opened; the others are re-sealed."
        )
    if progress.left:
        words = "a replica still seals with another key: give every replica the same keys."
        raise RekeyIncomplete(f"{progress.left} secrets are left: {words}")


async def _rekey_all(database: Database, keys: MasterKeys, batch: int) -> RekeyProgress:
    """Rekey every domain; the sum of what was done."""
    done = RekeyProgress(0, 0, ())
    for each in _DOMAINS:
        sealer = Sealer(keys, domain=each.domain)
        rekeying = Rekeying(database, sealer, _print_progress, batch=batch, rows=each.rows)
        of_domain = await rekeying.run()
        done = RekeyProgress(
            done.resealed + of_domain.resealed,
            done.left + of_domain.left,
            done.unreadable + of_domain.unreadable,
        )
    return done


async def _count_versions(db: Connection) -> Mapping[int, int]:
    """Count the sealed values of all domains by key version."""
    counts: Counter[int] = Counter()
    for each in _DOMAINS:
        counts.update(await each.rows.count_versions(db))
    return counts


def _print_progress(progress: RekeyProgress) -> None:
    total = progress.resealed + progress.left
    click.echo(f"vault: {progress.resealed} of {total} re-sealed", err=True)
    sys.stderr.flush()


def _rekey_body(progress: RekeyProgress, version: int) -> dict[str, object]:
    return {
        "version": version,
        "resealed": progress.resealed,
        "left": progress.left,
        "unreadable": progress.unreadable,
    }


async def _read_status(settings: Settings, database: Database) -> _VaultStatus:
    keys = settings.master_keys
    async with database.connection() as db:
        counts = await _count_versions(db)
        return _VaultStatus(keys, counts, await find_master_key_faults(db, keys, _DOMAINS))


def _status_lines(current: _VaultStatus) -> list[str]:
    counts = current.counts
    lines = [
        f"version {version:<6} {current.key_state(version):8} {counts.get(version, 0):>8} secrets"
        for version in current.versions
    ]
    return lines or ["no master key is configured and no secret is stored"]


def _status_body(current: _VaultStatus) -> dict[str, object]:
    keys, counts = current.keys, current.counts
    versions = [
        {"version": version, "key": current.key_state(version), "secrets": counts.get(version, 0)}
        for version in current.versions
    ]
    return {"sealing": None if keys is None else keys.sealing, "versions": versions}
