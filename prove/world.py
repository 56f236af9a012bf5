"""What all cases of a run share: a database server, a prepared network and database, warm code."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import aiohttp
import asyncpg
from stellar_sdk import Keypair

from e2e.machine import ROOT, RunFailed, running, subfolder, tail
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, DevnetOptions, Scene, start_devnet
from farebox.local.postgres import EmbeddedPostgres
from prove.warm import Warm

NETWORK: Final = Network.TESTNET
TEMPLATE: Final = "prepared"
_CHANNELS: Final = 30  # a killed replica keeps those it had leased for a while
_PAYERS: Final = 10
_CREATE: Final = "from farebox.cli.main import main; main()"
_BEAT_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Prepared:
    """A network with accounts and channels on it, kept as a devnet's journal."""

    journal: Path
    relayer: Secret[str]
    scene: Scene
    latest: int  # its last ledger


@dataclass(frozen=True, slots=True)
class World:
    """Everything a case starts from."""

    folder: Path
    server: EmbeddedPostgres
    prepared: Prepared
    warm: Warm
    owner: "asyncpg.Connection[asyncpg.Record]"
    turn: asyncio.Lock

    @property
    def socket_path(self) -> Path:
        """Where the database server listens."""
        (folder,) = parse_qs(urlsplit(self.server.url.reveal()).query)["host"]
        return Path(folder) / ".s.PGSQL.5432"

    def url_of(self, database: str) -> str:
        """How a database is reached without a gate."""
        return self.server.url.reveal().replace("/postgres?", f"/{database}?")

    async def execute(self, statement: str) -> None:
        """Run one statement as the server's owner."""
        async with self.turn:
            await self.owner.execute(statement)


def devnet_options(journal: Path, log: Path | None = None) -> DevnetOptions:
    """A network that closes ledgers only when told; the same options replay its journal."""
    return DevnetOptions(
        NETWORK.passphrase, close_ms=None, limits="mainnet", threads=1, journal=journal, log=log
    )


@asynccontextmanager
async def opened_world(
    folder: Path, *, sources: Path = ROOT / "src", channels: int = _CHANNELS, payers: int = _PAYERS
) -> AsyncIterator[World]:
    """A world in `folder`, its processes gone at the end; `sources` hold the service's code.

    Raises:
        RunFailed: the service's own command could not make its channels.
        LocalFault: the devnet or the database could not be started.
    """
    with EmbeddedPostgres(subfolder(folder, "database"), is_throwaway=True) as server:
        owner = await asyncpg.connect(server.url.reveal())
        await owner.execute(f"CREATE DATABASE {TEMPLATE}")
        url = server.url.reveal().replace("/postgres?", f"/{TEMPLATE}?")
        prepared = await _prepare(folder, url, channels=channels, payers=payers)
        async with Warm(sources) as warm:
            yield World(folder, server, prepared, warm, owner, asyncio.Lock())
        await owner.close()


async def _prepare(folder: Path, database_url: str, *, channels: int, payers: int) -> Prepared:
    journal = folder / "network"
    relayer = Keypair.random()
    async with await start_devnet(devnet_options(journal)) as devnet:
        await ask_friendbot(devnet, relayer.public_key)
        scene = await devnet.scene(payers=payers, payees=1)
        settings = {
            "FAREBOX_DATABASE_URL": database_url,
            "FAREBOX_RPC_URL_TESTNET": devnet.rpc_url,
            "FAREBOX_RELAYER_SECRET_TESTNET": relayer.secret,
        }
        beating = asyncio.create_task(_beat(devnet))
        try:
            await _make_channels(folder, settings, channels)
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
        latest = await devnet.close()
    return Prepared(journal, Secret(relayer.secret), scene, latest)


async def _beat(devnet: Devnet) -> None:
    while True:
        await devnet.close()
        await asyncio.sleep(_BEAT_S)


async def _make_channels(folder: Path, settings: Mapping[str, str], count: int) -> None:
    log = folder / "channels.log"
    arguments = ("channels", "create", "--network", "testnet", "--count", str(count))
    python = sys.executable
    async with running([python, "-c", _CREATE, *arguments], env=settings, log=log) as process:
        code = await asyncio.to_thread(process.wait, 60)
    if code != 0:
        raise RunFailed(f"the channels could not be made:\n{tail(log)}")


async def ask_friendbot(devnet: Devnet, address: str) -> None:
    """The account is on the ledger."""
    async with (
        aiohttp.ClientSession(trust_env=False) as session,
        session.get(f"{devnet.rpc_url}/friendbot", params={"addr": address}) as answer,
    ):
        if answer.status != 200:
            raise RunFailed(f"friendbot answered {answer.status}")
