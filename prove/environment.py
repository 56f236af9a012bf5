"""The isolated environment of a case: its own network, database and replicas.

They are copied from the prepared ones and removed at the end.
"""

import asyncio
import itertools
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
import asyncpg
import msgspec

from farebox.buyer.authorization import authorize
from farebox.buyer.wallet import Wallet
from farebox.facilitator.budgets.budget_store import CounterDrift, find_drift
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, start_devnet
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.x402.payment import PaymentTerms
from prove.fork_server import wait_until_ended
from prove.interceptor import Interceptor
from prove.ledger_closer import LIFE_S, LedgerCloser
from prove.rpc_proxy import RpcProxy
from prove.sql_proxy import SqlProxy
from prove.world import NETWORK, TEMPLATE, Server, World, devnet_options
from testing.machine import RunFailed, tail
from testing.payment_terms import payment_requirements

SETTINGS: Final = {
    "FAREBOX_PORT": "0",
    "FAREBOX_SETTLE_DEADLINE_S": "2",
    "FAREBOX_TRANSACTION_LIFE_S": str(LIFE_S),
    "FAREBOX_CHANNEL_WAIT_S": "1",
    "FAREBOX_RPC_TIMEOUT_S": "1",
    "FAREBOX_CLOCK_POLL_S": "0.5",
    "FAREBOX_LEDGER_TIME_TOLERANCE_S": "0",  # cases move the network's clock
    "FAREBOX_SEARCH_SEMANTIC": "off",
    "FAREBOX_RATE_PER_ADDRESS": "0",
}
_START_S: Final = 60.0  # of a replica on a busy machine; no figure depends on it
_LOOK_S: Final = 0.01
_QUIET_S: Final = 0.05
AMOUNT: Final = BaseUnits(10_000)
_TIMEOUT_S: Final = 3600  # long, because ledgers close fast and no authorization may expire
_numbers: Final = itertools.count(1)


@dataclass(frozen=True, slots=True)
class SignedPayment:
    """The body of a request to /settle, with the payer and nonce that identify the payment."""

    payer: str
    nonce: int
    body: bytes


@dataclass(eq=False, slots=True)
class Replica:
    """A process of the service, and the interceptor of all its calls."""

    name: str
    interceptor: Interceptor
    sql: SqlProxy
    process_id: int
    url: str
    is_alive: bool = True
    is_ready: bool = False

    async def kill(self) -> None:
        """Send SIGKILL, unless the process has ended by itself, and wait until it has ended."""
        self.is_alive = False
        with suppress(ProcessLookupError):
            os.kill(self.process_id, signal.SIGKILL)
        await wait_until_ended(self.process_id)


@dataclass(eq=False)
class Environment:
    """The network, database and replicas of one case."""

    world: World
    server: Server
    folder: Path
    devnet: Devnet
    database: str
    ledger_closer: LedgerCloser
    web: aiohttp.ClientSession
    db: "asyncpg.Connection[asyncpg.Record]"
    stack: AsyncExitStack
    settings: Mapping[str, str]
    make_interceptor: Callable[[str], Interceptor] = Interceptor
    replicas: list[Replica] = field(default_factory=list)
    # changes to the network that are still due
    later: list[asyncio.Task[None]] = field(default_factory=list)
    # tasks that wait for an event which may never come
    waiting: list[asyncio.Task[None]] = field(default_factory=list)
    query_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def connections_max(self) -> int:
        """The largest number of database connections that one replica had open at a time."""
        return max((replica.sql.connections_max for replica in self.replicas), default=0)

    @property
    def running(self) -> list[Replica]:
        """The replicas that were not killed."""
        return [replica for replica in self.replicas if replica.is_alive]

    @property
    def alive(self) -> list[Replica]:
        """The running replicas that are ready."""
        return [replica for replica in self.running if replica.is_ready]

    async def start(self, name: str, settings: Mapping[str, str] | None = None) -> Replica:
        """Start a replica; return once it is ready and the calls of its start are done.

        `settings` override those of the environment.

        Raises:
            RunFailed: it did not become ready.
        """
        interceptor = self.make_interceptor(name)
        interceptor.on_response = self.ledger_closer.on_response
        rpc = await self.stack.enter_async_context(RpcProxy(interceptor, self.devnet.rpc_url))
        sql = await self.stack.enter_async_context(SqlProxy(interceptor, self.server.socket_path))
        own = {
            "FAREBOX_DATABASE_URL": f"postgresql://farebox@127.0.0.1:{sql.port}/{self.database}"
            "?sslmode=disable",
            "FAREBOX_RPC_URL_TESTNET": rpc.url,
            "FAREBOX_RELAYER_SECRET_TESTNET": self.world.prepared.relayer.reveal(),
            "FAREBOX_LOG_FILE": str(self.folder / f"{name}.jsonl"),
        }
        output = self.folder / f"{name}.out"
        merged = {**SETTINGS, **self.settings, **own, **(settings or {})}
        replica = Replica(name, interceptor, sql, await self._fork(merged, name), "")
        self.replicas.append(replica)
        try:
            async with asyncio.timeout(_START_S):
                while not (url := await _read_url_when_listening(replica.process_id, output)):
                    # as a service manager does when a start fails
                    replica.process_id = await self._fork(merged, name)
                replica.url = url
                await self._wait_until_ready(url)
                await interceptor.wait_until_quiet(_QUIET_S)
        except TimeoutError as error:
            log = self.folder / f"{name}.err"
            raise RunFailed(f"replica {name} did not become ready:\n{tail(log)}") from error
        replica.is_ready = True
        return replica

    async def _fork(self, settings: Mapping[str, str], name: str) -> int:
        output, log = self.folder / f"{name}.out", self.folder / f"{name}.err"
        return await self.world.fork_server.serve(settings, output=output, log=log)

    async def _wait_until_ready(self, url: str) -> None:
        while True:
            async with self.web.get(f"{url}/health/ready") as answer:
                if answer.status == 200:
                    return
            await asyncio.sleep(_LOOK_S)

    async def kill_first(self) -> None:
        """Kill the replica that has run for the longest time."""
        for replica in self.running[:1]:
            await replica.kill()

    async def kill(self, name: str) -> None:
        """Kill the replica of that name."""
        for replica in self.running:
            if replica.name == name:
                await replica.kill()

    async def payment(
        self, number: int = 0, *, extra: Mapping[str, object] | None = None
    ) -> SignedPayment:
        """Sign a new payment by payer `number`; `extra` is added to its payload."""
        scene = self.world.prepared.scene
        payer = scene.payers[number % len(scene.payers)]
        terms = PaymentTerms(NETWORK, scene.asset, AMOUNT, scene.payees[0].address, _TIMEOUT_S)
        async with HttpSorobanRpc(NETWORK, Secret(self.devnet.rpc_url)) as node:
            signed = await authorize(terms, Wallet(payer.address, payer.secret), node)
        body = _body(terms, signed.envelope.reveal(), extra or {})
        return SignedPayment(payer.address, signed.nonce, body)

    async def query(self, sql: str, *args: object) -> list[asyncpg.Record]:
        """Fetch rows of the case's database, without any proxy."""
        async with self.query_lock:
            return await self.db.fetch(sql, *args)

    def count_log_lines(self, event: str) -> int:
        """Count the lines of this event in the logs of all replicas."""
        logs = [self.folder / f"{replica.name}.jsonl" for replica in self.replicas]
        quoted = f'"{event}"'
        return sum(log.read_text().count(quoted) for log in logs if log.exists())

    async def budget_drift(self) -> list[CounterDrift]:
        """Find every budget counter that is not the sum of its rows, without any proxy."""
        async with self.query_lock:
            return await find_drift(self.db)


