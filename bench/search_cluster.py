"""The PostgreSQL cluster of the search bench, with a database for each size.

It lies in the cache folder under a digest of its inputs, so that runs reuse it, and a change of the
generator or of the schema builds a new one.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from farebox.kernel.secret import Secret
from farebox.local.devnet_binary import cache_folder
from farebox.local.postgres import EmbeddedPostgres
from farebox.local.postgres_folder import PostgresNotStarted, server_owner
from farebox.storage.migrate import packaged_migrations
from testing.database import connected, named_database
from testing.machine import ROOT, RunFailed

# settings of a dedicated server with 8 GB; no parallel query, so that figures are of one core
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
_DIGESTED_FILES: Final = (
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
_DIGESTED_MIGRATIONS: Final = ("catalog", "search")
_SHARED: Final = Path("/var/tmp/farebox-search")  # for root, whose home `nobody` cannot enter
_BUILT_FILE: Final = "built.json"


Seconds = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Cluster:
    """The folder of one build."""

    folder: Path

    def index(self, listings: int) -> Path:
        """Return the path of the comparison engine's index."""
        return self.folder / f"tantivy-{listings}"

    def built_s(self) -> Seconds:
        """Read the build seconds of each complete part."""
        built_file = self.folder / _BUILT_FILE
        digest: Seconds = json.loads(built_file.read_text()) if built_file.is_file() else {}
        return digest

    def record_built(self, seconds: Seconds) -> None:
        """Record the build seconds of complete parts."""
        (self.folder / _BUILT_FILE).write_text(json.dumps(seconds))


def find_cluster() -> Cluster:
    """Find or create the folder of this checkout's build; remove unused folders of others."""
    root = cache_folder() / "search"
    if not server_owner().can_enter(_existing(root)):
        root = _SHARED
    cluster = Cluster(root / _digest())
    for other in root.glob("*"):
        is_used = (other / "data" / "postgres" / "cluster" / "postmaster.pid").exists()
        if other != cluster.folder and not is_used:
            shutil.rmtree(other, ignore_errors=True)
    cluster.folder.mkdir(parents=True, exist_ok=True)
    for each in (root, cluster.folder):
        each.chmod(0o711)
    return cluster


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def _digest() -> str:
    digest = hashlib.sha256()
    for name in _DIGESTED_FILES:
        digest.update(name.encode() + (ROOT / name).read_bytes())
    for step in packaged_migrations():
        # others are applied to an existing build
        if any(part in step.name for part in _DIGESTED_MIGRATIONS):
            digest.update(step.sha256.encode())
    return digest.hexdigest()[:16]


@contextmanager
def serve_cluster(cluster: Cluster, *, is_building: bool) -> Iterator[Secret[str]]:
    """Run the cluster with `SERVER`; while building it need not survive a crash.

    Raises:
        RunFailed: it does not start.
    """
    server = EmbeddedPostgres(cluster.folder / "data", is_throwaway=is_building)
    try:
        server.__enter__()
    except PostgresNotStarted as error:
        raise RunFailed(str(error)) from error
    try:
        yield server.url
    finally:
        server.__exit__(None, None, None)


async def configure(url: Secret[str], *, is_building: bool) -> None:
    """Set `SERVER` for the next start of the cluster, without autovacuum while building."""
    extra = {"autovacuum": "off" if is_building else "on"}
    async with connected(url) as connection:
        for name, value in {**SERVER, **extra}.items():
            await connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        await connection.execute("SELECT pg_reload_conf()")


def database_of(url: Secret[str], size: int) -> Secret[str]:
    """Return the URL of the database with `size` listings."""
    return named_database(url, f"listings_{size}")
