"""What the settle benches stand on: devnet, database, channels, and services under measurement."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.cores import Cores
from bench.part import heard
from bench.settle_ledger import LedgerReader
from bench.settle_payments import Press
from bench.settle_tap import Tap
from e2e.machine import (
    FAREBOX,
    ROOT,
    OurProcess,
    RunFailed,
    ServedNetwork,
    environment,
    our_process,
    say,
    subfolder,
)
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, DevnetOptions, Party, start_devnet
from farebox.local.postgres import EmbeddedPostgres

CADENCE_S: Final = 5.0
_SIGNERS: Final = 20  # accounts beside the payers: our relayer, and the peer's signers
_CREATE_S: Final = 180.0
_HURRY_S: Final = 0.25
_LOOK_S: Final = 0.02
_SELLERS_BUDGET: Final = 2_000_000_000  # stroops; what the network has by default
_PAGE_KB: Final = 1024


@dataclass(frozen=True, slots=True)
class Side:
    """A facilitator under measurement and the relay it reaches the devnet through."""

    name: str
    url: str
    tap: Tap
    pid: int | None = None

    def peak_mb(self) -> float:
        """The most memory the process ever had resident, MB (a million bytes)."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        line = next(each for each in status.splitlines() if each.startswith("VmHWM:"))
        return round(int(line.split()[1]) * _PAGE_KB / 1e6, 1)

    def cpu_s(self) -> float:
        """Seconds of processor time the process has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Ground:
    """One devnet and one database, the accounts, and the press that prints payments."""

    folder: Path
    cores: Cores
    devnet: Devnet
    reader: LedgerReader
    database: Secret[str]
    relayer: Party
    signers: tuple[Party, ...]
    press: Press

    def settings(self) -> dict[str, str]:
        """The settings every Farebox process here has.

        All payments go to one seller, who may cost as much in a day as the whole network; their
        asset is named, because those that are not share a tenth of it.
        """
        return {
            "FAREBOX_DATABASE_URL": self.database.reveal(),
            "FAREBOX_ASSETS_TESTNET": self.press.terms.asset,
            "FAREBOX_BUDGET_PAY_TO_STROOPS_TESTNET": str(_SELLERS_BUDGET),
        }

    async def create_channels(self, count: int) -> None:
        """Have `count` active channels, by the command an operator uses.

        Ledgers are closed quickly meanwhile, because nothing is measured.

        Raises:
            RunFailed: the command failed or took too long.
        """
        say(f"creating channels until there are {count}")
        served = ServedNetwork(Network.TESTNET, self.devnet, self.relayer.secret)
        env = environment(self.settings() | served.settings())
        arguments = ["channels", "create", "--network", "testnet", "--count", str(count)]
        process = await asyncio.create_subprocess_exec(
            *FAREBOX, *arguments, cwd=ROOT, env=env,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        hurry = asyncio.create_task(self._hurry())
        try:
            async with asyncio.timeout(_CREATE_S):
                _, said = await heard(process)
        except TimeoutError as error:
            raise RunFailed(f"creating {count} channels took more than {_CREATE_S:g} s") from error
        finally:
            hurry.cancel()
        if process.returncode:
            raise RunFailed(f"channels create failed: {said.decode(errors='replace')[-500:]}")

    async def _hurry(self) -> None:
        while True:
            await self.devnet.close()
            await asyncio.sleep(_HURRY_S)

    @contextlib.asynccontextmanager
    async def ours(
        self, name: str, settings: Mapping[str, str] | None = None
    ) -> AsyncIterator[Side]:
        """A Farebox process on the service's core."""
        async with self.ours_process(name, settings) as (side, _):
            yield side

    @contextlib.asynccontextmanager
    async def ours_process(
        self, name: str, settings: Mapping[str, str] | None = None
    ) -> AsyncIterator[tuple[Side, OurProcess]]:
        """The same, with the process to do something to."""
        tap = Tap(self.devnet.rpc_url)
        async with tap.serving() as rpc_url:
            served = ServedNetwork(Network.TESTNET, self.devnet, self.relayer.secret)
            own = {**self.settings(), **served.settings(), "FAREBOX_RPC_URL_TESTNET": rpc_url}
            async with our_process(
                (),
                folder=self.folder,
                name=name,
                prefix=self.cores.pin_service(),
                settings={**own, **(settings or {})},
            ) as ours:
                yield Side(name, ours.url, tap, ours.process.pid), ours

    async def next_close(self) -> tuple[int, float]:
        """The ledger that closes next, and when it did (monotonic)."""
        before = await self.reader.latest()
        while True:
            await asyncio.sleep(_LOOK_S)
            latest = await self.reader.latest()
            if latest != before:
                return latest, time.monotonic()


@contextlib.asynccontextmanager
async def ground(
    folder: Path,
    cores: Cores,
    *,
    payers: int,
    limits: str = "mainnet",
    ledger_meta_bytes: int | None = None,
) -> AsyncIterator[Ground]:
    """A devnet with ledgers of five seconds and `payers` accounts that pay; no channel yet.

    `ledger_meta_bytes` is the least size of a ledger's metadata.
    """
    here = subfolder(folder, limits)
    options = DevnetOptions(
        passphrase=Network.TESTNET.passphrase,
        close_ms=int(CADENCE_S * 1000),
        limits=limits,
        log=here / "devnet.log",
        ledger_meta_bytes=ledger_meta_bytes,
    )
    async with contextlib.AsyncExitStack() as stack:
        say(f"starting PostgreSQL and a devnet with the limits of {limits}")
        postgres = stack.enter_context(EmbeddedPostgres(subfolder(here, "data")))
        devnet = await stack.enter_async_context(await start_devnet(options, progress=say))
        reader = await stack.enter_async_context(LedgerReader.open(devnet.rpc_url))
        scene = await devnet.scene(payers=payers + _SIGNERS, payees=1)
        press = await Press.open(devnet.rpc_url, scene, payers=payers)
        yield Ground(
            folder=here,
            cores=cores,
            devnet=devnet,
            reader=reader,
            database=postgres.url,
            relayer=scene.payers[-1],
            signers=scene.payers[payers:-1],
            press=press,
        )
