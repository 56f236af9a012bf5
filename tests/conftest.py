"""Database, devnet, clock and application fixtures; nothing else."""

import gc
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import pytest
import structlog
from hypothesis import HealthCheck, settings

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, DevnetOptions, start_devnet
from farebox.local.postgres import EmbeddedPostgres
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Connection, Database
from support.examples import examples
from support.manual_clock import ManualClock
from support.planted_secrets import check_database, check_server, count_planted
from testing.database import create_database, drop_database

# as the service does, which may be too late here: threads of numpy's that wait for each other by
# spinning take whole cores from the other tests
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# the default shows every frame with its variables, which takes 0.06 s for each error that is logged
_RENDERER: Final = structlog.get_config()["processors"][-1]
_RENDERER.exception_formatter = structlog.dev.plain_traceback
# each test of TLS has an authority of its own, and reading the system's with it takes 0.05 s
os.environ["SSL_CERT_FILE"] = os.devnull

# a property is judged by what it finds and not by how busy the machine is
settings.register_profile(
    "tests",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=examples(100),
)
settings.load_profile("tests")

pytest_plugins = (
    "support.stage_fixtures",
    "support.service_fixtures",
    "support.deadlines",
    "support.output_check",
    "support.parameter_names",
    "support.costs",
    "support.fresh_readiness",
    "support.one_minute",
)

TEMPLATE: Final = "farebox_template"
WORKING: Final = "farebox_tests"


def _refuse_the_world(event: str, arguments: tuple[object, ...]) -> None:
    """No test reaches past this machine: a socket to any other address is refused."""
    if event != "socket.connect":
        return
    used, address = arguments
    if not isinstance(used, socket.socket) or not isinstance(address, tuple):
        return
    host = str(address[0])
    try:
        is_local = ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost"
    if not is_local:
        raise PermissionError(f"a test tried to connect to {host}")


sys.addaudithook(_refuse_the_world)


def pytest_collection_finish() -> None:
    """Exclude modules and tests, which stay to the end, from every later garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[EmbeddedPostgres]:
    """One throwaway cluster for the run, removed at its end."""
    with tempfile.TemporaryDirectory(prefix="fbx-test-") as folder:
        Path(folder).chmod(0o711 if os.geteuid() == 0 else 0o700)
        guests = ["nobody"] if os.geteuid() == 0 else []  # PgBouncer does not run as root
        with EmbeddedPostgres(Path(folder), is_throwaway=True, guests=guests) as server:
            yield server


@pytest.fixture(scope="session")
async def postgres_template(postgres_server: EmbeddedPostgres) -> AsyncIterator[str]:
    """The name of a migrated database that no test uses.

    At the end of the run every database of the server is searched for what the tests planted.
    """
    url = await create_database(postgres_server.url, TEMPLATE)
    await migrate(url, packaged_migrations())
    yield TEMPLATE
    await check_server(postgres_server.url.reveal())


@pytest.fixture(scope="session")
async def postgres_url(postgres_server: EmbeddedPostgres, postgres_template: str) -> Secret[str]:
    """The migrated database that the tests share."""
    how = f"TEMPLATE {postgres_template} STRATEGY file_copy"
    return await create_database(postgres_server.url, WORKING, how)


@pytest.fixture
async def empty_database_url(postgres_server: EmbeddedPostgres) -> AsyncIterator[Secret[str]]:
    """A database without any table, dropped after the test."""
    name = f"farebox_{os.urandom(6).hex()}"
    yield await create_database(postgres_server.url, name, "STRATEGY file_copy")
    await drop_database(postgres_server.url, name)


@pytest.fixture(scope="session")
async def _open_database(postgres_url: Secret[str]) -> AsyncIterator[Database]:
    async with Database(postgres_url) as database:
        yield database


_TABLES: Final = """
    SELECT format('%I', tablename) FROM pg_tables
    WHERE schemaname = 'public' AND tablename <> 'schema_migrations'
"""


@pytest.fixture(scope="session")
async def _find_filled(_open_database: Database) -> str:
    """A query for the tables that have rows: it costs a tenth of a DELETE in each of them."""
    async with _open_database.connection() as connection:
        tables = [row[0] for row in await connection.fetch(_TABLES)]
    each = ", ".join(f"CASE WHEN EXISTS (SELECT FROM {name}) THEN '{name}' END" for name in tables)
    return f"SELECT array_remove(ARRAY[{each}], NULL)"


async def _delete_rows(connection: Connection, find_filled: str) -> None:
    filled: list[str] = await connection.fetchval(find_filled)
    if filled:
        deletes = "; ".join(f"DELETE FROM {name}" for name in filled)
        in_any_order = "SELECT set_config('session_replication_role', 'replica', true)"
        await connection.execute(f"{in_any_order}; {deletes}")  # one transaction


@pytest.fixture
async def database(_open_database: Database, _find_filled: str) -> AsyncIterator[Database]:
    """An open pool on a migrated database in which no row is left of other tests.

    What the test planted is looked for in its rows, before the next one deletes them.
    """
    async with _open_database.connection() as connection:
        await _delete_rows(connection, _find_filled)
    before = count_planted()
    yield _open_database
    async with _open_database.connection() as connection:
        if count_planted() > before:
            await check_database(connection)
        await _delete_rows(connection, _find_filled)  # sealed rows would bind who starts next


CLOSE_MS: Final = 200


async def _devnet(network: Network) -> AsyncIterator[Devnet]:
    options = DevnetOptions(passphrase=network.passphrase, close_ms=CLOSE_MS)
    async with await start_devnet(options) as devnet:
        yield devnet


@pytest.fixture(scope="session")
async def devnet() -> AsyncIterator[Devnet]:
    """A running network with the testnet's passphrase."""
    async for running in _devnet(Network.TESTNET):
        yield running


@pytest.fixture(scope="session")
async def devnet_pubnet() -> AsyncIterator[Devnet]:
    """A running network with the pubnet's passphrase."""
    async for running in _devnet(Network.PUBNET):
        yield running


@pytest.fixture
def clock() -> ManualClock:
    """A clock that moves only when a task sleeps on it."""
    return ManualClock()
