"""The environment of the settle benches: devnet, database, channels and measured services."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.cores import Cores
from bench.settle_ledger import LedgerReader
from bench.settle_payments import PaymentFactory
from bench.settle_relay import RpcRelay
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, DevnetOptions, Party, start_devnet
from farebox.local.postgres import EmbeddedPostgres
from testing.chain import closing_ledgers
from testing.commands import run_farebox
from testing.machine import (
    OurProcess,
    ServedNetwork,
    our_process,
    say,
    subfolder,
)

CADENCE_S: Final = 5.0
_SIGNERS: Final = 20  # accounts besides the payers: our relayer, and the peer's signers
HURRY_S: Final = 0.25  # between ledgers, where nothing is measured
_LOOK_S: Final = 0.02
_SELLERS_BUDGET: Final = 2_000_000_000  # stroops; the network's default
_PAGE_KB: Final = 1024


@dataclass(frozen=True, slots=True)
class MeasuredFacilitator:
    """A facilitator under measurement and the relay it reaches the devnet through."""

    name: str
    url: str
    relay: RpcRelay
    pid: int | None = None

    def peak_mb(self) -> float:
        """Read the peak resident memory of the process, MB (a million bytes)."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        line = next(each for each in status.splitlines() if each.startswith("VmHWM:"))
        return round(int(line.split()[1]) * _PAGE_KB / 1e6, 1)


@dataclass(frozen=True, slots=True)
class SettleSetup:
    """One devnet and one database, the accounts, and the factory of payments."""

    folder: Path
    cores: Cores
    devnet: Devnet
    reader: LedgerReader
    database: Secret[str]
    relayer: Party
    signers: tuple[Party, ...]
    payment_factory: PaymentFactory

    def settings(self) -> dict[str, str]:
        """Return the settings of every Farebox process of the bench.

        All payments go to one seller and come without a credential: the limits of both are those of
        the whole network. Their asset is named, because other assets share a tenth.
        """
        return {
            "FAREBOX_DATABASE_URL": self.database.reveal(),
            "FAREBOX_ASSETS_TESTNET": self.payment_factory.terms.asset,
            "FAREBOX_BUDGET_PAY_TO_STROOPS_TESTNET": str(_SELLERS_BUDGET),
            "FAREBOX_BUDGET_KEY_STROOPS_TESTNET": str(_SELLERS_BUDGET),
        }

    async def create_channels(
        self,
        count: int,
        *,
        purpose: str = "settlement",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Create channels until `count` are active, by the operator's command.

        Ledgers close quickly meanwhile, because nothing is measured.

        Raises:
            RunFailed: the command failed or took too long.
        """
        say(f"creating channels for {purpose} until there are {count}")
        served = ServedNetwork(Network.TESTNET, self.devnet, self.relayer.secret)
        own = self.settings() | served.settings() | dict(settings or {})
        arguments = ["channels", "create", "--network", "testnet", "--count", str(count)]
        # settlement is the default, and all that an earlier build knows
        arguments += [] if purpose == "settlement" else ["--for", purpose]
        async with closing_ledgers(self.devnet, every_s=HURRY_S):
            await run_farebox(arguments, own)

    @contextlib.asynccontextmanager
    async def start_farebox(
        self, name: str, settings: Mapping[str, str] | None = None
    ) -> AsyncIterator[MeasuredFacilitator]:
        """Start a Farebox process on the service's core."""
        async with self.start_farebox_process(name, settings) as (side, _):
            yield side

    @contextlib.asynccontextmanager
    async def start_farebox_process(
        self, name: str, settings: Mapping[str, str] | None = None
    ) -> AsyncIterator[tuple[MeasuredFacilitator, OurProcess]]:
        """Start a Farebox process and yield its handle as well."""
        relay = RpcRelay(self.devnet.rpc_url)
        async with relay.serving() as rpc_url:
            served = ServedNetwork(Network.TESTNET, self.devnet, self.relayer.secret)
            own = {**self.settings(), **served.settings(), "FAREBOX_RPC_URL_TESTNET": rpc_url}
            async with our_process(
                (),
                folder=self.folder,
                name=name,
                prefix=self.cores.pin_service(),
                settings={**own, **(settings or {})},
            ) as farebox:
                yield MeasuredFacilitator(name, farebox.url, relay, farebox.process.pid), farebox

    async def next_close(self) -> tuple[int, float]:
        """Wait for the next ledger; return its number and its time (monotonic)."""
        before = await self.reader.latest()
        while True:
            await asyncio.sleep(_LOOK_S)
            latest = await self.reader.latest()
            if latest != before:
                return latest, time.monotonic()


@contextlib.asynccontextmanager
async def open_settle_setup(
    folder: Path,
    cores: Cores,
    *,
    payers: int,
    limits: str = "mainnet",
    ledger_meta_bytes: int | None = None,
) -> AsyncIterator[SettleSetup]:
    """Start a devnet with ledgers of five seconds and `payers` accounts, without channels.

    `ledger_meta_bytes` is the least size of a ledger's metadata.
    """
    own_folder = subfolder(folder, limits)
    options = DevnetOptions(
        passphrase=Network.TESTNET.passphrase,
        close_ms=int(CADENCE_S * 1000),
        limits=limits,
        log=own_folder / "devnet.log",
        ledger_meta_bytes=ledger_meta_bytes,
    )
    async with contextlib.AsyncExitStack() as stack:
        say(f"starting PostgreSQL and a devnet with the limits of {limits}")
        postgres = stack.enter_context(EmbeddedPostgres(subfolder(own_folder, "data")))
        devnet = await stack.enter_async_context(await start_devnet(options, progress=say))
        reader = await stack.enter_async_context(LedgerReader.open(devnet.rpc_url))
        scene = await devnet.scene(payers=payers + _SIGNERS, payees=1)
        payment_factory = await PaymentFactory.open(devnet.rpc_url, scene, payers=payers)
        yield SettleSetup(
            folder=own_folder,
            cores=cores,
            devnet=devnet,
            reader=reader,
            database=postgres.url,
            relayer=scene.payers[-1],
            signers=scene.payers[payers:-1],
            payment_factory=payment_factory,
        )
