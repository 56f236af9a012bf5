"""One case's own network, database and replicas, made from the prepared ones and thrown away."""

import asyncio
import itertools
import os
import shutil
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
import asyncpg
import msgspec

from e2e.machine import RunFailed, tail
from farebox.buyer.authorization import authorize
from farebox.buyer.wallet import Wallet
from farebox.facilitator.budgets.budget_store import Drift, find_drift
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, start_devnet
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.x402.payment import PaymentTerms
from prove.gate import Gate
from prove.ledgers import LIFE_S, LedgerHand
from prove.rpc_gate import RpcGate
from prove.sql_gate import SqlGate
from prove.warm import ended
from prove.world import NETWORK, TEMPLATE, World, devnet_options

SETTINGS: Final = {
    "FAREBOX_PORT": "0",
    "FAREBOX_SETTLE_DEADLINE_S": "2",
    "FAREBOX_TRANSACTION_LIFE_S": str(LIFE_S),
    "FAREBOX_CHANNEL_WAIT_S": "1",
    "FAREBOX_RPC_TIMEOUT_S": "1",
    "FAREBOX_CLOCK_POLL_S": "0.5",
    "FAREBOX_SEARCH_SEMANTIC": "off",
    "FAREBOX_RATE_PER_ADDRESS": "0",
}
_START_S: Final = 20.0
_LOOK_S: Final = 0.01
_QUIET_S: Final = 0.05
AMOUNT: Final = BaseUnits(10_000)
_TIMEOUT_S: Final = 3600  # ledgers pass fast here, and no authorization is to run out
_numbers: Final = itertools.count(1)


@dataclass(frozen=True, slots=True)
class SignedPayment:
    """A payment, as the seller hands it to /settle, and what finds it again."""

    payer: str
    nonce: int
    body: bytes


@dataclass(eq=False, slots=True)
class Replica:
    """A process of the service, and the gate between it and everything else."""

    name: str
    gate: Gate
    sql: SqlGate
    process_id: int
    url: str
    is_alive: bool = True
    is_ready: bool = False

    async def kill(self) -> None:
        """It is gone at once, without a word."""
        self.is_alive = False
        os.kill(self.process_id, signal.SIGKILL)
        await ended(self.process_id)


@dataclass(eq=False)
class Arena:
    """What a case plays on."""

    world: World
    folder: Path
    devnet: Devnet
    database: str
    hand: LedgerHand
    web: aiohttp.ClientSession
    db: "asyncpg.Connection[asyncpg.Record]"
    opened: AsyncExitStack
    settings: Mapping[str, str]
    replicas: list[Replica] = field(default_factory=list)
    later: list[asyncio.Task[None]] = field(default_factory=list)  # what the network still does
    waiting: list[asyncio.Task[None]] = field(default_factory=list)  # for what may never come
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def running(self) -> list[Replica]:
        """The replicas nobody killed."""
        return [replica for replica in self.replicas if replica.is_alive]

    @property
    def alive(self) -> list[Replica]:
        """Those of them that are ready."""
        return [replica for replica in self.running if replica.is_ready]

    async def start(self, name: str, settings: Mapping[str, str] | None = None) -> Replica:
        """Another replica, ready, its start's own calls done; `settings` win over the arena's.

        Raises:
            RunFailed: it did not get ready.
        """
        gate = Gate(name)
        gate.on_answered = self.hand.heard
        rpc = await self.opened.enter_async_context(RpcGate(gate, self.devnet.rpc_url))
        sql = await self.opened.enter_async_context(SqlGate(gate, self.world.socket_path))
        own = {
            "FAREBOX_DATABASE_URL": f"postgresql://farebox@127.0.0.1:{sql.port}/{self.database}"
            "?sslmode=disable",
            "FAREBOX_RPC_URL_TESTNET": rpc.url,
            "FAREBOX_RELAYER_SECRET_TESTNET": self.world.prepared.relayer.reveal(),
            "FAREBOX_LOG_FILE": str(self.folder / f"{name}.jsonl"),
        }
        said, log = self.folder / f"{name}.said", self.folder / f"{name}.err"
        merged = {**SETTINGS, **self.settings, **own, **(settings or {})}
        process_id = await self.world.warm.serve(merged, said=said, log=log)
        replica = Replica(name, gate, sql, process_id, "")
        self.replicas.append(replica)
        try:
            async with asyncio.timeout(_START_S):
                replica.url = await _announced(said)
                await self._until_ready(replica.url)
                await gate.quiet(_QUIET_S)
        except TimeoutError as error:
            raise RunFailed(f"replica {name} did not get ready:\n{tail(log)}") from error
        replica.is_ready = True
        return replica

    async def _until_ready(self, url: str) -> None:
        while True:
            async with self.web.get(f"{url}/health/ready") as answer:
                if answer.status == 200:
                    return
            await asyncio.sleep(_LOOK_S)

    async def kill(self, name: str) -> None:
        """Kill the replica of that name."""
        for replica in self.running:
            if replica.name == name:
                await replica.kill()

    async def payment(
        self, turn: int = 0, *, about: Mapping[str, object] | None = None
    ) -> SignedPayment:
        """A payment nobody has seen, by the payer whose turn it is; `about` joins its payload."""
        scene = self.world.prepared.scene
        payer = scene.payers[turn % len(scene.payers)]
        terms = PaymentTerms(NETWORK, scene.asset, AMOUNT, scene.payees[0].address, _TIMEOUT_S)
        async with HttpSorobanRpc(NETWORK, Secret(self.devnet.rpc_url)) as node:
            signed = await authorize(terms, Wallet(payer.address, payer.secret), node)
        body = _body(terms, signed.envelope.reveal(), about or {})
        return SignedPayment(payer.address, signed.nonce, body)

    async def query(self, sql: str, *args: object) -> list[asyncpg.Record]:
        """Rows of the case's database, past every gate."""
        async with self.asking:
            return await self.db.fetch(sql, *args)

    async def budget_drift(self) -> list[Drift]:
        """Every budget counter that is not the sum of its rows, past every gate."""
        async with self.asking:
            return await find_drift(self.db)


