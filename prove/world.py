"""The shared fixtures of a run: database servers, a prepared network and a fork server."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import asyncpg
from stellar_sdk import Keypair

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, DevnetOptions, Scene, start_devnet
from farebox.local.postgres import EmbeddedPostgres
from prove.database_link import socket_path_of
from prove.fork_server import ForkServer
from testing.chain import closing_ledgers
from testing.commands import run_farebox
from testing.contracts import ask_friendbot
from testing.machine import ROOT, RunFailed, subfolder

NETWORK: Final = Network.TESTNET
TEMPLATE: Final = "prepared"
_CHANNELS: Final = 30  # a killed replica holds its leases for a while
_PAYERS: Final = 10
_CLOSE_EVERY_S: Final = 0.1
# for each two replicas with 20 connections and one of the proof, and the owner: 83 of 100
ENVIRONMENTS_PER_SERVER: Final = 2


# what a proof puts on the network besides, with the settings of the service
Preparation = Callable[[Devnet, Scene, Mapping[str, str]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A network with accounts and channels on it, kept as a devnet's journal."""

    journal: Path
    relayer: Secret[str]
    scene: Scene
    latest: int  # its last ledger


@dataclass(slots=True)
class Server:
    """A database server with the prepared database on it."""

    postgres: EmbeddedPostgres
    owner: "asyncpg.Connection[asyncpg.Record]"
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    environments: int = 0  # in use on this server

    @property
    def socket_path(self) -> Path:
        """The socket of the database server."""
        return socket_path_of(self.postgres.url.reveal())

    def url_of(self, database: str) -> str:
        """Return the URL of a database without a proxy."""
        return self.postgres.url.reveal().replace("/postgres?", f"/{database}?")

    async def execute(self, statement: str) -> None:
        """Run one statement as the server's owner."""
        async with self.lock:
            await self.owner.execute(statement)


@dataclass(frozen=True, slots=True)
class World:
    """The shared fixtures of all cases."""

    folder: Path
    servers: Sequence[Server]
    prepared: Prepared
    fork_server: ForkServer

    @contextmanager
    def server(self) -> Iterator[Server]:
        """Reserve the least busy server for one environment."""
        server = min(self.servers, key=lambda each: each.environments)
        server.environments += 1
        try:
            yield server
        finally:
            server.environments -= 1


def devnet_options(journal: Path, log: Path | None = None) -> DevnetOptions:
    """Return the options of a network that closes ledgers on request and replays its journal."""
    return DevnetOptions(
        NETWORK.passphrase, close_ms=None, limits="mainnet", threads=1, journal=journal, log=log
    )


@asynccontextmanager
async def open_world(
    folder: Path,
    *,
    sources: Path = ROOT / "src",
    channels: int = _CHANNELS,
    payers: int = _PAYERS,
    payees: int = 1,
    workers: int = ENVIRONMENTS_PER_SERVER,
    preparation: Preparation | None = None,
) -> AsyncIterator[World]:
    """Open a world in `folder` and stop its processes at the end; `sources` is the service's code.

    It has database servers for `workers` concurrent cases, with the default `max_connections`.
    `preparation` adds what a proof needs to the network, while ledgers close.

    Raises:
        RunFailed: the service's command could not create the channels.
        LocalFault: the devnet or the database could not be started.
    """
    first = subfolder(folder, "database")
    async with _start_server(first) as server:
        await server.execute(f"CREATE DATABASE {TEMPLATE}")
        url = server.url_of(TEMPLATE)
        prepared = await _prepare(
            folder, url, channels=channels, parties=(payers, payees), preparation=preparation
        )
    other_folders = [
        folder / f"database-{n}" for n in range(1, math.ceil(workers / ENVIRONMENTS_PER_SERVER))
    ]
    for each in other_folders:  # preserve the owner, which may be another user
        copy = await asyncio.create_subprocess_exec("cp", "-a", str(first), str(each))
        if await copy.wait():
            raise RunFailed("the prepared database could not be copied")
    async with AsyncExitStack() as opened:
        servers = [
            await opened.enter_async_context(_start_server(each))
            for each in (first, *other_folders)
        ]
        fork_server = await opened.enter_async_context(ForkServer(sources))
        yield World(folder, servers, prepared, fork_server)


@asynccontextmanager
async def _start_server(folder: Path) -> AsyncIterator[Server]:
    with EmbeddedPostgres(folder, is_throwaway=True) as postgres:
        owner = await asyncpg.connect(postgres.url.reveal())
        try:
            yield Server(postgres, owner)
        finally:
            await owner.close()


async def _prepare(
    folder: Path,
    database_url: str,
    *,
    channels: int,
    parties: tuple[int, int],
    preparation: Preparation | None,
) -> Prepared:
    """`parties`: how many payers and payees."""
    journal = folder / "network"
    relayer = Keypair.random()
    async with await start_devnet(devnet_options(journal)) as devnet:
        await ask_friendbot(devnet.rpc_url, relayer.public_key)
        scene = await devnet.scene(payers=parties[0], payees=parties[1])
        settings = {
            "FAREBOX_DATABASE_URL": database_url,
            "FAREBOX_RPC_URL_TESTNET": devnet.rpc_url,
            "FAREBOX_RELAYER_SECRET_TESTNET": relayer.secret,
        }
        async with closing_ledgers(devnet, every_s=_CLOSE_EVERY_S):
            await create_channels(settings, channels)
            if preparation is not None:
                await preparation(devnet, scene, settings)
        latest = await devnet.close()
    return Prepared(journal, Secret(relayer.secret), scene, latest)


async def create_channels(
    settings: Mapping[str, str], count: int, *, purpose: str = "settlement"
) -> None:
    """Create channel accounts by the service's command.

    Raises:
        RunFailed: the command failed.
    """
    arguments = ["channels", "create", "--network", "testnet", "--count", str(count)]
    await run_farebox([*arguments, "--for", purpose], settings)