async def _read_url_when_listening(process_id: int, output: Path) -> str:
    """Return the URL that the process prints, or "" when it ended before."""
    while not (url := _read_url(output)):
        if not _is_running(process_id):
            return ""
        await asyncio.sleep(_LOOK_S)
    return url


def _is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def _read_url(output: Path) -> str:
    line, newline, _ = (output.read_bytes() if output.exists() else b"").partition(b"\n")
    return str(msgspec.json.decode(line)["url"]) if newline else ""


def _requirements_of(terms: PaymentTerms) -> dict[str, object]:
    return payment_requirements(
        terms.network, terms.asset, terms.amount, terms.pay_to, terms.max_timeout_s
    )


def payload_of(
    terms: PaymentTerms, envelope: str, extra: Mapping[str, object]
) -> dict[str, object]:
    """Return the PaymentPayload of an envelope in base64, with more members."""
    return {
        "x402Version": 2,
        "accepted": _requirements_of(terms),
        "payload": {"transaction": envelope},
        **extra,
    }


def _body(terms: PaymentTerms, envelope: str, extra: Mapping[str, object]) -> bytes:
    payload, requirements = payload_of(terms, envelope, extra), _requirements_of(terms)
    return msgspec.json.encode(
        {"x402Version": 2, "paymentPayload": payload, "paymentRequirements": requirements}
    )


@asynccontextmanager
async def open_environment(
    world: World,
    settings: Mapping[str, str] | None = None,
    *,
    make_interceptor: Callable[[str], Interceptor] = Interceptor,
) -> AsyncIterator[Environment]:
    """Open a fresh environment; kill its replicas and remove it at the end."""
    case_number = next(_numbers)
    folder = world.folder / f"case-{case_number}"
    folder.mkdir()
    database = f"case_{case_number}"
    journal = folder / "network"
    shutil.copy(world.prepared.journal, journal)
    async with AsyncExitStack() as stack:
        server = stack.enter_context(world.server())
        await server.execute(f"CREATE DATABASE {database} TEMPLATE {TEMPLATE} STRATEGY file_copy")
        drop = f"DROP DATABASE {database} WITH (FORCE)"
        stack.push_async_callback(server.execute, drop)
        devnet = await stack.enter_async_context(await start_devnet(devnet_options(journal)))
        await devnet.close()
        web = await stack.enter_async_context(aiohttp.ClientSession(trust_env=False))
        db = await asyncpg.connect(server.url_of(database))
        stack.push_async_callback(db.close)
        ledger_closer = LedgerCloser(devnet)
        closing = asyncio.create_task(ledger_closer.run())
        environment = Environment(
            world, server, folder, devnet, database, ledger_closer, web, db, stack,
            settings or {}, make_interceptor,
        )  # fmt: skip
        try:
            yield environment
        finally:
            tasks = (closing, *environment.later, *environment.waiting)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for replica in environment.running:
                await replica.kill()
    shutil.rmtree(folder)
