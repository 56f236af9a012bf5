"""Where the million listings are kept: one PostgreSQL cluster with a database for each size.

It lies in the cache folder under a digest of everything it is made from, so that a run finds it
again, and a change of the generator or of the schema builds a new one in place of the old.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import asyncpg

from e2e.machine import ROOT, RunFailed
from farebox.kernel.secret import Secret
from farebox.local.devnet_binary import cache_folder
from farebox.local.postgres import DATABASE, EmbeddedPostgres
from farebox.local.postgres_folder import PostgresNotStarted
from farebox.local.process_owner import server_owner
from farebox.storage.migrate import packaged_migrations

# of a server with 8 GB that has the catalog to itself; no parallel query, so that a figure is of
# one core, as under load
SERVER: Final = {
    "shared_buffers": "2GB",
    "effective_cache_size": "6GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "512MB",
    "max_wal_size": "4GB",
    "random_page_cost": "1.1",
    "max_parallel_workers_per_gather": "0",
    "autovacuum_naptime": "15s",
}
_MADE_FROM: Final = (
    "bench/search_words.py",
    "bench/search_words.txt",
    "bench/search_topics.py",
    "bench/search_listings.py",
    "bench/search_rows.py",
    "bench/search_vectors.py",
    "bench/search_fill.py",
    "bench/search_build.py",
    "src/farebox/search/index_store.py",
    "src/farebox/semantic/generation.py",
)
_OF_THE_CATALOG: Final = ("catalog", "search")
_SHARED: Final = Path("/var/tmp/farebox-search")  # for root, whose home `nobody` cannot enter
_NOTE: Final = "built.json"


Seconds = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Place:
    """One build's folder."""

    folder: Path

    def index(self, listings: int) -> Path:
        """The comparison engine's own index."""
        return self.folder / f"tantivy-{listings}"

    def built_s(self) -> Seconds:
        """How long each part of everything that is whole took to build."""
        note = self.folder / _NOTE
        found: Seconds = json.loads(note.read_text()) if note.is_file() else {}
        return found

    def note(self, seconds: Seconds) -> None:
        """These are whole."""
        (self.folder / _NOTE).write_text(json.dumps(seconds))


def find_place() -> Place:
    """The folder for what this checkout would build; no other that is not in use lies beside it."""
    root = cache_folder() / "search"
    if not server_owner().can_enter(_existing(root)):
        root = _SHARED
    place = Place(root / _digest())
    for other in root.glob("*"):
        is_used = (other / "data" / "postgres" / "cluster" / "postmaster.pid").exists()
        if other != place.folder and not is_used:
            shutil.rmtree(other, ignore_errors=True)
    place.folder.mkdir(parents=True, exist_ok=True)
    for each in (root, place.folder):
        each.chmod(0o711)
    return place


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def _digest() -> str:
    found = hashlib.sha256()
    for name in _MADE_FROM:
        found.update(name.encode() + (ROOT / name).read_bytes())
    for step in packaged_migrations():
        # others are applied to what is built
        if any(part in step.name for part in _OF_THE_CATALOG):
            found.update(step.sha256.encode())
    return found.hexdigest()[:16]


@contextmanager
def serving(place: Place, *, is_building: bool) -> Iterator[Secret[str]]:
    """The cluster runs, with `SERVER`; while building it need not survive the machine.

    Raises:
        RunFailed: it does not start.
    """
    server = EmbeddedPostgres(place.folder / "data", is_throwaway=is_building)
    try:
        server.__enter__()
    except PostgresNotStarted as error:
        raise RunFailed(str(error)) from error
    try:
        yield server.url
    finally:
        server.__exit__(None, None, None)


async def configure(url: Secret[str], *, is_building: bool) -> None:
    """The next start of the cluster has `SERVER`, and no vacuum in the middle of building."""
    connection = await asyncpg.connect(url.reveal())
    extra = {"autovacuum": "off" if is_building else "on"}
    try:
        for name, value in {**SERVER, **extra}.items():
            await connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        await connection.execute("SELECT pg_reload_conf()")
    finally:
        await connection.close()


def database_of(url: Secret[str], size: int) -> Secret[str]:
    """The database with so many listings."""
    return named_database(url, f"listings_{size}")


def named_database(url: Secret[str], name: str) -> Secret[str]:
    """Another database of the same cluster."""
    return Secret(url.reveal().replace(f"/{DATABASE}?", f"/{name}?"))