async def _announced(said: Path) -> str:
    while True:
        if (url := _url_in(said)) is not None:
            return url
        await asyncio.sleep(_LOOK_S)


def _url_in(said: Path) -> str | None:
    line, ended, _ = (said.read_bytes() if said.exists() else b"").partition(b"\n")
    return str(msgspec.json.decode(line)["url"]) if ended else None


def _body(terms: PaymentTerms, envelope: str, about: Mapping[str, object]) -> bytes:
    wanted = {
        "scheme": "exact",
        "network": str(terms.network),
        "asset": terms.asset,
        "amount": str(terms.amount),
        "payTo": terms.pay_to,
        "maxTimeoutSeconds": terms.max_timeout_s,
        "extra": {"areFeesSponsored": True},
    }
    payload = {
        "x402Version": 2,
        "accepted": wanted,
        "payload": {"transaction": envelope},
        **about,
    }
    return msgspec.json.encode(
        {"x402Version": 2, "paymentPayload": payload, "paymentRequirements": wanted}
    )


@asynccontextmanager
async def opened_arena(
    world: World, settings: Mapping[str, str] | None = None
) -> AsyncIterator[Arena]:
    """A fresh arena; every replica in it is dead at the end."""
    number = next(_numbers)
    folder = world.folder / f"case-{number}"
    folder.mkdir()
    database = f"case_{number}"
    journal = folder / "network"
    shutil.copy(world.prepared.journal, journal)
    await world.execute(f"CREATE DATABASE {database} TEMPLATE {TEMPLATE} STRATEGY file_copy")
    async with AsyncExitStack() as opened:
        devnet = await opened.enter_async_context(await start_devnet(devnet_options(journal)))
        await devnet.close()
        web = await opened.enter_async_context(aiohttp.ClientSession(trust_env=False))
        db = await asyncpg.connect(world.url_of(database))
        opened.push_async_callback(db.close)
        hand = LedgerHand(devnet)
        beating = asyncio.create_task(hand.run())
        arena = Arena(world, folder, devnet, database, hand, web, db, opened, settings or {})
        try:
            yield arena
        finally:
            tasks = (beating, *arena.later, *arena.waiting)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for replica in arena.running:
                await replica.kill()
    await world.execute(f"DROP DATABASE {database} WITH (FORCE)")
    shutil.rmtree(folder)
