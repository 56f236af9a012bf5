"""The setup of BENCH=mcp: our service, the SDK's server, and a silent upstream, on loopback."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

from bench.cores import Cores
from eval.ground import list_all
from eval.labelled import Labelled, read_labelled
from farebox.kernel.networks import Network
from farebox.local.devnet import DevnetOptions, start_devnet
from farebox.local.postgres import EmbeddedPostgres
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Database
from testing.listing_row import list_resource
from testing.machine import (
    ServedNetwork,
    free_port,
    our_process,
    run_process,
    say,
    subfolder,
    wait_until,
    wait_until_started,
)
from testing.servers import listening

_PEER: Final = (sys.executable, "-c", "from bench.mcp_peer import main; main()")
_READY_S: Final = 30.0
_SILENT_S: Final = 120.0  # longer than a paid call may take
_BUSY_PAUSE_S: Final = 0.5
_BUSY: Final = "too_many_calls"


@dataclass(slots=True)
class SilentUpstream:
    """Reads requests and never responds."""

    port: int = 0
    at_once: int = 0
    is_left: asyncio.Event = field(default_factory=asyncio.Event)  # by every caller

    @property
    def url(self) -> str:
        """The URL of its resource."""
        return f"http://127.0.0.1:{self.port}/silent"

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve inside this context."""
        async with listening(self._keep_silent) as self.port:
            yield

    async def _keep_silent(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.at_once += 1
        self.is_left.clear()
        try:
            await reader.readuntil(b"\r\n\r\n")
            async with asyncio.timeout(_SILENT_S):
                await reader.read()  # until the caller has left
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            pass
        finally:
            self.at_once -= 1
            if not self.at_once:
                self.is_left.set()
            writer.close()


@dataclass(frozen=True, slots=True)
class MeasuredServer:
    """A server on a core of its own."""

    url: str
    process_id: int


@dataclass(frozen=True, slots=True)
class McpSetup:
    """The running parts, and the listings that the service has."""

    ours: MeasuredServer
    theirs: MeasuredServer
    upstream: SilentUpstream
    labelled: Labelled

    @contextlib.asynccontextmanager
    async def stalled_calls(self, callers: int, *, bound: int) -> AsyncIterator["StalledCalls"]:
        """Have callers make paid calls that stall; begin when `bound` of them are in progress.

        Raises:
            RunFailed: so many are never in progress.
        """
        stalled = StalledCalls(self.ours.url, self.upstream.url)
        tasks = [asyncio.create_task(stalled.call(f"203.0.113.{n}")) for n in range(callers)]
        try:
            await wait_until(
                lambda: self.upstream.at_once >= bound and stalled.refused,
                f"{bound} calls in progress",
                within_s=_READY_S,
                pause_s=0.05,
            )
            yield stalled
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.upstream.is_left.wait()  # the service ends the calls of callers that left


@dataclass(slots=True)
class StalledCalls:
    """Callers of the silent upstream; `refused` counts the calls beyond the bound."""

    url: str
    resource: str
    refused: int = 0

    async def call(self, address: str) -> None:
        """Make one call after the other from a client address of its own."""
        params = {"name": "paid_call", "arguments": {"url": self.resource}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        async with aiohttp.ClientSession(self.url) as session:
            while True:
                headers = {"X-Forwarded-For": address}
                async with session.post("/mcp", json=message, headers=headers) as response:
                    answer: dict[str, Any] = await response.json()
                self.refused += answer.get("error", {}).get("data", {}).get("cause") == _BUSY
                await asyncio.sleep(_BUSY_PAUSE_S)


@contextlib.asynccontextmanager
async def open_mcp_setup(folder: Path, cores: Cores) -> AsyncIterator[McpSetup]:
    """Start every part, with the labelled listings in the catalog."""
    labelled, upstream = read_labelled(), SilentUpstream()
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(upstream.serving())
        database = stack.enter_context(
            EmbeddedPostgres(subfolder(folder, "postgres"), is_throwaway=True)
        )
        await migrate(database.url, packaged_migrations())
        async with Database(database.url) as filled:
            await list_all(filled, labelled.listings)
            async with filled.connection() as db:
                await list_resource(db, upstream.url, upstream.url, "GET", {})
        options = DevnetOptions(passphrase=Network.TESTNET.passphrase, close_ms=5_000)
        devnet = await stack.enter_async_context(await start_devnet(options, progress=say))
        scene = await devnet.scene(payers=1, payees=0)
        ours = await stack.enter_async_context(
            our_process(
                [ServedNetwork(Network.TESTNET, devnet, scene.payers[0].secret)],
                folder=folder,
                prefix=cores.pin_service(),
                settings={
                    "FAREBOX_DATABASE_URL": database.url.reveal(),
                    "FAREBOX_CATALOG_LOCAL": "1",
                    "FAREBOX_TRUSTED_PROXIES": "127.0.0.1",
                    "FAREBOX_SEARCH_SEMANTIC": "off",
                },
            )
        )
        theirs = await stack.enter_async_context(_peer(folder, cores))
        own = MeasuredServer(ours.url, ours.process.pid)
        yield McpSetup(own, theirs, upstream, labelled)


@contextlib.asynccontextmanager
async def _peer(folder: Path, cores: Cores) -> AsyncIterator[MeasuredServer]:
    """Start the SDK's server; yield it once it listens."""
    port, log = free_port(), folder / "peer.log"
    command = [*cores.pin_service(), *_PEER, str(port)]
    async with run_process(command, env={}, log=log) as process:
        await wait_until_started(lambda: _listens(port), process, log, name="the SDK's server")
        yield MeasuredServer(f"http://127.0.0.1:{port}", process.pid)


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
