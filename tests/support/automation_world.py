"""Automation on a devnet: a keeper, a paymaster with channels, and schedulers over one database."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from stellar_sdk import Keypair, scval

from farebox.app.automation_network import (
    AutomationLedger,
    AutomationLimitsOfNetwork,
    AutomationNetwork,
    build_automation_network,
)
from farebox.automation.authority.delegate_keys import BytesSealer
from farebox.automation.authority.stored_calls import encode_calls
from farebox.automation.paymaster import channel_store
from farebox.automation.paymaster.budget_store import AutomationBudgets
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs.run import Attempt
from farebox.automation.schedules.missed_runs import LatenessRule, MissedRuns
from farebox.automation.sessions.contracts_watch import AutomationContracts
from farebox.facilitator.channels.channel import channel_signer
from farebox.kernel.addresses import ZERO_ACCOUNT, Address, account_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet
from farebox.stellar.fees import FeePolicy
from farebox.stellar.ledger_clock import LedgerClock
from farebox.stellar.network_state import NetworkState
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.signers import SigningAccount, parse_secret_seed
from farebox.stellar.simulation_slots import SimulationSlots
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.storage.pool import Database
from farebox.submission.fate import SentEnvelope
from farebox.submission.submit import Submitter
from farebox.submission.watch import LedgerWatcher
from support.automation import (
    RUNS,
    activate,
    draft_plan,
    open_calls,
    read_plan,
    read_runs,
    sealer,
)
from support.contracts import wasm_of
from support.ledger import Ledger
from support.planted_secrets import plant_secret
from testing.waiting import until

NET: Final = Network.TESTNET
LIMITS: Final = AutomationLimitsOfNetwork(
    FeePolicy(ceiling=Stroops(5_000_000)),
    AutomationBudgets(),
    floor=Stroops(1),
    install_fees=FeePolicy(ceiling=Stroops(50_000_000)),
)


@dataclass(frozen=True, slots=True)
class TestSealers:
    """Sealers under a planted master key."""

    __test__ = False

    delegates: BytesSealer = field(default_factory=lambda: sealer("automation delegate"))
    entries: BytesSealer = field(default_factory=lambda: sealer("automation entry"))
    envelopes: BytesSealer = field(default_factory=lambda: sealer("automation envelope"))


SEALERS: Final = TestSealers()


@dataclass(frozen=True, slots=True)
class _Operators:
    addresses: frozenset[Address]


@dataclass(slots=True)
class AutomationWorld:
    """One network with a funded paymaster; every `network()` is another process's automation."""

    devnet: Devnet
    ledger: Ledger
    rpc: HttpSorobanRpc
    database: Database
    account: SigningAccount
    clock: SystemClock = field(default_factory=SystemClock)
    ledgers: LedgerClock = field(init=False)
    watcher: LedgerWatcher = field(init=False)
    outages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.ledgers = LedgerClock(NET, self.rpc, self.clock, poll_s=0.1)
        self.watcher = LedgerWatcher(self.rpc, self.ledgers, self.clock, idle_s=0.05)

    async def learn_cadence(self) -> None:
        """Learn how fast ledgers close as a service does when it starts."""
        state = NetworkState(NET, self.rpc, self.clock)
        await state.refresh()
        assert state.settings is not None
        target_s = state.settings.target_close_ms / 1000
        self.ledgers.learn_cadence(await self.rpc.health(), target_s=target_s)

    def network(
        self,
        *,
        limits: AutomationLimitsOfNetwork = LIMITS,
        rpc: SorobanRpc | None = None,
        wrap: Callable[[Submitter], Any] = lambda submitter: submitter,
        concurrency: int = 8,
        contracts: AutomationContracts | None = None,
    ) -> AutomationNetwork:
        """The automation of one process."""
        rpc = rpc or self.rpc
        submitter = Submitter(
            rpc, self.watcher, self.clock, poll_s=0.05, deliver_s=3, ledgers=self.ledgers
        )
        return build_automation_network(
            AutomationLedger(
                network=NET,
                rpc=rpc,
                ledgers=self.ledgers,
                submitter=wrap(submitter),
                simulator=SimulationSlots(NET, rpc, 16),
                operators=_Operators(frozenset({self.account.address})),
                fee_stats=lambda: None,
                outages=lambda: self.outages,
                contracts=contracts or AutomationContracts(),
            ),
            self.account,
            limits,
            self.database,
            self.clock,
            SEALERS,
            concurrency=concurrency,
        )

    @contextlib.asynccontextmanager
    async def running(self, *networks: AutomationNetwork) -> AsyncIterator[None]:
        """Run these schedulers inside this context."""
        tasks = []
        for each in networks:
            await each.watch.refresh()
            tasks.append(asyncio.create_task(each.scheduler.run()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def add_channels(self, count: int) -> list[Address]:
        """Create channel accounts of the paymaster on the ledger, and record them."""
        signers = [channel_signer(self.account, NET, index) for index in range(count)]
        rows = [(each.address, index) for index, each in enumerate(signers)]
        await asyncio.gather(*(self.ledger.fund(address) for address, _ in rows))
        async with self.database.connection() as db:
            await channel_store.add_channels(db, NET, rows, at=datetime.now(UTC))
        return [address for address, _ in rows]

    async def keeper(self, *, demands: bool = False, gap: int = 0) -> str:
        """Deploy a keeper: its counter rises by one with each run."""
        arguments = (scval.to_bool(demands), scval.to_uint64(gap))
        return await self.ledger.deploy(await self._deployer(), wasm_of("keeper"), *arguments)

    async def _deployer(self) -> Keypair:
        """A new account of the scene, which no ledger is waited for."""
        scene = await self.devnet.scene(payers=1, payees=0)
        return Keypair.from_secret(scene.payers[0].secret.reveal())

    async def faulty_keeper(self, fault: int) -> str:
        """Deploy a keeper that breaks the convention."""
        arguments = (scval.to_uint32(fault),)
        return await self.ledger.deploy(
            await self._deployer(), wasm_of("faulty_keeper"), *arguments
        )

    async def faulty_keepers(self, *faults: int) -> list[str]:
        """Deploy a keeper for each fault, all at once."""
        code = wasm_of("faulty_keeper")
        await self.ledger.upload(await self._deployer(), code)

        async def put(fault: int) -> str:
            own = Ledger(NET, self.ledger.rpc_url)
            return await own.deploy(await self._deployer(), code, scval.to_uint32(fault))

        return await asyncio.gather(*map(put, faults))

    async def invoke(self, contract: str, function: str, *arguments: Any) -> None:
        """Call a contract as an account of its own."""
        await self.ledger.invoke(await self.ledger.account(), contract, function, *arguments)

    def hash_of(self, name: str) -> bytes:
        """The hash of a committed contract's code."""
        return hashlib.sha256(wasm_of(name)).digest()

    async def count(self, keeper: str) -> int:
        """How many runs a keeper has seen."""
        return await runs_seen(self.ledger, keeper)


async def runs_seen(ledger: Ledger, keeper: str) -> int:
    """How many runs a keeper has seen."""
    state = scval.from_struct(await ledger.read(keeper, "state"))
    return int(scval.from_uint32(state["count"]))


@contextlib.asynccontextmanager
async def automation_world(
    devnet: Devnet, database: Database, *, channels: int = 3
) -> AsyncIterator[AutomationWorld]:
    """Automation on the devnet, with its clock and watch running."""
    ledger = Ledger(NET, devnet.rpc_url)
    key = Keypair.random()
    plant_secret(key.secret)
    signing = parse_secret_seed(key.secret)
    assert signing is not None
    account = SigningAccount(account_address(bytes(signing.reveal().verify_key)), signing)
    async with HttpSorobanRpc(NET, Secret(devnet.rpc_url), timeout_s=10) as rpc:
        world = AutomationWorld(devnet, ledger, rpc, database, account)
        await asyncio.gather(
            ledger.fund(key.public_key), world.add_channels(channels), world.learn_cadence()
        )
        await until(lambda: world.ledgers.poll())
        loops = [
            asyncio.create_task(world.ledgers.run()),
            asyncio.create_task(world.watcher.run()),
        ]
        try:
            yield world
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)


async def keeper_plan(
    world: AutomationWorld,
    keeper: str,
    *,
    check: bool = False,
    due: int = 1,
    runs: int = RUNS,
    **changes: Any,
) -> StoredPlan:
    """An active plan of a keeper, of which `due` runs are due now, all of them caught up."""
    now = soon()
    start = now - timedelta(seconds=60 * (due - 1))
    calls = encode_calls(open_calls(Address(keeper), check=check))
    rule = LatenessRule(MissedRuns.CATCH_UP_ALL, timedelta(seconds=30))
    draft = draft_plan(now=start).but(**{"calls": calls, "rule": rule} | changes)
    return await activate(world.database, replace(draft, runs=runs), now=now)


async def has_consumed(world: AutomationWorld, plan: StoredPlan, count: int) -> bool:
    """Whether so many runs of the plan have used their credit."""
    return (await read_plan(world.database, plan)).counters.runs_consumed >= count


async def until_state(
    world: AutomationWorld, plan: StoredPlan, state: str, *, within_s: float = 20.0
) -> dict[str, Any]:
    """Wait until a run of the plan has this state; its row."""

    async def find() -> dict[str, Any] | None:
        rows = await read_runs(world.database, plan)
        return next((row for row in rows if row["state"] == state), None)

    found: dict[str, Any] = await until(find, within_s)
    return found


def soon(seconds: float = 0) -> datetime:
    """A moment from now."""
    return datetime.now(UTC) + timedelta(seconds=seconds)


def attempt_of(run_id: str, *, authorized_until: int, uses_before: int | None) -> Attempt:
    """An attempt as its row has it, of an envelope that nobody looks for."""
    sent = SentEnvelope(
        tx_hash=bytes(32),
        inner_hash=bytes(31) + b"i",
        envelope=Secret(b""),
        source=ZERO_ACCOUNT,
        source_sequence=1,
        max_time=soon(),
        fee_limit=Stroops(1_000),
        sent_after_ledger=1,
    )
    return Attempt(run_id, 1, sent, authorized_until, 1, soon().date(), uses_before=uses_before)
