"""`farebox vault`: make master keys, re-seal under the newest one, see what seals how much."""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import click
import orjson

from farebox.app.settings import Settings
from farebox.cli.database import database_of, migrate_or_end
from farebox.cli.endings import Ended, MustChange, settings_or_end
from farebox.cli.running import run, sentence
from farebox.storage.pool import Database
from farebox.vault import secret_store
from farebox.vault.key_check import KeyFaults, MasterKeyWrong, find_key_faults
from farebox.vault.master_keys import MasterKeys, new_master_key
from farebox.vault.reseal import BATCH, Resealed, Resealing
from farebox.vault.sealing import Sealer

T = TypeVar("T")
_MOST_AT_ONCE = 1000
_json_option = click.option("--json", "as_json", is_flag=True, help="One line of JSON instead.")


@dataclass(frozen=True, slots=True)
class _Standing:
    """How much each version seals, and what its key is worth."""

    keys: MasterKeys | None
    counts: Mapping[int, int]
    faults: KeyFaults

    @property
    def versions(self) -> list[int]:
        known = set() if self.keys is None else set(self.keys.keys)
        return sorted(known | self.counts.keys() | self.faults.missing, reverse=True)

    def of(self, version: int) -> str:
        if self.keys is None or version not in self.keys.keys:
            return "missing"
        if version in self.faults.wrong:
            return "wrong"
        return "seals" if version == self.keys.sealing else "opens"


class Unfinished(Ended):
    """Not everything stored opens, or is sealed with the first key."""

    exit_code = 3


@click.group("vault")
def command() -> None:
    """Change the master keys that secrets are sealed with, while the service runs.

    Configured like serve: FAREBOX_* variables and the file that FAREBOX_CONFIG names. Exit code
    3: there are secrets that no configured key opens, or that another key than the first seals.
    """


@command.command("new-key")
def new_key() -> None:
    """Print a fresh master key, ready for FAREBOX_MASTER_KEYS.

    The line is a secret: write it where the settings are, and nowhere else.
    """
    known = settings_or_end(os.environ, needs_network=False).master_keys
    entry = new_master_key(known).reveal()
    if known is None:
        click.echo(f"FAREBOX_MASTER_KEYS={entry}")
        return
    click.echo(entry)
    words = (
        "Put this behind the keys of FAREBOX_MASTER_KEYS on every replica; once all run with it, "
        "put it in front, and run farebox vault rekey."
    )
    click.echo(f"vault: {words}", err=True)


@command.command("status")
@_json_option
def status(*, as_json: bool) -> None:
    """Show how many secrets each key version seals, and whether its key is configured.

    A key that opens nothing of what has its version is `wrong`: another one sealed that.
    """
    standing = _work(_looked)
    if as_json:
        click.echo(orjson.dumps(_status_body(standing)))
    else:
        for line in _status_lines(standing):
            click.echo(line)
    missing, wrong = standing.faults.missing, standing.faults.wrong
    sentences = []
    if missing:
        named = ", ".join(map(str, sorted(missing)))
        sentences.append(f"No key of FAREBOX_MASTER_KEYS has version {named}.")
    if wrong:
        sentences.append(sentence(MasterKeyWrong(wrong).message))
    if sentences:
        raise Unfinished(" ".join(sentences))


@command.command("rekey")
@click.option(
    "--batch",
    type=click.IntRange(1, _MOST_AT_ONCE),
    default=BATCH,
    show_default=True,
    help="How many secrets one transaction re-seals.",
)
@_json_option
def rekey(batch: int, *, as_json: bool) -> None:
    """Seal every secret anew with the first of FAREBOX_MASTER_KEYS.

    Services may run meanwhile, and what somebody rotates stays as they rotated it. Stop it at any
    time and begin again: what is done is done. Exit code 0: nothing else than the first key is
    needed any more. Exit code 2: nothing was done; a key is another one than its version says.
    """

    async def work(settings: Settings, database: Database) -> tuple[Resealed, int]:
        keys = settings.master_keys
        if keys is None:
            raise MustChange("FAREBOX_MASTER_KEYS is not set: farebox vault new-key makes one.")
        async with database.connection() as db:
            found = await find_key_faults(db, keys)
        if found.wrong:
            raise MustChange(MasterKeyWrong(found.wrong).message)
        resealing = Resealing(database, Sealer(keys), _tell, batch=batch)
        return await resealing.run(), keys.sealing

    done, version = _work(work)
    if as_json:
        click.echo(orjson.dumps(_rekey_body(done, version)))
    else:
        click.echo(f"{done.resealed} secrets were re-sealed with version {version}")
    if done.unreadable:
        for secret_id in done.unreadable:
            click.echo(f"vault: {secret_id} does not open", err=True)
        raise Unfinished(f"{len(done.unreadable)} secrets do not open; the others are re-sealed.")
    if done.left:
        words = "something still seals with another key: give every replica the same keys."
        raise Unfinished(f"{done.left} secrets are left, because {words}")


def _tell(so_far: Resealed) -> None:
    total = so_far.resealed + so_far.left
    click.echo(f"vault: {so_far.resealed} of {total} re-sealed", err=True)
    sys.stderr.flush()


def _rekey_body(done: Resealed, version: int) -> dict[str, object]:
    return {
        "version": version,
        "resealed": done.resealed,
        "left": done.left,
        "unreadable": done.unreadable,
    }


async def _looked(settings: Settings, database: Database) -> _Standing:
    keys = settings.master_keys
    async with database.connection() as db:
        counts = await secret_store.count_versions(db)
        return _Standing(keys, counts, await find_key_faults(db, keys))


def _status_lines(standing: _Standing) -> list[str]:
    counts = standing.counts
    lines = [
        f"version {version:<6} {standing.of(version):8} {counts.get(version, 0):>8} secrets"
        for version in standing.versions
    ]
    return lines or ["no master key is configured and no secret is stored"]


def _status_body(standing: _Standing) -> dict[str, object]:
    keys, counts = standing.keys, standing.counts
    versions = [
        {"version": version, "key": standing.of(version), "secrets": counts.get(version, 0)}
        for version in standing.versions
    ]
    return {"sealing": None if keys is None else keys.sealing, "versions": versions}


def _work(work: Callable[[Settings, Database], Awaitable[T]]) -> T:
    settings = settings_or_end(os.environ, needs_network=False)
    with database_of(settings) as url:
        migrate_or_end(url)

        async def opened() -> T:
            async with Database(url, connections=1) as database:
                return await work(settings, database)

        return run(opened())
